//! Prints the ratios that the kernels are held to: validation against the fastest validator that
//! needs no more than the same instruction sets, masking against fastwebsockets and against a copy.
//!
//! `cargo run --release` for all of them. Behind `--`, `validation` or `masking`, names of tiers and of
//! texts, and lengths in bytes select: `cargo run --release -- validation avx2 JSON 1024 4096`.
//!
//! A sample is a tenth of a millisecond of calls, or one. The candidates take turns sample by
//! sample, so that whatever else the machine does meets all of them, and it is the medians that
//! are compared. The last column is the ratio of the minimums, to compare: where it is another,
//! the machine was not quiet enough.

use std::env;
use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use benchmarks::inputs::{Buffer, PAYLOAD_SIZES, Results, TEXT_SIZES, TEXTS, Text, payload};
use benchmarks::peers::{self, SIMDUTF_VARIABLE, simdutf_implementation};
use websocket_kernels::{Kernels, Tier};

const ROUNDS: usize = 41;
const SAMPLE: Duration = Duration::from_micros(100);
/// What a row may take. The largest texts get fewer rounds for it, but [`MIN_ROUNDS`] at least.
const ROW: Duration = Duration::from_millis(400);
const MIN_ROUNDS: usize = 15;

/// How many bytes of texts there are to be validated in turn.
const NEW_TEXTS: usize = 8 << 20;

const IN_PROCESS_OF_ITS_OWN: &str = "--in-process-of-its-own";

const PARTS: [&str; 2] = ["validation", "masking"];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [flag, tier, ..] = &arguments[..]
        && flag == IN_PROCESS_OF_ITS_OWN
    {
        validation(Tier::from_name(tier).expect("a tier's name"));
        return ExitCode::SUCCESS;
    }
    if let Some(unknown) = arguments.iter().find(|it| !is_name(it)) {
        eprintln!("{unknown}: no part, tier or text of this benchmark, and no length");
        return ExitCode::FAILURE;
    }

    println!("{}", machine());
    let mut tables = 0;
    let tiers = || {
        let names = Tier::ALL.map(Tier::name);
        Tier::ALL
            .into_iter()
            .filter(move |tier| is_wanted(tier.name(), names))
    };
    if is_wanted("validation", PARTS) {
        for tier in tiers().filter(|tier| *tier != Tier::Portable) {
            println!("\n## UTF-8, {} tier\n", tier.name());
            tables += 1;
            if !tier.is_supported() {
                println!("not on this CPU");
            } else if !validation_in_process_of_its_own(tier, &arguments) {
                return ExitCode::FAILURE;
            }
        }
    }
    if is_wanted("masking", PARTS) {
        for tier in tiers() {
            println!("\n## Masking, {} tier\n", tier.name());
            tables += 1;
            if tier.is_supported() {
                masking(tier);
            } else {
                println!("not on this CPU");
            }
        }
    }
    if tables == 0 {
        eprintln!("nothing is both: {}", arguments.join(", "));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Whether an argument selects anything.
fn is_name(argument: &str) -> bool {
    PARTS.contains(&argument)
        || Tier::from_name(argument).is_some()
        || TEXTS.iter().any(|text| text.name == argument)
        || sizes().any(|len| len.to_string() == argument)
}

/// The lengths of both parts.
fn sizes() -> impl Iterator<Item = usize> {
    TEXT_SIZES.into_iter().chain(PAYLOAD_SIZES)
}

/// Whether `name` is one of the arguments, or no other of its kind is.
fn is_wanted(name: impl ToString, kind: impl IntoIterator<Item = impl ToString>) -> bool {
    let is_argument = |name: String| env::args().skip(1).any(|argument| argument == name);
    is_argument(name.to_string()) || !kind.into_iter().any(|other| is_argument(other.to_string()))
}

/// The C++ library chooses its implementation once.
fn validation_in_process_of_its_own(tier: Tier, arguments: &[String]) -> bool {
    Command::new(env::current_exe().expect("this program's path"))
        .args([IN_PROCESS_OF_ITS_OWN, tier.name()])
        .args(arguments)
        .env(SIMDUTF_VARIABLE, simdutf_implementation(tier))
        .status()
        .is_ok_and(|status| status.success())
}

/// What the ratio of validation is held to.
fn validation_target(tier: Tier, text: &str, len: usize) -> Option<f64> {
    let is_ascii = text == "ASCII";
    match tier {
        Tier::Avx512 if !is_ascii && (4 << 10..=1 << 20).contains(&len) => Some(1.40),
        // Both are at the memory's speed.
        Tier::Avx512 if len >= 4 << 20 => Some(1.00),
        Tier::Avx512 => Some(1.10),
        Tier::Avx2 if is_ascii => Some(1.00),
        Tier::Avx2 if len < 512 => Some(1.50),
        Tier::Avx2 => Some(1.25),
        Tier::Sse42 if len <= 1 << 20 => Some(1.00),
        _ => None,
    }
}

/// A table of one tier's validation: GB/s of each validator, and how many times that of the
/// fastest other one ours is.
fn validation(tier: Tier) {
    let validators = peers::validators(tier);
    print!("| {:<9} | {:>8} |", "text", "bytes");
    for (name, _) in &validators {
        print!(" {name:>8} |");
    }
    println!(" ratio | target |      | minimums |");
    println!(
        "|---|--:|{}--:|--:|---|--:|",
        "--:|".repeat(validators.len())
    );

    let mut tally = Tally::default();
    let mut row = |name: &str, text: &Text, len: usize, times: Vec<Time>| {
        print!("| {name:<9} | {len:>8} |");
        for time in &times {
            print!(" {:>8.1} |", len as f64 / time.median);
        }
        let fastest = |of: fn(&Time) -> f64| times[1..].iter().map(of).fold(f64::MAX, f64::min);
        tally.row(
            fastest(|time| time.median) / times[0].median,
            fastest(|time| time.minimum) / times[0].minimum,
            validation_target(tier, text.name, len).map(Target::AtLeast),
        );
    };
    let names = TEXTS.iter().map(|text| text.name);
    let texts = TEXTS
        .iter()
        .filter(|text| is_wanted(text.name, names.clone()));
    let lens = TEXT_SIZES.into_iter().filter(|len| is_wanted(len, sizes()));
    for text in texts.clone() {
        for len in lens.clone() {
            let mut text_in_place = Buffer::with_payload(&text.of_len(len, 0));
            let bytes = &text_in_place.all()[..len];
            let candidates = validators.iter().map(|(_, is_utf8)| {
                Box::new(move |calls| assert!(is_utf8(bytes, calls))) as Candidate
            });
            row(text.name, text, len, measure(candidates.collect()));
        }
    }
    // What is ASCII in a text that it got a few times, a CPU knows by heart. A server gets no text twice.
    for text in texts.filter(|text| text.name == "JSON") {
        for len in lens.clone().filter(|len| *len <= 64 << 10) {
            let count = NEW_TEXTS / len;
            let texts = (0..count).map(|number| text.of_len(len, number as u64));
            let (mut in_place, distance) = Buffer::with_payloads(texts, len);
            let all = &*in_place.all();
            // They begin at different texts. In the end, each goes through all of them.
            let candidates = validators.iter().enumerate().map(|(i, (_, is_utf8))| {
                let mut number = i * count / validators.len();
                repeated(move || {
                    number = if number + 1 == count { 0 } else { number + 1 };
                    assert!(is_utf8(&all[number * distance..][..len], 1));
                })
            });
            row("JSON, new", text, len, measure(candidates.collect()));
        }
    }
    tally.print();
}

/// A table of one tier's masking: GB/s, our throughput as a multiple of that of fastwebsockets, and
/// our time as a multiple of a copy's.
fn masking(tier: Tier) {
    const KEY: u32 = 0x37FA213D;
    let kernels = Kernels::of(tier);
    println!(
        "| against             |    bytes |   ours |  other | ratio | target |      | minimums |"
    );
    println!("|---|--:|--:|--:|--:|--:|---|--:|");
    let mut tally = Tally::default();
    let is_best = tier == Tier::best();
    let is_wanted = |len: &usize| is_wanted(len, sizes());
    for len in PAYLOAD_SIZES.into_iter().filter(is_wanted) {
        let mut payload_in_place = Buffer::with_payload(&payload(len));
        let bytes = &payload_in_place.all()[..len];
        let [mut to_mask, mut to_copy, mut to_unmask] = [len; 3].map(Results::new);
        let times = measure(vec![
            repeated(|| {
                let out = black_box(to_mask.take());
                peers::mask(kernels, black_box(bytes), black_box(KEY), out);
            }),
            repeated(|| black_box(to_copy.take()).copy_from_slice(black_box(bytes))),
            repeated(|| {
                let out = black_box(to_unmask.take());
                fastwebsockets::unmask(out, black_box(KEY.to_be_bytes()));
            }),
        ]);
        let [ours, copy, unmask] = &times[..] else {
            unreachable!()
        };
        // The system's copy takes the widest vectors that the CPU has: only the best tier is
        // held to it.
        let rows = [
            (
                "fastwebsockets",
                unmask,
                unmask.median / ours.median,
                unmask.minimum / ours.minimum,
                (tier != Tier::Portable && len <= 64 << 10).then_some(Target::AtLeast(1.00)),
            ),
            (
                "copy (ratio of time)",
                copy,
                ours.median / copy.median,
                ours.minimum / copy.minimum,
                is_best.then_some(Target::AtMost(1.05)),
            ),
        ];
        for (name, other, of_medians, of_minimums, target) in rows {
            print!(
                "| {name:<20} | {len:>8} | {:>6.1} | {:>6.1} |",
                len as f64 / ours.median,
                len as f64 / other.median
            );
            tally.row(of_medians, of_minimums, target);
        }
    }
    tally.print();
}

/// What a ratio is held to.
#[derive(Clone, Copy)]
enum Target {
    AtLeast(f64),
    AtMost(f64),
}

/// How many rows there are, and how many miss their target.
#[derive(Default)]
struct Tally {
    held: usize,
    missed: usize,
}

impl Tally {
    /// Prints a row's last columns.
    fn row(&mut self, ratio: f64, of_minimums: f64, target: Option<Target>) {
        let (target, is_met) = match target {
            Some(Target::AtLeast(target)) => (format!("≥ {target:.2}"), Some(ratio >= target)),
            Some(Target::AtMost(target)) => (format!("≤ {target:.2}"), Some(ratio <= target)),
            None => (String::from("-"), None),
        };
        let verdict = match is_met {
            Some(true) => "pass",
            Some(false) => "MISS",
            None => "-",
        };
        self.held += usize::from(is_met.is_some());
        self.missed += usize::from(is_met == Some(false));
        println!(" {ratio:>5.2} | {target} | {verdict:<4} | {of_minimums:>8.2} |");
    }

    fn print(&self) {
        println!("\n{} of {} targets met", self.held - self.missed, self.held);
    }
}

/// Nanoseconds per call.
struct Time {
    median: f64,
    minimum: f64,
}

/// Makes as many calls as told.
type Candidate<'a> = Box<dyn FnMut(u64) + 'a>;

fn repeated<'a>(mut call: impl FnMut() + 'a) -> Candidate<'a> {
    Box::new(move |calls| (0..calls).for_each(|_| call()))
}

/// Measures all candidates, sample by sample in turn.
fn measure(mut candidates: Vec<Candidate>) -> Vec<Time> {
    let calls: Vec<u64> = candidates
        .iter_mut()
        .map(|it| calls_per_sample(it))
        .collect();
    let mut samples = vec![Vec::with_capacity(ROUNDS); candidates.len()];
    let started = Instant::now();
    for round in 0..ROUNDS {
        if round >= MIN_ROUNDS && started.elapsed() > ROW {
            break;
        }
        for (i, candidate) in candidates.iter_mut().enumerate() {
            let time = time_of(candidate, calls[i]);
            samples[i].push(time.as_nanos() as f64 / calls[i] as f64);
        }
    }
    samples
        .into_iter()
        .map(|mut samples| {
            samples.sort_by(f64::total_cmp);
            Time {
                median: samples[samples.len() / 2],
                minimum: samples[0],
            }
        })
        .collect()
}

/// How many calls take about as long as a sample. Makes as many: the caches and the branch
/// predictor have then seen the input.
fn calls_per_sample(candidate: &mut Candidate) -> u64 {
    let mut calls = 1;
    while time_of(candidate, calls) < SAMPLE {
        calls *= 2;
    }
    calls
}

fn time_of(candidate: &mut Candidate, calls: u64) -> Duration {
    let started = Instant::now();
    candidate(calls);
    started.elapsed()
}

/// The CPU, the tiers, and the versions of what is compared.
fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu_field = |name: &str| {
        cpu.lines()
            .find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(": "))
            .unwrap_or("unknown")
    };
    let tiers = Tier::ALL.map(|tier| {
        let no = if tier.is_supported() { "" } else { "no " };
        format!("{no}{}", tier.name())
    });
    // What this crate was locked to.
    let lock = include_str!("../Cargo.lock");
    let versions = ["websocket_kernels", "fastwebsockets", "simdutf", "simdutf8"].map(|name| {
        let entry = format!("name = \"{name}\"\nversion = \"");
        let version = lock
            .split(&entry)
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        format!("{name} {}", version.unwrap_or("unknown"))
    });
    format!(
        "CPU: {} (family {}, model {})\ntiers: {}\nversions: {}",
        cpu_field("model name"),
        cpu_field("cpu family"),
        cpu_field("model"),
        tiers.join(", "),
        versions.join(", "),
    )
}
