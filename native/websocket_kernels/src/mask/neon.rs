//! 16 bytes at a time on AArch64.

use std::arch::aarch64::*;

use super::mask_short;
use super::vector::{self, Vector};

impl Vector for uint8x16_t {
    const LEN: usize = 16;

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: see the trait.
        unsafe { vreinterpretq_u8_u32(vdupq_n_u32(word)) }
    }

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: see the trait.
        unsafe { vld1q_u8(src) }
    }

    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: see the trait.
        unsafe { vst1q_u8(dst, self) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { veorq_u8(self, other) }
    }
}

/// See [`super::Kernel`].
///
/// # Safety
///
/// As for [`super::Kernel`].
#[target_feature(enable = "neon")]
pub unsafe fn mask(src: *const u8, dst: *mut u8, len: usize, key: u32) {
    // SAFETY: the caller's promise is the same.
    unsafe {
        match len {
            ..16 => mask_short(src, dst, len, key),
            16.. => vector::mask::<uint8x16_t>(src, dst, len, key),
        }
    }
}
