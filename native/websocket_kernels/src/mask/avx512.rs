//! 64 bytes at a time, and less in one masked step: bytes outside the payload are neither read nor
//! written.

use std::arch::x86_64::*;

use super::vector::{self, Vector};

impl Vector for __m512i {
    const LEN: usize = 64;

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm512_set1_epi32(word.cast_signed()) }
    }

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm512_loadu_si512(src.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: see the trait.
        unsafe { _mm512_storeu_si512(dst.cast(), self) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm512_xor_si512(self, other) }
    }
}

/// See [`super::Kernel`].
///
/// # Safety
///
/// As for [`super::Kernel`].
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
pub unsafe fn mask(src: *const u8, dst: *mut u8, len: usize, key: u32) {
    // SAFETY: the caller's promise is the same. The masked step accesses the `len` bytes only.
    unsafe {
        match len {
            0 => {}
            1..=64 => {
                let part = _bzhi_u64(!0, len as u32);
                let bytes = _mm512_maskz_loadu_epi8(part, src.cast());
                let masked = bytes.xor(__m512i::splat(key));
                _mm512_mask_storeu_epi8(dst.cast(), part, masked);
            }
            65.. => vector::mask::<__m512i>(src, dst, len, key),
        }
    }
}
