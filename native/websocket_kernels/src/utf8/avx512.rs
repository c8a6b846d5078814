//! 64 bytes at a time, and what is left in one masked step: bytes outside the text are not read.

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
    // SAFETY: the caller's promise; `checked` is at most the text's length. It is 0, or a block and
    // more; where `rest` is 0 and it is 0 too, the text is empty, and so ASCII.
    unsafe {
        let ascii = lookup::ascii_blocks::<__m512i>(text);
        let (found, checked) = lookup::check_blocks::<__m512i>(text, ascii);
        let rest = text.len() - checked;
        let start = text.as_ptr().add(checked);
        let bytes = load_first(start, rest);
        if checked == ascii && bytes.is_ascii() {
            return true;
        }
        let last = if rest == 0 {
            lookup::unfinished(__m512i::load(start.sub(64)))
        } else {
            let previous = if checked == 0 {
                bytes.shifted()
            } else {
                [
                    load_first(start.sub(1), rest + 1),
                    load_first(start.sub(2), rest + 2),
                    load_first(start.sub(3), rest + 3),
                ]
            };
            // At least one place behind the text is in the vector, and reads as 0: a fault where a
            // character is cut off.
            lookup::faults(bytes, previous)
        };
        found.or(last).is_zero()
    }
}

/// The first `len` of 64 bytes, or all of them, and 0 for the others, which are not read.
///
/// # Safety
///
/// The CPU has AVX-512 BW and BMI2. The bytes to be read are there.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
unsafe fn load_first(src: *const u8, len: usize) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe { _mm512_maskz_loadu_epi8(_bzhi_u64(!0, len as u32), src.cast()) }
}
