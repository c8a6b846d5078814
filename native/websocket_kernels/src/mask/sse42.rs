//! 16 bytes at a time. SSE2, which every x86-64 CPU has, is all that masking needs of this tier.

use std::arch::x86_64::*;

use super::mask_short;
use super::vector::{self, Vector};

impl Vector for __m128i {
    const LEN: usize = 16;

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm_set1_epi32(word.cast_signed()) }
    }

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm_loadu_si128(src.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: see the trait.
        unsafe { _mm_storeu_si128(dst.cast(), self) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm_xor_si128(self, other) }
    }
}

/// See [`super::Kernel`].
///
/// # Safety
///
/// As for [`super::Kernel`].
pub unsafe fn mask(src: *const u8, dst: *mut u8, len: usize, key: u32) {
    // SAFETY: the caller's promise is the same.
    unsafe {
        match len {
            ..16 => mask_short(src, dst, len, key),
            16.. => vector::mask::<__m128i>(src, dst, len, key),
        }
    }
}
