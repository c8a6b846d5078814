//! 16 bytes at a time. Of SSE4.2, `pshufb` (SSSE3) and `ptest` (SSE4.1) are what it uses.

use std::arch::x86_64::*;

use super::lookup::{self, Vector};

impl Vector for __m128i {
    const LEN: usize = 16;

    #[inline(always)]
    unsafe fn splat(byte: u8) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm_set1_epi8(byte.cast_signed()) }
    }

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm_loadu_si128(src.cast()) }
    }

    #[inline(always)]
    unsafe fn shifted(self) -> [Self; 3] {
        // SAFETY: see the trait.
        unsafe {
            [
                _mm_bslli_si128::<1>(self),
                _mm_bslli_si128::<2>(self),
                _mm_bslli_si128::<3>(self),
            ]
        }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm_and_si128(self, other) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm_or_si128(self, other) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm_xor_si128(self, other) }
    }

    #[inline(always)]
    unsafe fn saturating_sub(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm_subs_epu8(self, other) }
    }

    #[inline(always)]
    unsafe fn lookup_high(self, table: &[u8; 16]) -> Self {
        // SAFETY: see the trait; the table has 16 bytes.
        unsafe { _mm_srli_epi16::<4>(self).lookup_low(table) }
    }

    #[inline(always)]
    unsafe fn lookup_low(self, table: &[u8; 16]) -> Self {
        // SAFETY: see the trait; the table has 16 bytes.
        unsafe {
            let nibbles = _mm_and_si128(self, _mm_set1_epi8(0x0F));
            _mm_shuffle_epi8(Self::load(table.as_ptr()), nibbles)
        }
    }

    #[inline(always)]
    unsafe fn is_ascii(self) -> bool {
        // SAFETY: see the trait.
        unsafe { _mm_movemask_epi8(self) == 0 }
    }

    #[inline(always)]
    unsafe fn is_zero(self) -> bool {
        // SAFETY: see the trait.
        unsafe { _mm_testz_si128(self, self) == 1 }
    }
}

/// See [`super::Kernel`].
///
/// # Safety
///
/// As for [`super::Kernel`].
#[target_feature(enable = "sse4.2")]
pub unsafe fn is_utf8(text: &[u8]) -> bool {
    // SAFETY: the caller's promise is the same.
    unsafe {
        if text.len() < 16 {
            lookup::is_utf8_short::<__m128i>(text)
        } else {
            lookup::is_utf8::<__m128i>(text)
        }
    }
}
