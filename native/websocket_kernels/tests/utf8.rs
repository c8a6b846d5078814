//! Every tier's validation against Unicode's Table 3-7, row for row.

mod support;

use proptest::prelude::*;
use support::{naive_is_utf8, tiers};

/// Asserts what every tier says of `text`, also in the middle of other bytes, which must not count.
#[track_caller]
fn assert_utf8(text: &[u8], expected: bool) {
    for kernels in tiers() {
        for neighbour in [0x80, 0xC3, 0xF0, b'a'] {
            let mut parent = vec![neighbour; 3];
            parent.extend(text);
            parent.extend([neighbour; 70]);
            assert_eq!(
                kernels.is_utf8(&parent[3..3 + text.len()]),
                expected,
                "{:?}, {} bytes beside {neighbour:02X}: {text:02X?}",
                kernels.tier(),
                text.len(),
            );
        }
    }
}

/// Asserts the same of `text` at many places in valid texts of many lengths. `text` must not begin
/// with a continuation byte, nor end within a character that ASCII would not spoil.
#[track_caller]
fn assert_utf8_anywhere(text: &[u8], expected: bool) {
    for before in (0..=140).chain([255, 256, 257, 510, 511, 512, 513]) {
        for filler in ["a", "é", "€", "😀"] {
            for after in [0, 1, 2, 3, 15, 63, 64, 300] {
                let mut long = filler.as_bytes().repeat(before / filler.len());
                long.extend(text);
                long.extend([b'z'].repeat(after));
                for kernels in tiers() {
                    assert_eq!(
                        kernels.is_utf8(&long),
                        expected,
                        "{:?}: {before} bytes of {filler:?}, {text:02X?}, {after} bytes",
                        kernels.tier()
                    );
                }
            }
        }
    }
}

#[test]
fn surrogates_overlong_forms_and_numbers_above_10ffff_are_refused() {
    let cases: [&[u8]; 16] = [
        &[0xF0, 0x8F, 0xBF, 0xBF],
        &[0xC0, 0xAF],
        &[0xE0, 0x9F, 0xBF],
        &[0xC1, 0xBF],
        &[0xED, 0xA0, 0x80],
        &[0xED, 0xBF, 0xBF],
        &[0xED, 0xA0, 0x80, 0xED, 0xB0, 0x80],
        &[0xF4, 0x90, 0x80, 0x80],
        &[0xF5, 0x80, 0x80, 0x80],
        &[0xF8, 0x88, 0x80, 0x80, 0x80],
        &[0xFC, 0x84, 0x80, 0x80, 0x80, 0x80],
        &[0xFE],
        &[0xFF],
        &[0x80],
        &[0xC3, 0xA9, 0xA9],
        &[0xF0, 0x9F, 0x98, 0x80, 0x80],
    ];
    for text in cases {
        assert_utf8(text, false);
        assert_utf8_anywhere(text, false);
    }
}

#[test]
fn the_first_and_last_of_every_row_are_accepted() {
    let mut all = Vec::new();
    for number in [
        0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xCFFF, 0xD000, 0xD7FF, 0xE000, 0xFDD0, 0xFFFD,
        0xFFFE, 0xFFFF, 0x10000, 0x3FFFF, 0x40000, 0xFFFFF, 0x100000, 0x10FFFF,
    ] {
        let character = char::from_u32(number).unwrap().to_string();
        assert_utf8(character.as_bytes(), true);
        assert_utf8_anywhere(character.as_bytes(), true);
        all.extend(character.as_bytes());
    }
    assert_utf8(&all, true);
    assert_utf8_anywhere(&all, true);
}

#[test]
fn ascii_where_a_continuation_byte_is_due_is_refused() {
    for lead in [0xC2, 0xE1, 0xE0, 0xED, 0xF0, 0xF1, 0xF4] {
        assert_utf8(&[lead, 0x41], false);
        assert_utf8_anywhere(&[lead, 0x41], false);
        assert_utf8_anywhere(&[lead], false);
    }
    assert_utf8_anywhere(&[0xE1, 0x80, 0x41], false);
    assert_utf8_anywhere(&[0xF1, 0x80, 0x80, 0x41], false);
    assert_utf8_anywhere(&[0xF1, 0x80, 0x80], false);
}

#[test]
fn an_ascii_fast_path_does_not_forget_a_lead_byte() {
    for before in 100..=700 {
        for lead in [&[0xD8][..], &[0xE2, 0x82], &[0xF0, 0x9F, 0x98]] {
            let text = [&vec![b' '; before][..], lead, &[b' '; 600]].concat();
            assert_utf8(&text, false);
        }
    }
    assert_utf8(&[&[b'a'; 63][..], &[0xC3], &[b'a'; 64]].concat(), false);
    assert_utf8(b"\"123456789012345678901234567890\xC2134567890\"", false);
}

#[test]
fn a_fault_anywhere_in_a_long_text_is_found_at_every_alignment() {
    let sparse = ["a".repeat(70).as_str(), "é", "b".repeat(200).as_str()].concat();
    for filler in ["a", "é", "😀", &sparse] {
        for ascii in [0, 400] {
            let characters = 1400 / filler.len();
            let text = ["z".repeat(ascii), filler.repeat(characters)].concat();
            for from in [0, 1, 30] {
                let mut parent = vec![0; from];
                parent.extend(text.as_bytes());
                for kernels in tiers() {
                    assert!(kernels.is_utf8(&parent[from..]), "{:?}", kernels.tier());
                    for at in (from..parent.len()).step_by(3) {
                        let byte = std::mem::replace(&mut parent[at], 0xFF);
                        assert!(
                            !kernels.is_utf8(&parent[from..]),
                            "{:?}, {ascii} bytes and {filler:?}, {at} of {from} bytes in",
                            kernels.tier()
                        );
                        parent[at] = byte;
                    }
                }
            }
        }
    }
}

/// Where loads are aligned, the vectors lie otherwise at each alignment: no byte may be left out.
#[test]
fn no_byte_of_a_long_text_is_left_out_at_any_alignment() {
    let mut memory = vec![0; 64 + 64 + 1500];
    let start = memory.as_ptr().align_offset(64);
    for from in [0, 1, 15, 16, 17, 31, 32, 33, 63].map(|offset| start + offset) {
        for ascii in [0, 300, 1500] {
            let text = &mut memory[from..from + 1500];
            text[..ascii].fill(b'a');
            for character in text[ascii..].chunks_mut(2) {
                character.copy_from_slice("é".as_bytes());
            }
            for at in 0..text.len() {
                // A fault that shows nowhere but here, or but here and behind.
                let byte = text[at];
                text[at] = if byte < 0x80 { 0x80 } else { b'a' };
                for kernels in tiers() {
                    assert!(!kernels.is_utf8(text), "{:?}: {at}", kernels.tier());
                }
                text[at] = byte;
            }
        }
    }
}

#[test]
fn a_fault_anywhere_in_a_short_text_is_found() {
    // Alone in ASCII, a fault is seen only where each byte of the text is loaded.
    for len in 1..=300 {
        let mut text = vec![b'a'; len];
        for at in 0..len {
            for byte in [0x80, 0xC0, 0xC1, 0xC3, 0xFF] {
                text[at] = byte;
                for kernels in tiers() {
                    assert!(
                        !kernels.is_utf8(&text),
                        "{:?}: {byte:02X} at {at} of {len} bytes",
                        kernels.tier()
                    );
                }
            }
            text[at] = b'a';
        }
    }
}

/// What is skipped beyond a text's end, if it is ASCII too, shows in debug builds only.
#[test]
fn ascii_is_skipped_to_the_texts_end_and_no_further() {
    let parent = [b'a'; 1400];
    for len in 1000..=1300 {
        for from in 0..64 {
            for kernels in tiers() {
                assert!(kernels.is_utf8(&parent[from..from + len]));
            }
        }
    }
}

#[test]
fn a_text_is_never_cut_within_a_character() {
    let text = "aé€😀".repeat(2);
    for at in 0..=text.len() {
        let cut = websocket_kernels::cut(text.as_bytes(), at);
        assert!(text.is_char_boundary(cut) && (cut..cut + 4).contains(&at));
    }
    // No character is that long: the part that begins there is ill-formed.
    assert_eq!(websocket_kernels::cut(&[0x80; 9], 5), 5);
}

#[test]
fn bytes_behind_the_text_do_not_count() {
    let parent = [&[b'a'; 63][..], &[0xC3, 0xA9], &[0xFF; 64]].concat();
    for kernels in tiers() {
        let results = [64, 65, 66].map(|len| kernels.is_utf8(&parent[..len]));
        assert_eq!(results, [false, true, false], "{:?}", kernels.tier());
    }
}

#[test]
fn a_character_cut_off_at_the_end_is_refused_at_every_length() {
    for len in 0..=700 {
        for character in ["é", "€", "\u{800}", "😀"] {
            let whole = [&vec![b'a'; len][..], character.as_bytes()].concat();
            assert_utf8(&whole, true);
            for cut in 1..character.len() {
                assert_utf8(&whole[..whole.len() - cut], false);
            }
        }
    }
}

/// All 2^32 texts of four bytes, alone and across the edges of vectors: about ten minutes a core.
/// `cargo test --release -p websocket_kernels -- --ignored`
#[test]
#[ignore = "takes minutes, and an optimised build"]
fn every_text_of_four_bytes() {
    let threads = std::thread::available_parallelism().unwrap().get() as u32;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                let mut long = [b'a'; 150];
                for number in (thread..=u32::MAX).step_by(threads as usize) {
                    let text = number.to_be_bytes();
                    let expected = naive_is_utf8(&text);
                    // The place changes, so that each pair of bytes meets each edge.
                    let at = (number.wrapping_mul(0x9E3779B1) >> 16) as usize % 146;
                    long[at..at + 4].copy_from_slice(&text);
                    for kernels in tiers() {
                        assert_eq!(kernels.is_utf8(&text), expected, "{text:02X?}");
                        assert_eq!(kernels.is_utf8(&long), expected, "{text:02X?} at {at}");
                    }
                    long[at..at + 4].fill(b'a');
                }
            });
        }
    });
}

/// Characters of all lengths, most of them at the edges of Table 3-7's rows.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let run = prop_oneof![
        "[a-z]{0,200}",
        "[éßЖ]{0,40}",
        "[€日本\u{800}\u{D7FF}\u{E000}\u{FFFF}]{0,40}",
        "[😀\u{10000}\u{10FFFF}]{0,40}",
        "\\PC{0,40}",
    ];
    prop::collection::vec(run, 0..6).prop_map(|runs| runs.concat().into_bytes())
}

proptest! {
    #[test]
    fn every_tier_accepts_text(text in text(), from in 0..64_usize) {
        let parent = [&vec![0x80; from][..], &text].concat();
        for kernels in tiers() {
            prop_assert!(kernels.is_utf8(&parent[from..]), "{:?}", kernels.tier());
        }
    }

    #[test]
    fn every_tier_agrees_on_text_with_a_byte_changed(
        mut text in text(),
        at: prop::sample::Index,
        byte in prop_oneof![
            any::<u8>(),
            prop::sample::select(vec![0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xE0, 0xED, 0xF0, 0xF4]),
        ],
    ) {
        prop_assume!(!text.is_empty());
        let at = at.index(text.len());
        text[at] = byte;
        for kernels in tiers() {
            prop_assert_eq!(kernels.is_utf8(&text), naive_is_utf8(&text), "{:?}", kernels.tier());
        }
    }

    #[test]
    fn every_tier_agrees_on_text_cut_anywhere(text in text(), from: prop::sample::Index, to: prop::sample::Index) {
        let from = from.index(text.len() + 1);
        let to = from + to.index(text.len() + 1 - from);
        for kernels in tiers() {
            let text = &text[from..to];
            prop_assert_eq!(kernels.is_utf8(text), naive_is_utf8(text), "{:?}", kernels.tier());
        }
    }

    #[test]
    fn every_tier_agrees_on_arbitrary_bytes(text in prop::collection::vec(any::<u8>(), 0..300)) {
        for kernels in tiers() {
            prop_assert_eq!(kernels.is_utf8(&text), naive_is_utf8(&text), "{:?}", kernels.tier());
        }
    }
}
