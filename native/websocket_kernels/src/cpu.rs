//! Which instruction sets this CPU has, and so which tier is used.

/// A set of instruction sets that the kernels are written for, from the least to the most capable.
///
/// All tiers exist on every architecture, so that one configuration can name them; only those that
/// [`Tier::is_supported`] can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Plain Rust, on every CPU.
    Portable,
    /// AArch64 with Advanced SIMD, which all but a few of them have.
    Neon,
    /// x86-64 with SSE4.2: Nehalem (2008), Bulldozer (2011) and later.
    Sse42,
    /// x86-64 with AVX2: Haswell (2013), Zen (2017) and later.
    Avx2,
    /// x86-64 with AVX-512 F, BW and VBMI, and BMI2: Ice Lake (2019), Zen 4 (2022) and later. The
    /// AVX-512 CPUs before them lack VBMI, and lower their clock for 512-bit vectors: they take AVX2.
    Avx512,
}

impl Tier {
    /// All tiers, the least capable first.
    pub const ALL: [Self; 5] = [
        Self::Portable,
        Self::Neon,
        Self::Sse42,
        Self::Avx2,
        Self::Avx512,
    ];

    /// The tier's name in lower case, as in an Elixir configuration: `portable`, `neon`, `sse42`,
    /// `avx2`, `avx512`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Neon => "neon",
            Self::Sse42 => "sse42",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// The tier of that [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.name() == name)
    }

    /// Whether both the CPU and the operating system support this tier. (A system that does not
    /// save the wide registers when it switches threads does not support them.)
    pub fn is_supported(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "aarch64")]
            Self::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            #[cfg(target_arch = "x86_64")]
            Self::Sse42 => is_x86_feature_detected!("sse4.2"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vbmi")
                    && is_x86_feature_detected!("bmi2")
            }
            #[allow(unreachable_patterns)]
            _ => false,
        }
    }

    /// The most capable tier that is supported.
    pub fn best() -> Self {
        Self::best_up_to(Self::Avx512)
    }

    /// The most capable tier that is supported and is not above `max`. A `max` of another CPU
    /// architecture bounds nothing.
    pub fn best_up_to(max: Self) -> Self {
        let is_bound = match max {
            Self::Portable => true,
            Self::Neon => cfg!(target_arch = "aarch64"),
            Self::Sse42 | Self::Avx2 | Self::Avx512 => cfg!(target_arch = "x86_64"),
        };
        Self::ALL
            .into_iter()
            .filter(|tier| !is_bound || *tier <= max)
            .rfind(|tier| tier.is_supported())
            .expect("the portable tier is always supported")
    }
}
