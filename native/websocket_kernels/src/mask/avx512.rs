//! 64 bytes at a time, and what is left in one masked step: bytes outside the payload are neither
//! read nor written.

use std::arch::x86_64::*;

/// See [`super::Kernel`].
///
/// # Safety
///
/// As for [`super::Kernel`].
#[target_feature(enable = "avx512f,avx512bw")]
pub unsafe fn mask(src: *const u8, dst: *mut u8, len: usize, key: u32) {
    let keys = _mm512_set1_epi32(key.cast_signed());
    // SAFETY: every whole vector begins at `at` with `at + 64 <= len`, and the masked one accesses
    // the `len - at` bytes from `at` only. `at` is a multiple of 64, where the key's phase is 0.
    unsafe {
        let step = |at: usize| {
            let bytes = _mm512_loadu_si512(src.add(at).cast());
            _mm512_storeu_si512(dst.add(at).cast(), _mm512_xor_si512(bytes, keys));
        };
        let mut at = 0;
        while at + 256 <= len {
            step(at);
            step(at + 64);
            step(at + 128);
            step(at + 192);
            at += 256;
        }
        while at + 64 <= len {
            step(at);
            at += 64;
        }
        if at < len {
            let rest = !0 >> (64 - (len - at));
            let bytes = _mm512_maskz_loadu_epi8(rest, src.add(at).cast());
            _mm512_mask_storeu_epi8(dst.add(at).cast(), rest, _mm512_xor_si512(bytes, keys));
        }
    }
}
