//! Every tier's masking against RFC 6455 §5.3, byte by byte.

mod support;

use proptest::prelude::*;
use support::{mask_with_gap, naive_mask, tiers};

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
}

#[test]
fn the_rfcs_example() {
    for kernels in tiers() {
        let masked = mask_with_gap(kernels, b"Hello", 0x37FA213D, 4);
        assert_eq!(
            masked,
            [0x7F, 0x9F, 0x4D, 0x51, 0x58],
            "{:?}",
            kernels.tier()
        );
    }
}

#[test]
fn keys_with_zero_bytes_and_tails_keep_the_byte_order() {
    let cases: [(&[u8], u32, &[u8]); 4] = [
        (&[0; 7], 0x01020304, &[1, 2, 3, 4, 1, 2, 3]),
        (
            b"aaaaaaaaaa",
            1234,
            &[0x61, 0x61, 0x65, 0xB3, 0x61, 0x61, 0x65, 0xB3, 0x61, 0x61],
        ),
        (&[0; 7], 1, &[0, 0, 0, 1, 0, 0, 0]),
        (
            &[0; 17],
            0xFF000001,
            &[255, 0, 0, 1, 255, 0, 0, 1, 255, 0, 0, 1, 255, 0, 0, 1, 255],
        ),
    ];
    for kernels in tiers() {
        for (payload, key, expected) in cases {
            let masked = mask_with_gap(kernels, payload, key, 4);
            assert_eq!(masked, expected, "{:?}", kernels.tier());
        }
    }
}

#[test]
fn every_short_length_at_every_alignment() {
    let parent = bytes(64 + 600);
    for kernels in tiers() {
        for len in 0..=600 {
            let alignments = if len <= 300 { 0..64 } else { 0..8 };
            for from in alignments {
                let payload = &parent[from..from + len];
                for key in [0, 0x37FA213D, 0xFF000001] {
                    assert_eq!(
                        mask_with_gap(kernels, payload, key, 64 - from),
                        naive_mask(payload, key),
                        "{:?}, {len} bytes, {from} bytes in, key {key:08X}",
                        kernels.tier()
                    );
                }
            }
        }
    }
}

#[test]
fn an_announce_message_at_all_offsets_that_crashed_others() {
    let text = br#"{"type":"announce", "hash":"123}"#;
    let expected: [u8; 32] = [
        0x4C, 0xD8, 0x55, 0x44, 0x47, 0x9F, 0x03, 0x07, 0x15, 0x9B, 0x4F, 0x53, 0x58, 0x8F, 0x4F,
        0x5E, 0x52, 0xD8, 0x0D, 0x1D, 0x15, 0x92, 0x40, 0x4E, 0x5F, 0xD8, 0x1B, 0x1F, 0x06, 0xC8,
        0x12, 0x40,
    ];
    for from in 0..34 {
        for len in [32, 65, 100, 125, 65_536, 1_000_000] {
            let parent: Vec<u8> = [0xEE]
                .repeat(from)
                .into_iter()
                .chain(text.iter().copied().cycle().take(len))
                .collect();
            let all: Vec<u8> = expected.iter().copied().cycle().take(len).collect();
            for kernels in tiers() {
                let masked = mask_with_gap(kernels, &parent[from..], 0x37FA213D, 33 - from);
                assert!(
                    masked == all,
                    "{:?}, {len} bytes, {from} bytes in",
                    kernels.tier()
                );
            }
        }
    }
}

#[test]
#[should_panic(expected = "as long as")]
fn a_result_of_another_length_panics() {
    let mut out = [std::mem::MaybeUninit::uninit(); 4];
    support::tiers().next().unwrap().mask(b"Hello", 0, &mut out);
}

proptest! {
    #[test]
    fn every_tier_masks_as_the_rfc_says(
        parent in prop::collection::vec(any::<u8>(), 0..3000),
        from in 0..64_usize,
        gap in 0..64_usize,
        key: u32,
    ) {
        let payload = &parent[from.min(parent.len())..];
        for kernels in tiers() {
            let masked = mask_with_gap(kernels, payload, key, gap);
            prop_assert_eq!(&masked, &naive_mask(payload, key), "{:?}", kernels.tier());
        }
    }

    #[test]
    fn masking_twice_gives_the_payload_back(
        payload in prop::collection::vec(any::<u8>(), 0..3000),
        key: u32,
    ) {
        for kernels in tiers() {
            let masked = mask_with_gap(kernels, &payload, key, 1);
            prop_assert_eq!(&mask_with_gap(kernels, &masked, key, 3), &payload);
        }
    }

    #[test]
    fn a_payload_can_be_cut_anywhere_if_the_key_is_rotated(
        payload in prop::collection::vec(any::<u8>(), 0..3000),
        cut in 0..3000_usize,
        key: u32,
    ) {
        let (head, tail) = payload.split_at(cut.min(payload.len()));
        let rotated = key.rotate_left(8 * (head.len() % 4) as u32);
        for kernels in tiers() {
            let mut parts = mask_with_gap(kernels, head, key, 1);
            parts.extend(mask_with_gap(kernels, tail, rotated, 1));
            prop_assert_eq!(&parts, &mask_with_gap(kernels, &payload, key, 1));
        }
    }
}
