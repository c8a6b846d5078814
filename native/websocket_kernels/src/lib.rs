//! The two inner loops of a WebSocket server: masking a payload
//! ([RFC 6455 §5.3](https://www.rfc-editor.org/rfc/rfc6455#section-5.3)) and checking that a text
//! is UTF-8 (Unicode 15, Table 3-7).
//!
//! Each has several implementations, one per *tier* of instruction sets, which give the same
//! results. A program asks once for the [`Kernels`] of the best [`Tier`] that its CPU and
//! operating system support and calls them from then on:
//!
//! ```
//! use std::mem::MaybeUninit;
//! use websocket_kernels::{Kernels, Tier};
//!
//! let kernels = Kernels::of(Tier::best());
//! let mut out = [MaybeUninit::uninit(); 5];
//! assert_eq!(kernels.mask(b"Hello", 0x37FA213D, &mut out), [0x7F, 0x9F, 0x4D, 0x51, 0x58]);
//! assert!(kernels.is_utf8("κόσμε".as_bytes()));
//! ```

#![warn(missing_docs)]

mod cpu;
mod mask;
mod utf8;

use std::mem::MaybeUninit;
use std::slice;

pub use cpu::Tier;

/// The kernels of one [`Tier`].
#[derive(Debug)]
pub struct Kernels {
    tier: Tier,
    mask: mask::Kernel,
    is_utf8: utf8::Kernel,
}

impl Kernels {
    /// The kernels of `tier`.
    ///
    /// # Panics
    ///
    /// Where the CPU or the operating system does not support `tier`: see [`Tier::is_supported`].
    pub fn of(tier: Tier) -> &'static Self {
        assert!(tier.is_supported(), "{tier:?} is not supported here");
        KERNELS
            .iter()
            .find(|kernels| kernels.tier == tier)
            .expect("every tier that is supported has its kernels")
    }

    /// The tier that these kernels belong to.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// Masks `payload` with `key` into `out`, which is returned initialised: byte `i` is
    /// `payload[i]` XOR byte `i % 4` of the masking key (RFC 6455 §5.3). Masking the result again
    /// with the same key gives `payload`.
    ///
    /// `key` is the masking key as a big-endian number, as it reads in the frame: for the key
    /// bytes `37 FA 21 3D`, `0x37FA213D`. Neither slice needs any alignment. Lengths are in bytes.
    ///
    /// To mask a payload in parts, rotate the key by the bytes that were masked so far:
    /// `key.rotate_left(8 * (masked % 4))`.
    ///
    /// # Panics
    ///
    /// Where `out` is not as long as `payload`.
    pub fn mask<'out>(
        &self,
        payload: &[u8],
        key: u32,
        out: &'out mut [MaybeUninit<u8>],
    ) -> &'out mut [u8] {
        assert_eq!(payload.len(), out.len(), "out must be as long as payload");
        // In memory the key's first byte is the number's most significant one.
        let key = u32::from_ne_bytes(key.to_be_bytes());
        // SAFETY: `of` gave these kernels only where the tier is supported. `out` is as long as
        // `payload`, and no overlap is possible between a shared and an exclusive borrow. The
        // kernel has initialised all of `out` when it returns.
        unsafe {
            (self.mask)(
                payload.as_ptr(),
                out.as_mut_ptr().cast(),
                payload.len(),
                key,
            );
            slice::from_raw_parts_mut(out.as_mut_ptr().cast(), out.len())
        }
    }

    /// Whether `text` is well-formed UTF-8 (Unicode 15, Table 3-7): no surrogates, no overlong
    /// forms, nothing above U+10FFFF, no character cut off. NUL and noncharacters are well-formed.
    pub fn is_utf8(&self, text: &[u8]) -> bool {
        // SAFETY: `of` gave these kernels only where the tier is supported.
        unsafe { (self.is_utf8)(text) }
    }
}

/// Where to cut a text at `at` bytes, or up to three before, so that it is well-formed exactly if
/// both parts are.
///
/// ```
/// let text = "a€b".as_bytes(); // 1, 3 and 1 bytes
/// assert_eq!([0, 1, 2, 3, 4, 5].map(|at| websocket_kernels::cut(text, at)), [0, 1, 1, 1, 4, 5]);
/// ```
///
/// # Panics
///
/// Where `at` is more than the text's length.
pub fn cut(text: &[u8], at: usize) -> usize {
    let begins_character = |at: &usize| {
        text.get(*at)
            .is_none_or(|byte| !(0x80..0xC0).contains(byte))
    };
    assert!(at <= text.len());
    // Four continuation bytes in a row are ill-formed, and so is the part that begins with one.
    (at.saturating_sub(3)..=at)
        .rev()
        .find(begins_character)
        .unwrap_or(at)
}

static KERNELS: &[Kernels] = &[
    Kernels {
        tier: Tier::Portable,
        mask: mask::portable::mask,
        is_utf8: utf8::portable::is_utf8,
    },
    #[cfg(target_arch = "aarch64")]
    Kernels {
        tier: Tier::Neon,
        mask: mask::neon::mask,
        is_utf8: utf8::neon::is_utf8,
    },
    #[cfg(target_arch = "x86_64")]
    Kernels {
        tier: Tier::Sse42,
        mask: mask::sse42::mask,
        is_utf8: utf8::sse42::is_utf8,
    },
    #[cfg(target_arch = "x86_64")]
    Kernels {
        tier: Tier::Avx2,
        mask: mask::avx2::mask,
        is_utf8: utf8::avx2::is_utf8,
    },
    #[cfg(target_arch = "x86_64")]
    Kernels {
        tier: Tier::Avx512,
        mask: mask::avx512::mask,
        is_utf8: utf8::avx512::is_utf8,
    },
];
