//! Nothing outside the buffers is read or written: they end, and begin, where memory does.
//!
//! An access outside is a SIGSEGV and ends this test program at once. `cargo test --test guard_pages
//! -- --nocapture --test-threads=1` then shows the tier and the length as its last line.
#![cfg(target_os = "linux")]

mod support;

use std::mem::MaybeUninit;
use std::ops::Range;
use std::{ptr, slice};

use support::{naive_is_utf8, naive_mask, tiers};

/// Two pages of memory, with a page before and a page behind them that can't be accessed.
struct Guarded {
    mapping: *mut u8,
    page: usize,
}

impl Guarded {
    fn new() -> Self {
        // SAFETY: new memory, which nothing else refers to; the part that is made accessible lies
        // within it.
        unsafe {
            let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let mapping = libc::mmap(ptr::null_mut(), 4 * page, libc::PROT_NONE, flags, -1, 0);
            assert_ne!(mapping, libc::MAP_FAILED);
            let guarded = Self {
                mapping: mapping.cast(),
                page,
            };
            guarded.protect(libc::PROT_READ | libc::PROT_WRITE);
            guarded
        }
    }

    fn protect(&self, access: libc::c_int) {
        // SAFETY: the two pages in the middle of the mapping.
        let result =
            unsafe { libc::mprotect(self.mapping.add(self.page).cast(), 2 * self.page, access) };
        assert_eq!(result, 0);
    }

    fn len(&self) -> usize {
        2 * self.page
    }

    /// All the memory between the guards.
    fn bytes(&self) -> &[u8] {
        // SAFETY: it is there for as long as `self`, and the system has set it to zeros.
        unsafe { slice::from_raw_parts(self.mapping.add(self.page), self.len()) }
    }

    /// The same for writing, as long as it is not protected.
    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(self.mapping.add(self.page), self.len()) }
    }

    /// Where the first or the last `len` bytes are.
    fn range(&self, end: End, len: usize) -> Range<usize> {
        match end {
            End::Front => 0..len,
            End::Back => self.len() - len..self.len(),
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the whole mapping, which nothing refers to any more.
        unsafe { libc::munmap(self.mapping.cast(), 4 * self.page) };
    }
}

/// Which guard a buffer touches.
#[derive(Clone, Copy, Debug)]
enum End {
    Front,
    Back,
}

const ENDS: [End; 2] = [End::Front, End::Back];

/// All short lengths; and around the vectors, blocks and page of longer ones.
fn lengths() -> impl Iterator<Item = usize> {
    (0..=700)
        .chain(1000..=1100)
        .chain(4090..=4102)
        .chain([8191, 8192])
}

#[test]
fn masking_stays_within_its_buffers() {
    const KEY: u32 = 0x37FA213D;
    const UNTOUCHED: u8 = 0xA5;
    let (mut payloads, mut results) = (Guarded::new(), Guarded::new());
    for (i, byte) in payloads.bytes_mut().iter_mut().enumerate() {
        *byte = (i * 7 + i / 251) as u8;
    }
    // A payload is only to be read.
    payloads.protect(libc::PROT_READ);
    for kernels in tiers() {
        for len in lengths() {
            println!("{:?}, {len} bytes", kernels.tier());
            for (from, to) in [0, 1, 2, 3].map(|i| (ENDS[i / 2], ENDS[i % 2])) {
                let payload = &payloads.bytes()[payloads.range(from, len)];
                let range = results.range(to, len);
                results.bytes_mut().fill(UNTOUCHED);
                let out = ptr::from_mut(&mut results.bytes_mut()[range.clone()]);
                // SAFETY: bytes with a value serve as bytes that may have none: masking gives each
                // of them a value.
                let out = unsafe { &mut *(out as *mut [MaybeUninit<u8>]) };
                let masked = kernels.mask(payload, KEY, out);
                assert!(masked == naive_mask(payload, KEY), "{from:?} to {to:?}");
                let all = results.bytes();
                let around = all[..range.start].iter().chain(&all[range.end..]);
                assert!(
                    around.into_iter().all(|byte| *byte == UNTOUCHED),
                    "{from:?} to {to:?}"
                );
            }
        }
    }
}

#[test]
fn validation_stays_within_the_text() {
    let mut memory = Guarded::new();
    for kernels in tiers() {
        for len in lengths() {
            println!("{:?}, {len} bytes", kernels.tier());
            for character in ["a", "é", "€", "😀", "a€", "é😀z"] {
                // ASCII in front of it, and from the middle on.
                let whole = character.repeat(len / character.len());
                let half = character.repeat(len / 2 / character.len());
                let behind = "z".repeat(len - whole.len()) + &whole;
                let before = half.clone() + &"z".repeat(len - half.len());
                for text in [behind, before] {
                    let mut text = text.into_bytes();
                    // What is well-formed is read to its end. What begins, or ends, within a
                    // character invites to read on. Rotated by a byte more each time, the text is
                    // all of these.
                    for _ in 0..4.min(len + 1) {
                        for end in ENDS {
                            let range = memory.range(end, len);
                            memory.bytes_mut()[range.clone()].copy_from_slice(&text);
                            let is_utf8 = kernels.is_utf8(&memory.bytes()[range]);
                            assert_eq!(is_utf8, naive_is_utf8(&text), "{end:?}: {text:02X?}");
                        }
                        text.rotate_left(1.min(len));
                    }
                }
            }
        }
    }
}
