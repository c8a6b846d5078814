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
/// # Safety
///
/// As for [`super::Kernel`].
#[inline(always)]
pub unsafe fn mask<V: Vector>(src: *const u8, dst: *mut u8, len: usize, key: u32) {
    debug_assert!(len >= V::LEN);
    // SAFETY: every vector begins at `at` with `at + V::LEN <= len`, see there.
    unsafe {
        let step = |at: usize, keys: V| V::load(src.add(at)).xor(keys).store(dst.add(at));
        // Multiples of four before the end, all in the same phase of the key.
        let tail_keys = V::splat(rotate(key, len));
        let tail = |vectors: usize| step(len - vectors * V::LEN, tail_keys);
        let keys = V::splat(key);
        step(0, keys);
        if len > 8 * V::LEN {
            let mut at = V::LEN - dst.addr() % V::LEN;
            let keys = V::splat(rotate(key, at));
            while at + 4 * V::LEN <= len {
                // All loads before all stores: a load behind a store whose address has the same
                // lower twelve bits waits for it.
                let places = [0, 1, 2, 3].map(|i| at + i * V::LEN);
                let masked = places.map(|at| V::load(src.add(at)).xor(keys));
                places
                    .into_iter()
                    .zip(masked)
                    .for_each(|(at, masked)| masked.store(dst.add(at)));
                at += 4 * V::LEN;
            }
            // Less than four vectors are left.
            tail(4);
            tail(3);
            tail(2);
        } else if len > 4 * V::LEN {
            step(V::LEN, keys);
            step(2 * V::LEN, keys);
            step(3 * V::LEN, keys);
            tail(4);
            tail(3);
            tail(2);
        } else if len > 2 * V::LEN {
            step(V::LEN, keys);
            if len > 3 * V::LEN {
                tail(2);
            }
        }
        tail(1);
    }
}
