//! 64 bytes at a time, and less in one masked step: bytes outside the text are not read.

use std::arch::x86_64::*;

use super::lookup::{self, Vector};

impl Vector for __m512i {
    const LEN: usize = 64;

    #[inline(always)]
    unsafe fn splat(byte: u8) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm512_set1_epi8(byte.cast_signed()) }
    }

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm512_loadu_si512(src.cast()) }
    }

    #[inline(always)]
    unsafe fn shifted(self) -> [Self; 3] {
        // SAFETY: see the trait.
        unsafe {
            // Each quarter in the next one's place, and zeros in the first.
            let before = _mm512_maskz_shuffle_i64x2::<0b10_01_00_00>(!0b11, self, self);
            [
                _mm512_alignr_epi8::<15>(self, before),
                _mm512_alignr_epi8::<14>(self, before),
                _mm512_alignr_epi8::<13>(self, before),
            ]
        }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm512_and_si512(self, other) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm512_or_si512(self, other) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm512_xor_si512(self, other) }
    }

    #[inline(always)]
    unsafe fn saturating_sub(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm512_subs_epu8(self, other) }
    }

    #[inline(always)]
    unsafe fn lookup_high(self, table: &[u8; 16]) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm512_srli_epi16::<4>(self).lookup_low(table) }
    }

    #[inline(always)]
    unsafe fn lookup_low(self, table: &[u8; 16]) -> Self {
        // SAFETY: see the trait; the table has 16 bytes.
        unsafe {
            // vpermb looks at six bits of each index. With the table there four times over, the
            // upper two of them choose among copies, and need not be cleared first.
            let table = _mm512_broadcast_i32x4(_mm_loadu_si128(table.as_ptr().cast()));
            _mm512_permutexvar_epi8(self, table)
        }
    }

    #[inline(always)]
    unsafe fn is_ascii(self) -> bool {
        // SAFETY: see the trait.
        unsafe { _mm512_movepi8_mask(self) == 0 }
    }

    #[inline(always)]
    unsafe fn is_zero(self) -> bool {
        // SAFETY: see the trait.
        unsafe { _mm512_test_epi64_mask(self, self) == 0 }
    }
}

/// See [`super::Kernel`].
///
/// # Safety
///
/// As for [`super::Kernel`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi2")]
pub unsafe fn is_utf8(text: &[u8]) -> bool {
    // SAFETY: the caller's promise; the masked step reads the text's bytes only.
    unsafe {
        if text.len() < 64 {
            let bytes =
                _mm512_maskz_loadu_epi8(_bzhi_u64(!0, text.len() as u32), text.as_ptr().cast());
            // What is behind the text is 0: a fault where a character is cut off.
            bytes.is_ascii() || lookup::faults(bytes, bytes.shifted()).is_zero()
        } else {
            lookup::is_utf8::<__m512i>(text)
        }
    }
}
