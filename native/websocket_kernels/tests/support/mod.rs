//! What the tests share: the tiers of this CPU, and versions that are obviously right.

use std::mem::MaybeUninit;

use websocket_kernels::{Kernels, Tier};

/// The kernels of every tier that this CPU has.
pub fn tiers() -> impl Iterator<Item = &'static Kernels> {
    Tier::ALL
        .into_iter()
        .filter(|tier| tier.is_supported())
        .map(Kernels::of)
}

/// RFC 6455 §5.3 to the letter.
#[allow(dead_code)]
pub fn naive_mask(payload: &[u8], key: u32) -> Vec<u8> {
    let key = key.to_be_bytes();
    payload
        .iter()
        .enumerate()
        .map(|(i, byte)| byte ^ key[i % 4])
        .collect()
}

/// Masks between two runs of `gap` bytes that must stay as they are, so that a write outside the
/// result shows, and results have every alignment.
#[allow(dead_code)]
pub fn mask_with_gap(kernels: &Kernels, payload: &[u8], key: u32, gap: usize) -> Vec<u8> {
    const UNTOUCHED: u8 = 0xA5;
    let mut buffer = vec![MaybeUninit::new(UNTOUCHED); payload.len() + 2 * gap];
    let masked = kernels
        .mask(payload, key, &mut buffer[gap..gap + payload.len()])
        .to_vec();
    for byte in buffer[..gap].iter().chain(&buffer[gap + payload.len()..]) {
        // SAFETY: all of the buffer was initialised above.
        assert_eq!(
            unsafe { byte.assume_init() },
            UNTOUCHED,
            "a neighbour was overwritten"
        );
    }
    masked
}

/// Unicode 15, Table 3-7, row for row.
#[allow(dead_code)]
pub fn naive_is_utf8(mut text: &[u8]) -> bool {
    while !text.is_empty() {
        text = match text {
            [0x00..=0x7F, rest @ ..] => rest,
            [0xC2..=0xDF, 0x80..=0xBF, rest @ ..] => rest,
            [0xE0, 0xA0..=0xBF, 0x80..=0xBF, rest @ ..] => rest,
            [0xE1..=0xEC, 0x80..=0xBF, 0x80..=0xBF, rest @ ..] => rest,
            [0xED, 0x80..=0x9F, 0x80..=0xBF, rest @ ..] => rest,
            [0xEE..=0xEF, 0x80..=0xBF, 0x80..=0xBF, rest @ ..] => rest,
            [0xF0, 0x90..=0xBF, 0x80..=0xBF, 0x80..=0xBF, rest @ ..] => rest,
            [
                0xF1..=0xF3,
                0x80..=0xBF,
                0x80..=0xBF,
                0x80..=0xBF,
                rest @ ..,
            ] => rest,
            [0xF4, 0x80..=0x8F, 0x80..=0xBF, 0x80..=0xBF, rest @ ..] => rest,
            _ => return false,
        }
    }
    true
}
