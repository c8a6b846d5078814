//! UTF-8 validation, one file per tier. `lookup.rs` is the algorithm that the vector tiers share.

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod lookup;
#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod model;
#[cfg(target_arch = "aarch64")]
pub mod neon;
pub mod portable;
#[cfg(target_arch = "x86_64")]
pub mod sse42;

/// Whether the text is well-formed UTF-8 (Unicode 15, Table 3-7).
///
/// # Safety
///
/// The CPU has the instruction sets of the kernel's tier.
pub type Kernel = unsafe fn(text: &[u8]) -> bool;
