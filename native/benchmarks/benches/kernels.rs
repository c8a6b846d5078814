//! The same inputs and candidates as in `src/main.rs`, one by one: `cargo bench -- utf8/avx2/CJK`.
//!
//! The C++ library uses what it thinks best. To hold it to a tier, say so:
//! `SIMDUTF_FORCE_IMPLEMENTATION=haswell cargo bench -- utf8/avx2`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use benchmarks::inputs::{Buffer, PAYLOAD_SIZES, Results, TEXT_SIZES, TEXTS, payload};
use benchmarks::peers;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use websocket_kernels::{Kernels, Tier};

fn tiers() -> impl Iterator<Item = Tier> {
    Tier::ALL.into_iter().filter(|tier| tier.is_supported())
}

fn utf8(criterion: &mut Criterion) {
    for tier in tiers() {
        for text in &TEXTS {
            let mut group =
                criterion.benchmark_group(format!("utf8/{}/{}", tier.name(), text.name));
            for len in TEXT_SIZES {
                let mut text_in_place = Buffer::with_payload(&text.of_len(len, 0));
                let bytes = &text_in_place.all()[..len];
                group.throughput(Throughput::Bytes(len as u64));
                for (name, is_utf8) in peers::validators(tier) {
                    group.bench_with_input(BenchmarkId::new(name, len), bytes, |bencher, bytes| {
                        bencher.iter_custom(|calls| {
                            let started = Instant::now();
                            assert!(is_utf8(bytes, calls));
                            started.elapsed()
                        })
                    });
                }
            }
        }
    }
}

fn mask(criterion: &mut Criterion) {
    const KEY: u32 = 0x37FA213D;
    let mut group = criterion.benchmark_group("mask");
    for len in PAYLOAD_SIZES {
        let mut payload_in_place = Buffer::with_payload(&payload(len));
        let bytes = &payload_in_place.all()[..len];
        let mut results = Results::new(len);
        group.throughput(Throughput::Bytes(len as u64));
        for tier in tiers() {
            let kernels = Kernels::of(tier);
            group.bench_function(BenchmarkId::new(tier.name(), len), |bencher| {
                bencher.iter(|| {
                    let out = black_box(results.take());
                    peers::mask(kernels, black_box(bytes), black_box(KEY), out);
                })
            });
        }
        group.bench_function(BenchmarkId::new("copy", len), |bencher| {
            bencher.iter(|| black_box(results.take()).copy_from_slice(black_box(bytes)))
        });
        group.bench_function(BenchmarkId::new("fastwebsockets", len), |bencher| {
            bencher.iter(|| {
                let out = black_box(results.take());
                fastwebsockets::unmask(out, black_box(KEY.to_be_bytes()));
            })
        });
    }
}

criterion_group! {
    name = kernels;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(500))
        .sample_size(20);
    targets = utf8, mask
}
criterion_main!(kernels);
