//! A vector of 64 bytes in plain Rust, with which the algorithm is tested as AVX-512 runs it, also
//! where there is none: what it says, and that it loads nothing but the text.

use std::array;
use std::cell::Cell;

use super::lookup::{self, Vector};

/// Bytes on either side of the text, for loads to reach by mistake.
const AROUND: usize = 64;

thread_local! {
    /// Where the text begins, and its length.
    static TEXT: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

#[derive(Clone, Copy)]
struct Model([u8; 64]);

impl Model {
    fn map(self, f: impl Fn(u8) -> u8) -> Self {
        Self(self.0.map(f))
    }

    fn zip(self, other: Self, f: impl Fn(u8, u8) -> u8) -> Self {
        Self(array::from_fn(|i| f(self.0[i], other.0[i])))
    }
}

impl Vector for Model {
    const LEN: usize = 64;

    unsafe fn splat(byte: u8) -> Self {
        Self([byte; 64])
    }

    unsafe fn load(src: *const u8) -> Self {
        let (text, len) = TEXT.get();
        let at = src.addr();
        // What is elsewhere is a table.
        if at + 64 > text - AROUND && at < text + len + AROUND {
            assert!(
                at >= text && at + 64 <= text + len,
                "outside of {len} bytes"
            );
        }
        // SAFETY: see the trait.
        Self(unsafe { src.cast::<[u8; 64]>().read_unaligned() })
    }

    unsafe fn shifted(self) -> [Self; 3] {
        [1, 2, 3].map(|by| Self(array::from_fn(|i| if i < by { 0 } else { self.0[i - by] })))
    }

    unsafe fn and(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    unsafe fn or(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    unsafe fn xor(self, other: Self) -> Self {
        self.zip(other, |a, b| a ^ b)
    }

    unsafe fn saturating_sub(self, other: Self) -> Self {
        self.zip(other, u8::saturating_sub)
    }

    unsafe fn lookup_high(self, table: &[u8; 16]) -> Self {
        self.map(|byte| table[usize::from(byte >> 4)])
    }

    unsafe fn lookup_low(self, table: &[u8; 16]) -> Self {
        self.map(|byte| table[usize::from(byte & 0x0F)])
    }

    unsafe fn is_ascii(self) -> bool {
        self.0.is_ascii()
    }

    unsafe fn is_zero(self) -> bool {
        self.0 == [0; 64]
    }
}

/// Asserts that the algorithm says what the standard library does, of a text in the middle of others.
fn check(memory: &[u8], from: usize, len: usize) {
    let text = &memory[from..from + len];
    TEXT.set((text.as_ptr().addr(), len));
    // SAFETY: a model needs no instruction set, and the text is no shorter than a vector.
    let is_utf8 = unsafe { lookup::is_utf8::<Model>(text) };
    assert_eq!(is_utf8, std::str::from_utf8(text).is_ok(), "{text:02X?}");
}

#[test]
fn vectors_of_64_bytes_find_any_fault() {
    let lens = [
        64, 65, 66, 67, 72, 127, 128, 129, 131, 192, 193, 195, 255, 320, 385, 500, 1300,
    ];
    let mut memory = vec![0x80; AROUND + 64 + 1300 + AROUND];
    let start = AROUND + memory[AROUND..].as_ptr().align_offset(64);
    for len in lens {
        // A filler, and ASCII behind it.
        for (filler, ascii) in [("a", 0), ("é", 0), ("😀", len / 3), ("a€", len / 2)] {
            let from = start + 7 * len % 64;
            memory.fill(0x80);
            memory[from..from + len].fill(b'z');
            let filling = filler.repeat((len - ascii) / filler.len());
            memory[from..from + filling.len()].copy_from_slice(filling.as_bytes());
            check(&memory, from, len);
            // Where vectors meet, in memory or in the text, and where it ends.
            let is_edge = |at: &usize| {
                let places = [*at, from + at - start, len - at];
                places.iter().any(|place| (place + 4) % 64 < 8)
            };
            for at in (0..len).filter(is_edge) {
                for character in ["é", "\u{800}", "😀"] {
                    // The whole of it, and less and less.
                    for part in (1..=character.len().min(len - at)).rev() {
                        let place = from + at..from + at + part;
                        let before = memory[place.clone()].to_vec();
                        memory[place.clone()].copy_from_slice(&character.as_bytes()[..part]);
                        check(&memory, from, len);
                        memory[place].copy_from_slice(&before);
                    }
                }
            }
        }
    }
}
