//! Masking by every tier, whole and in two parts, against RFC 6455 §5.3 byte by byte.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/support/mod.rs"]
mod support;

use support::{mask_with_gap, naive_mask, tiers};

fuzz_target!(|input: &[u8]| {
    // The first bytes choose; the others are the payload. It keeps the alignment that it has.
    let Some((&[a, b, c, d, offset, gap, split_low, split_high], parent)) =
        input.split_first_chunk()
    else {
        return;
    };
    let key = u32::from_be_bytes([a, b, c, d]);
    let payload = &parent[usize::from(offset % 64).min(parent.len())..];
    let gap = usize::from(gap % 64);
    let split = usize::from(u16::from_le_bytes([split_low, split_high])) % (payload.len() + 1);
    let (head, tail) = payload.split_at(split);
    let rotated = key.rotate_left(8 * (split % 4) as u32);
    let expected = naive_mask(payload, key);
    for kernels in tiers() {
        assert_eq!(mask_with_gap(kernels, payload, key, gap), expected);
        assert_eq!(mask_with_gap(kernels, head, key, gap), expected[..split]);
        assert_eq!(
            mask_with_gap(kernels, tail, rotated, gap),
            expected[split..]
        );
    }
});
