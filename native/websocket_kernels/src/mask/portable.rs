//! Plain Rust: words of eight bytes, which compilers turn into the baseline's vectors.

use super::{mask_short, widen};

/// See [`super::Kernel`].
///
/// # Safety
///
/// As for [`super::Kernel`]; no instruction set is needed.
pub unsafe fn mask(src: *const u8, dst: *mut u8, len: usize, key: u32) {
    let words = len / 8;
    // SAFETY: word `i` ends at or before `len`; the rest begins at a multiple of 8, where the key's
    // phase is 0, and has `len % 8` bytes.
    unsafe {
        for i in 0..words {
            let word = src.add(8 * i).cast::<u64>().read_unaligned();
            dst.add(8 * i)
                .cast::<u64>()
                .write_unaligned(word ^ widen(key));
        }
        mask_short(src.add(8 * words), dst.add(8 * words), len % 8, key);
    }
}
