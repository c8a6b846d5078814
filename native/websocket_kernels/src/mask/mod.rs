//! Masking, one file per tier. `vector.rs` is the algorithm that the vector tiers share.

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
#[cfg(target_arch = "aarch64")]
pub mod neon;
pub mod portable;
#[cfg(target_arch = "x86_64")]
pub mod sse42;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod vector;

/// Masks `len` bytes from `src` to `dst` with the four bytes that `key` has in memory, and
/// initialises all of them. Neither pointer needs any alignment.
///
/// # Safety
///
/// `src` is valid for reading, and `dst` for writing, `len` bytes; they do not overlap. The CPU has
/// the instruction sets of the kernel's tier.
pub type Kernel = unsafe fn(src: *const u8, dst: *mut u8, len: usize, key: u32);

/// The key for a part that begins `offset` bytes into the payload: its first byte is the key's byte
/// `offset % 4`.
#[inline(always)]
fn rotate(key: u32, offset: usize) -> u32 {
    let bits = 8 * (offset % 4) as u32;
    if cfg!(target_endian = "little") {
        key.rotate_right(bits)
    } else {
        key.rotate_left(bits)
    }
}

/// The key twice in a row.
#[inline(always)]
fn widen(key: u32) -> u64 {
    (u64::from(key) << 32) | u64::from(key)
}

/// Masks fewer than 16 bytes, for the tiers without masked loads and stores: two words that overlap
/// where the length is not a power of two. Each byte of the overlap is written twice, with the same value.
///
/// # Safety
///
/// As for [`Kernel`].
#[inline(always)]
unsafe fn mask_short(src: *const u8, dst: *mut u8, len: usize, key: u32) {
    // SAFETY: every access begins at 0 or ends at `len`, and is no longer than `len`.
    unsafe {
        if len >= 8 {
            let last = len - 8;
            let head = src.cast::<u64>().read_unaligned() ^ widen(key);
            let tail = src.add(last).cast::<u64>().read_unaligned() ^ widen(rotate(key, last));
            dst.cast::<u64>().write_unaligned(head);
            dst.add(last).cast::<u64>().write_unaligned(tail);
        } else if len >= 4 {
            let last = len - 4;
            let head = src.cast::<u32>().read_unaligned() ^ key;
            let tail = src.add(last).cast::<u32>().read_unaligned() ^ rotate(key, last);
            dst.cast::<u32>().write_unaligned(head);
            dst.add(last).cast::<u32>().write_unaligned(tail);
        } else {
            for (i, byte) in key.to_ne_bytes().into_iter().take(len).enumerate() {
                dst.add(i).write(src.add(i).read() ^ byte);
            }
        }
    }
}
