//! 16 bytes at a time on AArch64.

use std::arch::aarch64::*;

use super::lookup::{self, Vector};

impl Vector for uint8x16_t {
    const LEN: usize = 16;

    #[inline(always)]
    unsafe fn splat(byte: u8) -> Self {
        // SAFETY: see the trait.
        unsafe { vdupq_n_u8(byte) }
    }

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: see the trait.
        unsafe { vld1q_u8(src) }
    }

    #[inline(always)]
    unsafe fn shifted(self) -> [Self; 3] {
        // SAFETY: see the trait.
        unsafe {
            let zeros = vdupq_n_u8(0);
            [
                vextq_u8::<15>(zeros, self),
                vextq_u8::<14>(zeros, self),
                vextq_u8::<13>(zeros, self),
            ]
        }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { vandq_u8(self, other) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { vorrq_u8(self, other) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { veorq_u8(self, other) }
    }

    #[inline(always)]
    unsafe fn saturating_sub(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { vqsubq_u8(self, other) }
    }

    #[inline(always)]
    unsafe fn lookup_high(self, table: &[u8; 16]) -> Self {
        // SAFETY: see the trait; the table has 16 bytes.
        unsafe { vqtbl1q_u8(Self::load(table.as_ptr()), vshrq_n_u8::<4>(self)) }
    }

    #[inline(always)]
    unsafe fn lookup_low(self, table: &[u8; 16]) -> Self {
        // SAFETY: see the trait; the table has 16 bytes.
        unsafe { vqtbl1q_u8(Self::load(table.as_ptr()), vandq_u8(self, vdupq_n_u8(0x0F))) }
    }

    #[inline(always)]
    unsafe fn is_ascii(self) -> bool {
        // SAFETY: see the trait.
        unsafe { vmaxvq_u8(self) < 0x80 }
    }

    #[inline(always)]
    unsafe fn is_zero(self) -> bool {
        // SAFETY: see the trait.
        unsafe { vmaxvq_u8(self) == 0 }
    }
}

/// See [`super::Kernel`].
///
/// # Safety
///
/// As for [`super::Kernel`].
#[target_feature(enable = "neon")]
pub unsafe fn is_utf8(text: &[u8]) -> bool {
    // SAFETY: the caller's promise is the same.
    unsafe {
        if text.len() < 16 {
            lookup::is_utf8_short::<uint8x16_t>(text)
        } else {
            lookup::is_utf8::<uint8x16_t>(text)
        }
    }
}
