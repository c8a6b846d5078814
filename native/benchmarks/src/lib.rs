//! What the benchmarks share: the inputs, and what the kernels are compared with.
//!
//! `cargo run --release` prints the ratios that the kernels are held to (`src/main.rs`);
//! `cargo bench` has criterion measure the same things one by one (`benches/kernels.rs`).

pub mod inputs;
pub mod peers;
