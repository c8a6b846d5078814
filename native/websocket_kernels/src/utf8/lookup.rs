//! Validation by vector lookup: John Keiser and Daniel Lemire, "Validating UTF-8 In Less Than One
//! Instruction Per Byte", Software: Practice and Experience 51 (2021).
//!
//! Whether a byte may stand where it stands depends on itself and on the three bytes before it.
//! Each position is checked for itself, all positions of a vector at once. So no state is carried
//! from vector to vector, vectors may overlap, and the bytes before a position are simply loaded
//! again, from one, two and three bytes further to the front. That is cheaper than moving them
//! across the lanes of a register.
//!
//! Two consecutive bytes are classified by three nibbles: the first byte's high one, its low one,
//! and the second byte's high one. Each nibble looks up a set of faults that it does not rule out,
//! a bit each; a fault that all three leave standing is there. See [`Fault`].

/// The faults that two consecutive bytes can show, a bit each.
struct Fault;

impl Fault {
    /// A lead byte, and no continuation byte behind it.
    const TOO_SHORT: u8 = 1 << 0;
    /// ASCII, and a continuation byte behind it.
    const TOO_LONG: u8 = 1 << 1;
    /// `E0`, and a continuation byte below `A0`.
    const OVERLONG_3: u8 = 1 << 2;
    /// `F4` and a continuation byte above `8F`, or `F5` and above and one above `8F`.
    const TOO_LARGE: u8 = 1 << 3;
    /// `ED`, and a continuation byte above `9F`.
    const SURROGATE: u8 = 1 << 4;
    /// `C0` or `C1`, and any continuation byte.
    const OVERLONG_2: u8 = 1 << 5;
    /// `F5` and above, and a continuation byte below `90`.
    const TOO_LARGE_1000: u8 = 1 << 6;
    /// `F0`, and a continuation byte below `90`. It shares its bit with `TOO_LARGE_1000`: the
    /// first byte's low nibble tells the two apart.
    const OVERLONG_4: u8 = 1 << 6;
    /// Two continuation bytes. No fault where the second is a character's third or fourth byte.
    const TWO_CONTINUATIONS: u8 = 1 << 7;
    /// The faults that do not depend on the first byte's low nibble.
    const ANY_LOW_NIBBLE: u8 = Self::TOO_SHORT | Self::TOO_LONG | Self::TWO_CONTINUATIONS;
}

/// What the first byte's high nibble leaves standing.
const FIRST_HIGH: [u8; 16] = {
    let mut table = [Fault::TOO_LONG; 16];
    table[0x8] = Fault::TWO_CONTINUATIONS;
    table[0x9] = Fault::TWO_CONTINUATIONS;
    table[0xA] = Fault::TWO_CONTINUATIONS;
    table[0xB] = Fault::TWO_CONTINUATIONS;
    table[0xC] = Fault::TOO_SHORT | Fault::OVERLONG_2;
    table[0xD] = Fault::TOO_SHORT;
    table[0xE] = Fault::TOO_SHORT | Fault::OVERLONG_3 | Fault::SURROGATE;
    table[0xF] = Fault::TOO_SHORT | Fault::TOO_LARGE | Fault::TOO_LARGE_1000 | Fault::OVERLONG_4;
    table
};

/// What the first byte's low nibble leaves standing.
const FIRST_LOW: [u8; 16] = {
    let mut table = [Fault::ANY_LOW_NIBBLE | Fault::TOO_LARGE | Fault::TOO_LARGE_1000; 16];
    table[0x0] = Fault::ANY_LOW_NIBBLE | Fault::OVERLONG_2 | Fault::OVERLONG_3 | Fault::OVERLONG_4;
    table[0x1] = Fault::ANY_LOW_NIBBLE | Fault::OVERLONG_2;
    table[0x2] = Fault::ANY_LOW_NIBBLE;
    table[0x3] = Fault::ANY_LOW_NIBBLE;
    table[0x4] = Fault::ANY_LOW_NIBBLE | Fault::TOO_LARGE;
    table[0xD] |= Fault::SURROGATE;
    table
};

/// What the second byte's high nibble leaves standing.
const SECOND_HIGH: [u8; 16] = {
    let continuation = Fault::TOO_LONG | Fault::OVERLONG_2 | Fault::TWO_CONTINUATIONS;
    let mut table = [Fault::TOO_SHORT; 16];
    table[0x8] = continuation | Fault::OVERLONG_3 | Fault::OVERLONG_4 | Fault::TOO_LARGE_1000;
    table[0x9] = continuation | Fault::OVERLONG_3 | Fault::TOO_LARGE;
    table[0xA] = continuation | Fault::SURROGATE | Fault::TOO_LARGE;
    table[0xB] = continuation | Fault::SURROGATE | Fault::TOO_LARGE;
    table
};

/// A register of `LEN` bytes.
///
/// The functions are `inline(always)` and so compiled with the instruction sets of the kernel that
/// they end up in.
///
/// # Safety
///
/// For all of them: the CPU has the vector's instruction set.
pub trait Vector: Copy {
    /// Bytes in a vector: 16, 32 or 64.
    const LEN: usize;

    /// The fewest bytes that are skipped together, where all of them are ASCII: two vectors or more.
    const BLOCK: usize = if Self::LEN < 64 { 64 } else { 128 };

    /// `byte` in every place.
    unsafe fn splat(byte: u8) -> Self;

    /// Reads `LEN` bytes from any alignment.
    unsafe fn load(src: *const u8) -> Self;

    /// The bytes one, two and three places further to the front, with zeros before the first.
    unsafe fn shifted(self) -> [Self; 3];

    /// The bits that are in both.
    unsafe fn and(self, other: Self) -> Self;

    /// The bits that are in one or both.
    unsafe fn or(self, other: Self) -> Self;

    /// The bits that are in one of the two.
    unsafe fn xor(self, other: Self) -> Self;

    /// Each byte less that of `other`, and 0 where that is more.
    unsafe fn saturating_sub(self, other: Self) -> Self;

    /// `table[byte >> 4]` of each byte.
    unsafe fn lookup_high(self, table: &[u8; 16]) -> Self;

    /// `table[byte & 0x0F]` of each byte.
    unsafe fn lookup_low(self, table: &[u8; 16]) -> Self;

    /// Whether no byte has its top bit set.
    unsafe fn is_ascii(self) -> bool;

    /// Whether every byte is 0.
    unsafe fn is_zero(self) -> bool;
}

/// Not 0 at each byte of `bytes` that may not stand behind the one, two and three bytes before it,
/// which are in `previous`.
///
/// # Safety
///
/// As for [`Vector`].
#[inline(always)]
pub unsafe fn faults<V: Vector>(bytes: V, previous: [V; 3]) -> V {
    let [one, two, three] = previous;
    // SAFETY: the caller's promise is the same.
    unsafe {
        let pair = one
            .lookup_high(&FIRST_HIGH)
            .and(one.lookup_low(&FIRST_LOW))
            .and(bytes.lookup_high(&SECOND_HIGH));
        // The top bit, which is TWO_CONTINUATIONS, is set where the byte must be a character's
        // third (two places behind E0 and above) or fourth (three behind F0 and above).
        let is_third = two.saturating_sub(V::splat(0xE0 - 0x80));
        let is_fourth = three.saturating_sub(V::splat(0xF0 - 0x80));
        let must_continue = is_third
            .or(is_fourth)
            .and(V::splat(Fault::TWO_CONTINUATIONS));
        // There must be two continuation bytes in a row there, and nowhere else.
        pair.xor(must_continue)
    }
}

/// [`faults`] of the vector at `src`, with the bytes before it loaded from memory.
///
/// # Safety
///
/// As for [`Vector`]; three bytes before `src` and `V::LEN` behind it are there to be read.
#[inline(always)]
unsafe fn faults_at<V: Vector>(src: *const u8) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        let previous = [
            V::load(src.sub(1)),
            V::load(src.sub(2)),
            V::load(src.sub(3)),
        ];
        faults(V::load(src), previous)
    }
}

/// Bytes that are checked together, with no look at whether some of them are ASCII. Where a text goes
/// from one to the other every few blocks, and is not the text that was there before, half of these
/// looks would be wrong guesses of the CPU, each of which takes as long as to check some 200 bytes.
const GROUP: usize = 256;

/// From so many bytes on it is worth while to align the loads.
const LONG: usize = 1024;

/// Where the text is ASCII up to: a place less than a group before the first byte that is not, and less
/// than a block before the end of a text that is nothing else. 0 where the first block is not ASCII.
///
/// # Safety
///
/// As for [`Vector`]. The text has a block or more.
#[inline(always)]
unsafe fn ascii_blocks<V: Vector>(text: &[u8]) -> usize {
    let start = text.as_ptr();
    let len = text.len();
    // A long text has room for a block and a vector, and half a group is a number of blocks.
    const { assert!(LONG >= V::BLOCK + V::LEN && GROUP.is_multiple_of(2 * V::BLOCK)) };
    // SAFETY: what is loaded ends at or before the text's end.
    unsafe {
        if !is_ascii::<V>(start, V::BLOCK) {
            return 0;
        }
        let mut at = V::BLOCK;
        if len < LONG {
            while at + 2 * V::BLOCK <= len {
                if !is_ascii::<V>(start.add(at), 2 * V::BLOCK) {
                    return at;
                }
                at += 2 * V::BLOCK;
            }
        } else if is_ascii::<V>(start.add(at), V::LEN) {
            // Aligned from here on: loads across the edges of cache lines take twice the time. One
            // vector has bridged the gap.
            at += V::LEN - (start.addr() + at) % V::LEN;
            while at + GROUP <= len {
                if !is_ascii::<V>(start.add(at), GROUP) {
                    return at;
                }
                at += GROUP;
            }
        }
        skip_ascii::<V>(text, at)
    }
}

/// Where the blocks of ASCII from `at` on end.
///
/// # Safety
///
/// As for [`Vector`].
#[inline(always)]
unsafe fn skip_ascii<V: Vector>(text: &[u8], mut at: usize) -> usize {
    // SAFETY: what is loaded ends at or before the text's end.
    unsafe {
        while at + V::BLOCK <= text.len() && is_ascii::<V>(text.as_ptr().add(at), V::BLOCK) {
            at += V::BLOCK;
        }
    }
    debug_assert!(at <= text.len());
    at
}

/// Checks the text's whole blocks from `at` on, the place that [`ascii_blocks`] gave. Gives their
/// faults, and where they end. Whether the last of them leaves a character unfinished is for the
/// caller to see.
///
/// # Safety
///
/// As for [`Vector`]. The text has a block or more.
#[inline(always)]
unsafe fn check_blocks<V: Vector>(text: &[u8], mut at: usize) -> (V, usize) {
    let start = text.as_ptr();
    let len = text.len();
    // SAFETY: every vector begins at `at` with `at + V::LEN <= len`. The bytes before it are loaded
    // only behind a first vector.
    unsafe {
        let mut found = V::splat(0);
        if at == 0 {
            let first = V::load(start);
            found = faults(first, first.shifted());
            found = check(found, start.add(V::LEN), V::BLOCK - V::LEN);
            at = V::BLOCK;
        }
        if len - at >= LONG {
            // Aligned, as above.
            found = found.or(faults_at(start.add(at)));
            at += V::LEN - (start.addr() + at) % V::LEN;
        }
        while at + GROUP <= len {
            found = check(found, start.add(at), GROUP);
            at += GROUP;
            // Where the half before is ASCII, all characters are finished, and more of it may follow.
            if is_ascii::<V>(start.add(at - GROUP / 2), GROUP / 2) {
                at = skip_ascii::<V>(text, at);
            }
        }
        while at + V::BLOCK <= len {
            found = check(found, start.add(at), V::BLOCK);
            at += V::BLOCK;
        }
        debug_assert!(at <= len);
        (found, at)
    }
}

/// `found`, and the faults of `len` bytes, a number of vectors.
///
/// # Safety
///
/// As for [`Vector`]; three bytes before `src` and `len` behind it are there to be read.
#[inline(always)]
unsafe fn check<V: Vector>(mut found: V, src: *const u8, len: usize) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        for i in 0..len / V::LEN {
            found = found.or(faults_at(src.add(i * V::LEN)));
        }
    }
    found
}

/// Whether all of `len` bytes, a number of vectors, are ASCII.
///
/// # Safety
///
/// As for [`Vector`]; `len` bytes are there to be read.
#[inline(always)]
unsafe fn is_ascii<V: Vector>(src: *const u8, len: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let mut all = V::load(src);
        for i in 1..len / V::LEN {
            all = all.or(V::load(src.add(i * V::LEN)));
        }
        all.is_ascii()
    }
}

/// Not 0 if a character is not finished at the end of `bytes`.
///
/// # Safety
///
/// As for [`Vector`].
#[inline(always)]
unsafe fn unfinished<V: Vector>(bytes: V) -> V {
    /// The most that the bytes of a vector, whose end is here, may be.
    static MOST: [u8; 64] = {
        let mut most = [0xFF; 64];
        most[61] = 0xF0 - 1;
        most[62] = 0xE0 - 1;
        most[63] = 0xC0 - 1;
        most
    };
    // SAFETY: the caller's promise; no vector is longer than the table.
    unsafe { bytes.saturating_sub(V::load(MOST.as_ptr().add(MOST.len() - V::LEN))) }
}

/// Whether a text of at least `V::LEN` bytes is well-formed.
///
/// # Safety
///
/// As for [`Vector`].
#[inline(always)]
pub unsafe fn is_utf8<V: Vector>(text: &[u8]) -> bool {
    let start = text.as_ptr();
    let len = text.len();
    debug_assert!(len >= V::LEN);
    // SAFETY: every vector begins at `at` with `at + V::LEN <= len`; see there for the bytes before.
    unsafe {
        if len > V::BLOCK {
            let ascii = ascii_blocks::<V>(text);
            if ascii == len
                || (ascii + V::BLOCK > len && is_ascii::<V>(start.add(len - V::BLOCK), V::BLOCK))
            {
                return true;
            }
            let (mut found, checked) = check_blocks::<V>(text, ascii);
            let rest = len - checked;
            if rest == 0 || !is_ascii::<V>(start.add(len - V::BLOCK), V::BLOCK) {
                // There are more than three bytes before each of them: what is left is less than
                // a block, and the first vector begins less than a vector before it.
                for vectors in (1..=V::BLOCK / V::LEN).rev() {
                    if rest > (vectors - 1) * V::LEN {
                        found = found.or(faults_at(start.add(len - vectors * V::LEN)));
                    }
                }
                found = found.or(unfinished(V::load(start.add(len - V::LEN))));
            }
            found.is_zero()
        } else {
            let first = V::load(start);
            let last = V::load(start.add(len - V::LEN));
            let mut all = first.or(last);
            if len > 2 * V::LEN {
                all = all.or(V::load(start.add(V::LEN)));
                all = all.or(V::load(start.add(len - 2 * V::LEN)));
            }
            if all.is_ascii() {
                return true;
            }
            let mut found = unfinished(last).or(faults(first, first.shifted()));
            let mut at = V::LEN;
            while at + V::LEN <= len {
                found = found.or(faults_at(start.add(at)));
                at += V::LEN;
            }
            if at < len {
                let at = len - V::LEN;
                found = found.or(if at >= 3 {
                    faults_at(start.add(at))
                } else {
                    // The vector's own first three lack what is before them, and have been checked
                    // already.
                    faults(last, last.shifted()).and(V::load(BEHIND_THREE.as_ptr()))
                });
            }
            found.is_zero()
        }
    }
}

/// Not 0 from the fourth byte on.
static BEHIND_THREE: [u8; 64] = {
    let mut bytes = [0xFF; 64];
    bytes[0] = 0;
    bytes[1] = 0;
    bytes[2] = 0;
    bytes
};

/// Whether a text of less than 16 bytes is well-formed. `V` has 16 bytes.
///
/// # Safety
///
/// As for [`Vector`].
#[inline(always)]
pub unsafe fn is_utf8_short<V: Vector>(text: &[u8]) -> bool {
    debug_assert!(V::LEN == 16 && text.len() < 16);
    let text = padded(text);
    if text & (u128::MAX / 0xFF * 0x80) == 0 {
        return true;
    }
    // SAFETY: the caller's promise; there are 16 bytes to load.
    unsafe {
        let bytes = V::load(text.to_le_bytes().as_ptr());
        // The padding, ASCII as it is, is a fault behind a character that is cut off.
        faults(bytes, bytes.shifted()).is_zero()
    }
}

/// Less than 16 bytes with zeros behind them, the first byte as the number's least significant. It
/// comes from two or three loads that overlap where the length is not a power of two: the bytes of
/// the overlap are the same in each, and `|` leaves them as they are.
#[inline(always)]
fn padded(text: &[u8]) -> u128 {
    let len = text.len();
    if let (Some(head), Some(tail)) = (text.first_chunk(), text.last_chunk()) {
        let (head, tail) = (u64::from_le_bytes(*head), u64::from_le_bytes(*tail));
        u128::from(head) | (u128::from(tail) << (8 * (len - 8)))
    } else if let (Some(head), Some(tail)) = (text.first_chunk(), text.last_chunk()) {
        let (head, tail) = (u32::from_le_bytes(*head), u32::from_le_bytes(*tail));
        u128::from(u64::from(head) | (u64::from(tail) << (8 * (len - 4))))
    } else if len > 0 {
        let byte = |i: usize| u32::from(text[i]) << (8 * i);
        u128::from(byte(0) | byte(len / 2) | byte(len - 1))
    } else {
        0
    }
}
