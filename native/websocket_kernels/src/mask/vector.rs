//! Masking with vectors of any width.

use super::{mask_short, rotate};

/// A register of `LEN` bytes.
///
/// The functions are `inline(always)` and so compiled with the instruction sets of the kernel that
/// they end up in.
///
/// # Safety
///
/// For all of them: the CPU has the vector's instruction set.
pub trait Vector: Copy {
    /// Bytes in a vector: a power of two, 16 or more.
    const LEN: usize;

    /// `word` in every four bytes.
    unsafe fn splat(word: u32) -> Self;

    /// Reads `LEN` bytes from any alignment.
    unsafe fn load(src: *const u8) -> Self;

    /// Writes `LEN` bytes to any alignment.
    unsafe fn store(self, dst: *mut u8);

    /// Each bit of one of the two.
    unsafe fn xor(self, other: Self) -> Self;
}

/// Masks `len` bytes with vectors of type `V`; what is left behind the last whole vector is covered
/// by one that ends at the payload's end and overlaps it.
///
/// # Safety
///
/// As for [`super::Kernel`].
#[inline(always)]
pub unsafe fn mask<V: Vector>(src: *const u8, dst: *mut u8, len: usize, key: u32) {
    // SAFETY: every vector begins at `at` with `at + V::LEN <= len`. The vectors of the loops start
    // at multiples of four, where the key's phase is 0.
    unsafe {
        if len < V::LEN {
            return mask_short(src, dst, len, key);
        }
        let keys = V::splat(key);
        let step = |at: usize| V::load(src.add(at)).xor(keys).store(dst.add(at));
        let mut at = 0;
        while at + 4 * V::LEN <= len {
            step(at);
            step(at + V::LEN);
            step(at + 2 * V::LEN);
            step(at + 3 * V::LEN);
            at += 4 * V::LEN;
        }
        while at + V::LEN <= len {
            step(at);
            at += V::LEN;
        }
        if at < len {
            let last = len - V::LEN;
            let keys = V::splat(rotate(key, last));
            V::load(src.add(last)).xor(keys).store(dst.add(last));
        }
    }
}
