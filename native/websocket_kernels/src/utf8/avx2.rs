//! 32 bytes at a time.

use std::arch::x86_64::*;

use super::lookup::{self, Vector};

impl Vector for __m256i {
    const LEN: usize = 32;

    #[inline(always)]
    unsafe fn splat(byte: u8) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm256_set1_epi8(byte.cast_signed()) }
    }

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm256_loadu_si256(src.cast()) }
    }

    #[inline(always)]
    unsafe fn shifted(self) -> [Self; 3] {
        // SAFETY: see the trait.
        unsafe {
            // The lower half in the upper half's place, and zeros in its own.
            let before = _mm256_permute2x128_si256::<0x08>(self, self);
            [
                _mm256_alignr_epi8::<15>(self, before),
                _mm256_alignr_epi8::<14>(self, before),
                _mm256_alignr_epi8::<13>(self, before),
            ]
        }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm256_and_si256(self, other) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm256_or_si256(self, other) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm256_xor_si256(self, other) }
    }

    #[inline(always)]
    unsafe fn saturating_sub(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm256_subs_epu8(self, other) }
    }

    #[inline(always)]
    unsafe fn lookup_high(self, table: &[u8; 16]) -> Self {
        // SAFETY: see the trait; the table has 16 bytes.
        unsafe { _mm256_srli_epi16::<4>(self).lookup_low(table) }
    }

    #[inline(always)]
    unsafe fn lookup_low(self, table: &[u8; 16]) -> Self {
        // SAFETY: see the trait; the table has 16 bytes.
        unsafe {
            let nibbles = _mm256_and_si256(self, _mm256_set1_epi8(0x0F));
            let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast()));
            _mm256_shuffle_epi8(table, nibbles)
        }
    }

    #[inline(always)]
    unsafe fn is_ascii(self) -> bool {
        // SAFETY: see the trait.
        unsafe { _mm256_movemask_epi8(self) == 0 }
    }

    #[inline(always)]
    unsafe fn is_zero(self) -> bool {
        // SAFETY: see the trait.
        unsafe { _mm256_testz_si256(self, self) == 1 }
    }
}

/// See [`super::Kernel`].
///
/// # Safety
///
/// As for [`super::Kernel`].
#[target_feature(enable = "avx2")]
pub unsafe fn is_utf8(text: &[u8]) -> bool {
    // SAFETY: the caller's promise is the same.
    unsafe {
        if text.len() >= 32 {
            lookup::is_utf8::<__m256i>(text)
        } else if text.len() >= 16 {
            lookup::is_utf8::<__m128i>(text)
        } else {
            lookup::is_utf8_short::<__m128i>(text)
        }
    }
}
