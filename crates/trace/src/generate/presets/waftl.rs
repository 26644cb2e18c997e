//! Look-alikes of WAFTL's table III, one entry each: figures as printed, and the recipe that meets
//! them.

use super::recipe::{Enterprise, Preset, Published, Recipe};

/// In the order of the table.
pub(super) const PRESETS: [Preset; 7] = [
    Preset {
        name: "fin1",
        source: "WAFTL, table III",
        description: "OLTP of a financial institution: small, random, strongly skewed. Assumed: a span of 4 GiB, popularity as \
            rank^-1.0 over 64 KiB extents, 4 KiB alignment, the shape of the size distribution, bursts of 8.",
        published: Published {
            mean_request_kib: Some(8.29),
            write_percent: Some(35.0),
            sequential_percent: Some(0.6),
            mean_gap_ms: Some(8.189),
            ..Published::NOTHING
        },
        places: None,
        recipe: Recipe::Enterprise(Enterprise {
            span_gib: 4,
            write_share: 0.35,
            sequential_share: 0.0053,
            mean_gap_ns: 8_189_000,
            burst: 8.0,
            theta: 1.0,
            extent_kib: 64,
            sizes: &[(4, 0.623), (8, 0.20), (12, 0.05), (16, 0.07), (32, 0.037), (64, 0.02)],
        }),
    },
    Preset {
        name: "fin2",
        source: "WAFTL, table III",
        description: "OLTP of a financial institution, mostly reads. Assumed: a span of 4 GiB, popularity as rank^-1.0 over 64 \
            KiB extents, 4 KiB alignment, the shape of the size distribution, bursts of 8.",
        published: Published {
            mean_request_kib: Some(7.78),
            write_percent: Some(17.0),
            sequential_percent: Some(0.7),
            mean_gap_ms: Some(11.081),
            ..Published::NOTHING
        },
        places: None,
        recipe: Recipe::Enterprise(Enterprise {
            span_gib: 4,
            write_share: 0.17,
            sequential_share: 0.0063,
            mean_gap_ns: 11_081_000,
            burst: 8.0,
            theta: 1.0,
            extent_kib: 64,
            sizes: &[(4, 0.6635), (8, 0.18), (12, 0.05), (16, 0.06), (32, 0.0265), (64, 0.02)],
        }),
    },
    Preset {
        name: "exchange",
        source: "WAFTL, table III",
        description: "Mail server: large random writes. Assumed: a span of 16 GiB, popularity as rank^-0.8 over 256 KiB \
            extents, 4 KiB alignment, the shape of the size distribution, bursts of 8.",
        published: Published {
            mean_request_kib: Some(54.60),
            write_percent: Some(74.0),
            sequential_percent: Some(0.5),
            mean_gap_ms: Some(1.315),
            ..Published::NOTHING
        },
        places: None,
        recipe: Recipe::Enterprise(Enterprise {
            span_gib: 16,
            write_share: 0.74,
            sequential_share: 0.005,
            mean_gap_ns: 1_315_000,
            burst: 8.0,
            theta: 0.8,
            extent_kib: 256,
            sizes: &[(8, 0.26), (16, 0.12), (32, 0.20), (64, 0.23), (128, 0.15), (256, 0.04)],
        }),
    },
    Preset {
        name: "devdiv91",
        source: "WAFTL, table III",
        description: "Release server of a development division, almost only writes. Assumed: a span of 8 GiB, popularity as \
            rank^-0.8 over 256 KiB extents, 4 KiB alignment, the shape of the size distribution, bursts of 8.",
        published: Published {
            mean_request_kib: Some(36.17),
            write_percent: Some(91.0),
            sequential_percent: Some(0.9),
            mean_gap_ms: Some(2.044),
            ..Published::NOTHING
        },
        places: None,
        recipe: Recipe::Enterprise(Enterprise {
            span_gib: 8,
            write_share: 0.91,
            sequential_share: 0.009,
            mean_gap_ns: 2_044_000,
            burst: 8.0,
            theta: 0.8,
            extent_kib: 256,
            sizes: &[(4, 0.165), (8, 0.18), (16, 0.15), (32, 0.16), (64, 0.275), (128, 0.07)],
        }),
    },
    Preset {
        name: "devdiv",
        source: "WAFTL, table III",
        description: "Release server of a development division: the largest requests of the set. Assumed: a span of 16 GiB, \
            popularity as rank^-0.7 over 1 MiB extents, 4 KiB alignment, the shape of the size distribution, bursts \
            of 8.",
        published: Published {
            mean_request_kib: Some(88.98),
            write_percent: Some(72.0),
            sequential_percent: Some(1.5),
            mean_gap_ms: Some(2.689),
            ..Published::NOTHING
        },
        places: None,
        recipe: Recipe::Enterprise(Enterprise {
            span_gib: 16,
            write_share: 0.72,
            sequential_share: 0.015,
            mean_gap_ns: 2_689_000,
            burst: 8.0,
            theta: 0.7,
            extent_kib: 1024,
            sizes: &[(4, 0.085), (8, 0.095), (16, 0.10), (32, 0.10), (64, 0.24), (128, 0.23), (256, 0.15)],
        }),
    },
    Preset {
        name: "seq_read",
        source: "WAFTL, table III",
        description: "Synthetic: runs of large reads, faster than most devices can serve them. Assumed: a span of 16 GiB, \
            popularity as rank^-0.6 over 1 MiB extents, 4 KiB alignment, the shape of the size distribution, Poisson \
            arrivals.",
        published: Published {
            mean_request_kib: Some(67.68),
            write_percent: Some(19.0),
            sequential_percent: Some(60.0),
            mean_gap_ms: Some(0.0499),
            ..Published::NOTHING
        },
        places: None,
        recipe: Recipe::Enterprise(Enterprise {
            span_gib: 16,
            write_share: 0.19,
            sequential_share: 0.6,
            mean_gap_ns: 49_900,
            burst: 1.0,
            theta: 0.6,
            extent_kib: 1024,
            sizes: &[(32, 0.24), (64, 0.54), (96, 0.08), (128, 0.14)],
        }),
    },
    Preset {
        name: "seq_write",
        source: "WAFTL, table III",
        description: "Synthetic: runs of large writes, faster than most devices can serve them. Assumed: a span of 16 GiB, \
            popularity as rank^-0.6 over 1 MiB extents, 4 KiB alignment, the shape of the size distribution, Poisson \
            arrivals.",
        published: Published {
            mean_request_kib: Some(67.55),
            write_percent: Some(80.0),
            sequential_percent: Some(70.0),
            mean_gap_ms: Some(0.0497),
            ..Published::NOTHING
        },
        places: None,
        recipe: Recipe::Enterprise(Enterprise {
            span_gib: 16,
            write_share: 0.8,
            sequential_share: 0.7,
            mean_gap_ns: 49_700,
            burst: 1.0,
            theta: 0.6,
            extent_kib: 1024,
            sizes: &[(32, 0.245), (64, 0.54), (96, 0.075), (128, 0.14)],
        }),
    },
];
