//! Masking with vectors of any width.

use super::rotate;

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

/// Masks `len` bytes with vectors of type `V`, at least one of them.
///
/// Up to eight vectors begin at the payload's start or end at its end, and overlap where they meet:
/// each byte of the overlap is written twice, with the same value. More than that is masked in
/// steps of four vectors, aligned in the result: a store across the edge of two cache lines takes
/// twice the time.
///
/// No closure is handed to anything here: one that the compiler leaves out of line is compiled
/// without the kernel's instruction sets, and calls a function for each instruction.
///
/// # Safety
///
/// As for [`super::Kernel`].
#[inline(always)]
pub unsafe fn mask<V: Vector>(src: *const u8, dst: *mut u8, len: usize, key: u32) {
    debug_assert!(len >= V::LEN);
    // SAFETY: every vector begins at `at` with `at + V::LEN <= len`: each branch has as many vectors
    // from the start, and from the end, as fit into the least length that gets there.
    unsafe {
        let keys = V::splat(key);
        // Whole vectors before the end are all in the same phase of the key.
        let tail_keys = V::splat(rotate(key, len));
        step(src, dst, 0, keys);
        if len > 8 * V::LEN {
            let mut at = V::LEN - dst.addr() % V::LEN;
            let keys = V::splat(rotate(key, at));
            while at + 4 * V::LEN <= len {
                // All loads before all stores: a load behind a store whose address has the same
                // lower twelve bits waits for it.
                let first = masked(src, at, keys);
                let second = masked(src, at + V::LEN, keys);
                let third = masked(src, at + 2 * V::LEN, keys);
                let fourth = masked(src, at + 3 * V::LEN, keys);
                first.store(dst.add(at));
                second.store(dst.add(at + V::LEN));
                third.store(dst.add(at + 2 * V::LEN));
                fourth.store(dst.add(at + 3 * V::LEN));
                at += 4 * V::LEN;
            }
            // Less than four vectors are left.
            step(src, dst, len - 4 * V::LEN, tail_keys);
            step(src, dst, len - 3 * V::LEN, tail_keys);
            step(src, dst, len - 2 * V::LEN, tail_keys);
        } else if len > 4 * V::LEN {
            step(src, dst, V::LEN, keys);
            step(src, dst, 2 * V::LEN, keys);
            step(src, dst, 3 * V::LEN, keys);
            step(src, dst, len - 4 * V::LEN, tail_keys);
            step(src, dst, len - 3 * V::LEN, tail_keys);
            step(src, dst, len - 2 * V::LEN, tail_keys);
        } else if len > 2 * V::LEN {
            step(src, dst, V::LEN, keys);
            if len > 3 * V::LEN {
                step(src, dst, len - 2 * V::LEN, tail_keys);
            }
        }
        step(src, dst, len - V::LEN, tail_keys);
    }
}

/// Masks the vector at `at`.
///
/// # Safety
///
/// As for [`Vector`]; `src` is valid for reading, and `dst` for writing, `at + V::LEN` bytes.
#[inline(always)]
unsafe fn step<V: Vector>(src: *const u8, dst: *mut u8, at: usize, keys: V) {
    // SAFETY: the caller's promise.
    unsafe { masked(src, at, keys).store(dst.add(at)) }
}

/// What the vector at `at` becomes.
///
/// # Safety
///
/// As for [`Vector`]; `src` is valid for reading `at + V::LEN` bytes.
#[inline(always)]
unsafe fn masked<V: Vector>(src: *const u8, at: usize, keys: V) -> V {
    // SAFETY: the caller's promise.
    unsafe { V::load(src.add(at)).xor(keys) }
}
