//! What the kernels are compared with.

use std::hint::black_box;
use std::mem::MaybeUninit;

use websocket_kernels::{Kernels, Tier};

/// Says whether a text is UTF-8, as many times as told. The loop is in here so that nothing but
/// the validator itself is called in it.
pub type Validator = Box<dyn Fn(&[u8], u64) -> bool>;

fn repeated(is_utf8: impl Fn(&[u8]) -> bool + 'static) -> Validator {
    Box::new(move |text, calls| (0..calls).all(|_| is_utf8(black_box(text))))
}

/// The variable by which the C++ library can be told which of its implementations to use, at its
/// first call.
pub const SIMDUTF_VARIABLE: &str = "SIMDUTF_FORCE_IMPLEMENTATION";

/// The implementation of the C++ library for the instruction sets of `tier`.
pub fn simdutf_implementation(tier: Tier) -> &'static str {
    match tier {
        Tier::Portable => "fallback",
        Tier::Neon => "arm64",
        Tier::Sse42 => "westmere",
        Tier::Avx2 => "haswell",
        Tier::Avx512 => "icelake",
    }
}

/// The validators that need no more than `tier`, ours first. Of the C++ library it is the
/// implementation that [`SIMDUTF_VARIABLE`] names.
pub fn validators(tier: Tier) -> Vec<(&'static str, Validator)> {
    let kernels = Kernels::of(tier);
    let mut all: Vec<(_, Validator)> = vec![
        ("ours", repeated(|text| kernels.is_utf8(text))),
        ("std", repeated(|text| std::str::from_utf8(text).is_ok())),
        ("simdutf", repeated(simdutf::validate_utf8)),
    ];
    match tier {
        Tier::Portable => {}
        #[cfg(target_arch = "x86_64")]
        Tier::Sse42 => all.push(("simdutf8", {
            use simdutf8::basic::imp::x86::sse42;
            // SAFETY: `Kernels::of` has seen that the CPU has SSE4.2.
            repeated(|text| unsafe { sse42::validate_utf8(text) }.is_ok())
        })),
        // It has none for AVX-512: what it would use itself is then its AVX2 implementation.
        _ => all.push((
            "simdutf8",
            repeated(|text| simdutf8::basic::from_utf8(text).is_ok()),
        )),
    }
    for (name, is_utf8) in &all {
        assert!(
            is_utf8("κόσμε".as_bytes(), 1) && !is_utf8(b"\xC0\xAF", 1),
            "{name} does not work with the instruction sets of {tier:?}"
        );
    }
    all
}

/// Masks `payload` into `out` with the kernel of some tier.
#[inline(always)]
pub fn mask(kernels: &Kernels, payload: &[u8], key: u32, out: &mut [u8]) {
    // SAFETY: both types have the same layout, and the kernel writes initialised bytes only.
    let out = unsafe { &mut *(std::ptr::from_mut(out) as *mut [MaybeUninit<u8>]) };
    kernels.mask(payload, key, out);
}
