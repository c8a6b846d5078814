//! Texts and payloads, and where in memory they lie.

use std::iter;

/// Lengths of messages in bytes, from one cache line to more than a cache.
pub const TEXT_SIZES: [usize; 13] = [
    64,
    125,
    256,
    511,
    512,
    1 << 10,
    4 << 10,
    16 << 10,
    64 << 10,
    256 << 10,
    1 << 20,
    4 << 20,
    16 << 20,
];

/// Lengths of payloads to mask, in bytes.
pub const PAYLOAD_SIZES: [usize; 15] = [
    16,
    32,
    64,
    65,
    125,
    256,
    512,
    1 << 10,
    4 << 10,
    16 << 10,
    64 << 10,
    256 << 10,
    1 << 20,
    4 << 20,
    16 << 20,
];

/// A kind of text: what it is made of, in no particular order.
pub struct Text {
    /// As it is called in the tables.
    pub name: &'static str,
    phrases: &'static [&'static str],
}

/// One of each kind, from one byte a character to four.
pub const TEXTS: [Text; 6] = [
    Text {
        name: "ASCII",
        phrases: &[
            "the parcel left the harbour at noon, ",
            "and nobody had asked for a receipt. ",
            "\"Is that so?\" she wrote back. ",
            "Three of the 48 boxes were empty; ",
            "see https://example.com/orders/20931 for the rest. ",
            "Rain again - ",
        ],
    },
    Text {
        name: "JSON",
        phrases: &[
            "{\"id\":48213,\"from\":\"Zoë\",\"room\":\"lobby\",\"text\":\"is anybody here?\",\"seen\":false},",
            "{\"id\":48214,\"from\":\"Jürgen Groß\",\"room\":\"lobby\",\"text\":\"me, since 10:45\",\"seen\":true},",
            "{\"id\":48215,\"from\":\"ada\",\"room\":\"lobby\",\"text\":\"12 € for the two of us…\",\"seen\":true},",
            "{\"event\":\"phx_reply\",\"payload\":{\"response\":{},\"status\":\"ok\"},\"ref\":\"17\",\"topic\":\"room:1\"},",
            "{\"event\":\"cursor\",\"x\":1021.5,\"y\":-3.25,\"by\":\"Łukasz\",\"colour\":\"#20c0ff\",\"pressed\":[]},",
            "{\"event\":\"typing\",\"payload\":{\"user_id\":99120,\"since\":\"2024-05-17T08:30:00Z\"},\"ref\":null},",
        ],
    },
    Text {
        name: "Latin",
        phrases: &[
            "Où est passée la clé de l'été dernier ? ",
            "Über den Dächern hört man spät die Glocken läuten. ",
            "El niño soñó con un pingüino y una cigüeña. ",
            "Não há razão para tanta pressa, disse o capitão. ",
            "Blåbærgrød på en øde ø smager også godt. ",
            "Źle śpię, gdy ktoś gra głośno na skrzypcach. ",
        ],
    },
    Text {
        name: "Cyrillic",
        phrases: &[
            "Поезд уходит в семь часов утра. ",
            "На столе лежала старая карта города, ",
            "Никто не знал, чей это зонт; ",
            "Вчера весь день шёл снег. ",
            "Завтра мы поедем к морю, если не будет дождя. ",
            "Кот спит на окне. ",
        ],
    },
    Text {
        name: "CJK",
        phrases: &[
            "今天早上下了一场大雨，",
            "图书馆门口没有人。",
            "桜の花が風に舞っていた。",
            "電車は七時に出発します、",
            "오늘은 바람이 많이 분다. ",
            "三只猫在屋顶上睡觉，谁也没有看见它们。",
        ],
    },
    Text {
        name: "emoji",
        phrases: &[
            "😀🚲🌧🍜",
            "🐈🏔🎻🎈🥝🦔",
            "🙂",
            "🌍🌒🪐🚀🛰🔭",
            "🍞🧀🍇 ",
            "🎲🎯🧩🪁",
        ],
    },
];

impl Text {
    /// A text of this kind, `len` bytes long, that begins within a phrase. There is another one for
    /// each `number`.
    pub fn of_len(&self, len: usize, number: u64) -> Vec<u8> {
        let mut random = Random::new(number);
        let mut text = Vec::with_capacity(len);
        let mut phrase = self.phrases[random.below(self.phrases.len())];
        let start = random.below(phrase.len());
        phrase = &phrase[phrase.ceil_char_boundary(start)..];
        loop {
            for character in phrase.split_inclusive(|_| true) {
                if text.len() + character.len() > len {
                    text.resize(len, b'.');
                    return text;
                }
                text.extend(character.as_bytes());
            }
            phrase = self.phrases[random.below(self.phrases.len())];
        }
    }
}

/// `len` bytes that have no pattern.
pub fn payload(len: usize) -> Vec<u8> {
    let mut random = Random::new(0);
    (0..len).map(|_| random.below(256) as u8).collect()
}

/// Steele, Lea and Flood's SplitMix: other numbers for each seed, and the same every time.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xD1342543DE82EF95))
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E3779B97F4A7C15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58476D1CE4E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D049BB133111EB);
        ((mixed ^ (mixed >> 31)) >> 32) as usize % bound
    }
}

/// A buffer in which places can be had at a certain distance from the start of a cache line.
pub struct Buffer {
    bytes: Vec<u8>,
    start: usize,
}

impl Buffer {
    /// A buffer with `len` bytes behind the start of a cache line.
    pub fn new(len: usize) -> Self {
        // Not zeros, for which the system would not provide memory before they are written to.
        let bytes = vec![1; len + 64];
        let start = bytes.as_ptr().align_offset(64);
        Self { bytes, start }
    }

    /// `bytes` where Bandit has a payload of that length: behind the header of its frame, which
    /// begins where a binary begins.
    pub fn with_payload(bytes: &[u8]) -> Self {
        Self::with_payloads(iter::once(bytes.to_vec()), bytes.len()).0
    }

    /// Payloads of `len` bytes, one behind the other, and each where Bandit has it; with the distance
    /// from one to the next.
    pub fn with_payloads(
        payloads: impl ExactSizeIterator<Item = Vec<u8>>,
        len: usize,
    ) -> (Self, usize) {
        let header = header_len(len);
        let distance = (header + len).next_multiple_of(64);
        let mut buffer = Self::new(header + payloads.len() * distance);
        buffer.start += header;
        let places = buffer.all().chunks_mut(distance);
        places
            .zip(payloads)
            .for_each(|(place, payload)| place[..len].copy_from_slice(&payload));
        (buffer, distance)
    }

    /// The bytes from the start on.
    #[inline(always)]
    pub fn all(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..]
    }
}

/// The length of a masked frame's header (RFC 6455 section 5.2), by that of its payload.
fn header_len(payload: usize) -> usize {
    match payload {
        ..126 => 6,
        126..65_536 => 8,
        65_536.. => 14,
    }
}

/// Where results lie that a VM has made: at any multiple of eight bytes. One after another they are
/// taken from these, so that no measurement depends on how one of them meets the cache lines.
pub struct Results {
    buffer: Buffer,
    len: usize,
    distance: usize,
    /// Where the latest one begins.
    at: usize,
}

impl Results {
    const PLACES: usize = 8;

    /// Places for results of `len` bytes.
    pub fn new(len: usize) -> Self {
        // Short ones don't share bytes: a program does not mask what it has only just written.
        // Long ones are spread over a page: CPUs that compare no more than the lower twelve bits of
        // addresses at first take a load for a part of an earlier store to the same place of
        // another page.
        let distance = if len <= 2048 {
            len.next_multiple_of(64) + 72
        } else {
            4096 / Self::PLACES + 8
        };
        Self {
            buffer: Buffer::new((Self::PLACES - 1) * distance + len),
            len,
            distance,
            at: 0,
        }
    }

    /// The next place.
    #[inline(always)]
    pub fn take(&mut self) -> &mut [u8] {
        self.at += self.distance;
        if self.at == Self::PLACES * self.distance {
            self.at = 0;
        }
        let (at, len) = (self.at, self.len);
        &mut self.buffer.all()[at..at + len]
    }
}
