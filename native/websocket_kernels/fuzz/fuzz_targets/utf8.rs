//! Validation by every tier, whole and in two parts, against Unicode's Table 3-7 row for row.
#![no_main]

use libfuzzer_sys::fuzz_target;
use websocket_kernels::cut;

#[path = "../../tests/support/mod.rs"]
mod support;

use support::{naive_is_utf8, tiers};

fuzz_target!(|input: &[u8]| {
    // The first bytes choose; the others are the text, between bytes that must not count.
    let Some((&[before, after, at_low, at_high, front], rest)) = input.split_first_chunk() else {
        return;
    };
    let from = usize::from(before % 64).min(rest.len());
    let to = rest.len() - usize::from(after % 8).min(rest.len() - from);
    let expected = naive_is_utf8(&rest[from..to]);

    // What is in front of it makes the text longer, by up to 2159 bytes, and changes nothing.
    let repeated = usize::from(front / 2);
    let front = match front % 2 {
        0 => "nothing but ASCII".repeat(repeated),
        _ => "8 × «é»: ЖЖ".repeat(repeated),
    };
    let parent = [&rest[..from], front.as_bytes(), &rest[from..]].concat();
    let text = &parent[from..front.len() + to];

    let at = usize::from(u16::from_le_bytes([at_low, at_high])) % (text.len() + 1);
    let (head, tail) = text.split_at(cut(text, at));
    assert!(tail.len() < text.len() - at + 4);
    for kernels in tiers() {
        assert_eq!(kernels.is_utf8(text), expected);
        assert_eq!(kernels.is_utf8(head) && kernels.is_utf8(tail), expected);
    }
});
