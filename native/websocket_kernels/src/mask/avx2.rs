//! 32 bytes at a time.

use std::arch::x86_64::*;

use super::mask_short;
use super::vector::{self, Vector};

impl Vector for __m256i {
    const LEN: usize = 32;

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm256_set1_epi32(word.cast_signed()) }
    }

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm256_loadu_si256(src.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: see the trait.
        unsafe { _mm256_storeu_si256(dst.cast(), self) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm256_xor_si256(self, other) }
    }
}

/// See [`super::Kernel`].
///
/// # Safety
///
/// As for [`super::Kernel`].
#[target_feature(enable = "avx2")]
pub unsafe fn mask(src: *const u8, dst: *mut u8, len: usize, key: u32) {
    // SAFETY: the caller's promise is the same.
    unsafe {
        if len > 32 {
            vector::mask::<__m256i>(src, dst, len, key);
        } else if len >= 16 {
            vector::mask::<__m128i>(src, dst, len, key);
        } else {
            mask_short(src, dst, len, key);
        }
    }
}
