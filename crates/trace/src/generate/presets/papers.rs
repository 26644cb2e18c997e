//! Look-alikes of the workloads of three publications, one entry each: figures as printed, and the
//! recipe that meets them.

use super::personal::{Personal, PersonalAddresses};
use super::recipe::{Enterprise, Popularity, Preset, Published, Recipe, Server, SmallRuns};

/// Assumed of WAFTL's workloads of real systems.
const ENTERPRISE: &[&str] = &["4 KiB alignment", "the shape of the size distribution", "bursts of 8"];

/// Assumed of WAFTL's synthetic workloads.
const SYNTHETIC: &[&str] = &["4 KiB alignment", "the shape of the size distribution", "Poisson arrivals"];

/// Assumed of the thesis' TPC-C.
const TPCC: &[&str] = &["2 KiB alignment", "the sizes inside a class", "bursts of 8"];

/// Assumed of the thesis' other traces, where their places are not fitted.
const SERVER: &[&str] = &[
    "write share and gap as commonly reported",
    "2 KiB alignment",
    "the sizes inside a class",
    "bursts of 8",
    "half of the large requests go on where the last one ended",
];

/// Assumed of A-SAST's PC.
const PERSONAL_COMPUTER: &[&str] =
    &["a span of 1 GiB", "80 % writes", "the requests of 16-128 KiB come in four streams of ten requests"];

/// Assumed of A-SAST's file tests.
const FILE_TEST: &[&str] =
    &["a span of 1 GiB", "only writes", "four files of 256 MiB, one after another", "records anywhere in the file"];

/// WAFTL's, in the order of table III.
pub(super) const WAFTL: [Preset; 7] = [
    Preset {
        name: "fin1",
        source: "WAFTL, table III",
        description: "OLTP of a financial institution: small, random, strongly skewed.",
        assumed: &["a span of 4 GiB", "popularity as rank^-1.0 over 64 KiB extents"],
        assumed_of_kind: ENTERPRISE,
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
        description: "OLTP of a financial institution, mostly reads.",
        assumed: &["a span of 4 GiB", "popularity as rank^-1.0 over 64 KiB extents"],
        assumed_of_kind: ENTERPRISE,
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
        description: "Mail server: large random writes.",
        assumed: &["a span of 16 GiB", "popularity as rank^-0.8 over 256 KiB extents"],
        assumed_of_kind: ENTERPRISE,
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
        description: "Release server of a development division, almost only writes.",
        assumed: &["a span of 8 GiB", "popularity as rank^-0.8 over 256 KiB extents"],
        assumed_of_kind: ENTERPRISE,
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
        description: "Release server of a development division: the largest requests of the set.",
        assumed: &["a span of 16 GiB", "popularity as rank^-0.7 over 1 MiB extents"],
        assumed_of_kind: ENTERPRISE,
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
        description: "Synthetic: runs of large reads, faster than most devices can serve them.",
        assumed: &["a span of 16 GiB", "popularity as rank^-0.6 over 1 MiB extents"],
        assumed_of_kind: SYNTHETIC,
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
        description: "Synthetic: runs of large writes, faster than most devices can serve them.",
        assumed: &["a span of 16 GiB", "popularity as rank^-0.6 over 1 MiB extents"],
        assumed_of_kind: SYNTHETIC,
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

/// No small request goes on where another one ended.
const INDEPENDENT: SmallRuns = SmallRuns { streams: 1, sequential_share: 0.0 };

/// The thesis', in the order of its tables.
pub(super) const THESIS: [Preset; 10] = [
    Preset {
        name: "tpcc",
        source: "thesis, tables 4.2 (capacity), 5.1 and 6.2",
        description: "TPC-C database: small, random, confined to few places.",
        assumed: &[
            "write share and gap",
            "99.5 % of the requests to 1 % of the data, in 64 KiB extents (fitted to the buffer hits)",
        ],
        assumed_of_kind: TPCC,
        published: Published {
            size_class_percents: Some([99.17, 0.83, 0.00]),
            buffer_hit_percent: Some(99.5),
            ..Published::NOTHING
        },
        places: None,
        recipe: Recipe::Server(Server {
            runs: INDEPENDENT,
            span_gib: 3,
            write_share: 0.35,
            mean_gap_ns: 1_000_000,
            popularity: Popularity::HotCold { hot_data_share: 0.01, hot_request_share: 0.995 },
            small_and_medium: &[(2, 24.7925), (4, 74.3775), (6, 0.166), (8, 0.498), (12, 0.166)],
            large: &[],
        }),
    },
    Preset {
        name: "spc1-cold",
        source: "thesis, tables 4.2 (capacity), 5.1 and 6.2",
        description: "OLTP of a financial institution (the thesis' SPC1 is the UMass Financial \
                      trace, not the benchmark).",
        assumed: &[
            "popularity as rank^-1.1 over 64 KiB extents (fitted to the buffer hits)",
            "45 % of the small requests continue their stream, of 14 streams",
        ],
        assumed_of_kind: SERVER,
        published: Published {
            size_class_percents: Some([86.58, 10.63, 2.79]),
            buffer_hit_percent: Some(70.5),
            ..Published::NOTHING
        },
        places: None,
        recipe: Recipe::Server(Server {
            runs: SmallRuns { streams: 14, sequential_share: 0.45 },
            span_gib: 2,
            write_share: 0.77,
            mean_gap_ns: 8_190_000,
            popularity: Popularity::Zipf { theta: 1.1 },
            small_and_medium: &[(2, 21.645), (4, 64.935), (6, 2.126), (8, 6.378), (12, 2.126)],
            large: &[(16, 1.116), (32, 0.837), (64, 0.837)],
        }),
    },
    Preset {
        name: "hm_0-cold",
        source: "thesis, tables 4.2 (capacity), 5.1 and 6.2",
        description: "MSR Cambridge, hardware monitoring server.",
        assumed: &["popularity as rank^-1.07 over 64 KiB extents (fitted to the buffer hits)"],
        assumed_of_kind: SERVER,
        published: Published {
            size_class_percents: Some([76.70, 13.72, 9.58]),
            buffer_hit_percent: Some(64.1),
            ..Published::NOTHING
        },
        places: None,
        recipe: Recipe::Server(Server {
            runs: INDEPENDENT,
            span_gib: 4,
            write_share: 0.645,
            mean_gap_ns: 151_000_000,
            popularity: Popularity::Zipf { theta: 1.07 },
            small_and_medium: &[(2, 19.175), (4, 57.525), (6, 2.744), (8, 8.232), (12, 2.744)],
            large: &[(16, 3.832), (32, 2.874), (64, 2.874)],
        }),
    },
    Preset {
        name: "mds_0-cold",
        source: "thesis, tables 4.2 (capacity), 5.1 and 6.2",
        description: "MSR Cambridge, media server.",
        assumed: &["popularity as rank^-1.09 over 64 KiB extents (fitted to the buffer hits)"],
        assumed_of_kind: SERVER,
        published: Published {
            size_class_percents: Some([72.35, 19.79, 7.86]),
            buffer_hit_percent: Some(70.3),
            ..Published::NOTHING
        },
        places: None,
        recipe: Recipe::Server(Server {
            runs: INDEPENDENT,
            span_gib: 2,
            write_share: 0.881,
            mean_gap_ns: 499_000_000,
            popularity: Popularity::Zipf { theta: 1.09 },
            small_and_medium: &[(2, 18.0875), (4, 54.2625), (6, 3.958), (8, 11.874), (12, 3.958)],
            large: &[(16, 3.144), (32, 2.358), (64, 2.358)],
        }),
    },
    Preset {
        name: "prn_0-cold",
        source: "thesis, tables 4.2 (capacity), 5.1 and 6.2, section 5.6.2",
        description: "MSR Cambridge, print server: most of its large requests exceed 64 KiB.",
        assumed: &["popularity as rank^-1.19 over 64 KiB extents (fitted to the buffer hits)"],
        assumed_of_kind: SERVER,
        published: Published {
            size_class_percents: Some([79.46, 8.88, 11.66]),
            over_64_kib_write_percent: Some(9.46),
            buffer_hit_percent: Some(77.9),
            ..Published::NOTHING
        },
        places: None,
        recipe: Recipe::Server(Server {
            runs: INDEPENDENT,
            span_gib: 6,
            write_share: 0.892,
            mean_gap_ns: 108_000_000,
            popularity: Popularity::Zipf { theta: 1.19 },
            small_and_medium: &[(2, 19.865), (4, 59.595), (6, 1.776), (8, 5.328), (12, 1.776)],
            large: &[(16, 0.8), (32, 0.6), (64, 0.8), (68, 6.46), (128, 3.0)],
        }),
    },
    Preset {
        name: "prxy_0-cold",
        source: "thesis, tables 4.2 (capacity), 5.1 and 6.2, section 4.6.2",
        description: "MSR Cambridge, web proxy: very small writes to few places.",
        assumed: &["popularity as rank^-1.37 over 64 KiB extents (fitted to the buffer hits)"],
        assumed_of_kind: SERVER,
        published: Published {
            size_class_percents: Some([87.91, 6.82, 5.27]),
            one_page_write_percent: Some(77.8),
            buffer_hit_percent: Some(92.6),
            ..Published::NOTHING
        },
        places: None,
        recipe: Recipe::Server(Server {
            runs: INDEPENDENT,
            span_gib: 4,
            write_share: 0.969,
            mean_gap_ns: 48_300_000,
            popularity: Popularity::Zipf { theta: 1.37 },
            small_and_medium: &[(2, 77.8), (4, 10.11), (6, 1.364), (8, 4.092), (12, 1.364)],
            large: &[(16, 2.108), (32, 1.581), (64, 1.581)],
        }),
    },
    Preset {
        name: "rsrch_0-cold",
        source: "thesis, tables 4.2 (capacity), 5.1 and 6.2",
        description: "MSR Cambridge, research projects server.",
        assumed: &["popularity as rank^-1.04 over 64 KiB extents (fitted to the buffer hits)"],
        assumed_of_kind: SERVER,
        published: Published {
            size_class_percents: Some([68.22, 25.04, 6.74]),
            buffer_hit_percent: Some(63.3),
            ..Published::NOTHING
        },
        places: None,
        recipe: Recipe::Server(Server {
            runs: INDEPENDENT,
            span_gib: 2,
            write_share: 0.907,
            mean_gap_ns: 422_000_000,
            popularity: Popularity::Zipf { theta: 1.04 },
            small_and_medium: &[(2, 17.055), (4, 51.165), (6, 5.008), (8, 15.024), (12, 5.008)],
            large: &[(16, 2.696), (32, 2.022), (64, 2.022)],
        }),
    },
    Preset {
        name: "stg_0-cold",
        source: "thesis, tables 4.2 (capacity), 5.1 and 6.2",
        description: "MSR Cambridge, web staging server.",
        assumed: &["popularity as rank^-1.08 over 64 KiB extents (fitted to the buffer hits)"],
        assumed_of_kind: SERVER,
        published: Published {
            size_class_percents: Some([72.33, 18.62, 9.05]),
            buffer_hit_percent: Some(64.8),
            ..Published::NOTHING
        },
        places: None,
        recipe: Recipe::Server(Server {
            runs: INDEPENDENT,
            span_gib: 4,
            write_share: 0.848,
            mean_gap_ns: 298_000_000,
            popularity: Popularity::Zipf { theta: 1.08 },
            small_and_medium: &[(2, 18.0825), (4, 54.2475), (6, 3.724), (8, 11.172), (12, 3.724)],
            large: &[(16, 3.62), (32, 2.715), (64, 2.715)],
        }),
    },
    Preset {
        name: "ts_0-cold",
        source: "thesis, tables 4.2 (capacity), 5.1 and 6.2",
        description: "MSR Cambridge, terminal server.",
        assumed: &["popularity as rank^-1.08 over 64 KiB extents (fitted to the buffer hits)"],
        assumed_of_kind: SERVER,
        published: Published {
            size_class_percents: Some([67.81, 25.87, 6.32]),
            buffer_hit_percent: Some(68.2),
            ..Published::NOTHING
        },
        places: None,
        recipe: Recipe::Server(Server {
            runs: INDEPENDENT,
            span_gib: 2,
            write_share: 0.824,
            mean_gap_ns: 336_000_000,
            popularity: Popularity::Zipf { theta: 1.08 },
            small_and_medium: &[(2, 16.9525), (4, 50.8575), (6, 5.174), (8, 15.522), (12, 5.174)],
            large: &[(16, 2.528), (32, 1.896), (64, 1.896)],
        }),
    },
    Preset {
        name: "web_0-cold",
        source: "thesis, tables 4.2 (capacity), 5.1 and 6.2",
        description: "MSR Cambridge, web server.",
        assumed: &["popularity as rank^-1.14 over 64 KiB extents (fitted to the buffer hits)"],
        assumed_of_kind: SERVER,
        published: Published {
            size_class_percents: Some([67.50, 23.85, 8.65]),
            buffer_hit_percent: Some(75.3),
            ..Published::NOTHING
        },
        places: None,
        recipe: Recipe::Server(Server {
            runs: INDEPENDENT,
            span_gib: 2,
            write_share: 0.701,
            mean_gap_ns: 298_000_000,
            popularity: Popularity::Zipf { theta: 1.14 },
            small_and_medium: &[(2, 16.875), (4, 50.625), (6, 4.77), (8, 14.31), (12, 4.77)],
            large: &[(16, 3.46), (32, 2.595), (64, 2.595)],
        }),
    },
];

/// A-SAST's, in the order of section IV.
pub(super) const A_SAST: [Preset; 3] = [
    Preset {
        name: "pctrace",
        source: "A-SAST, IV (PCtrace)",
        description: "Windows PC with a word processor, moving pictures, web browsing and games; \
                      random and irregular.",
        assumed: &[
            "85 % small requests (1-8 KiB)",
            "90 % of them to a tenth of the data, in places of 1 MiB",
            "a place moves every 500 small requests",
        ],
        assumed_of_kind: PERSONAL_COMPUTER,
        published: Published::NOTHING,
        places: None,
        recipe: Recipe::Personal(Personal {
            write_share: 0.8,
            small_percent: 85.0,
            small_kib: &[(1, 1.0), (2, 2.0), (4, 4.0), (8, 1.0)],
            large_kib: &[(16, 1.0), (32, 1.0), (64, 2.0), (128, 1.0)],
            places: PersonalAddresses::Drifting { hot: (0.1, 0.9), streams: 4, sequential_share: 0.9 },
        }),
    },
    Preset {
        name: "iozone-4",
        source: "A-SAST, IV (Iozone-4)",
        description: "Iozone with write requests of 1-4 KB, a random pattern.",
        assumed: &["records of 1, 2 and 4 KiB at multiples of their size", "the next file after 100 000 requests"],
        assumed_of_kind: FILE_TEST,
        published: Published { write_range_kib: Some([1, 4]), ..Published::NOTHING },
        places: None,
        recipe: Recipe::Personal(Personal {
            write_share: 1.0,
            small_percent: 100.0,
            small_kib: &[(1, 1.0), (2, 1.0), (4, 1.0)],
            large_kib: &[],
            places: PersonalAddresses::Files { requests: 100_000 },
        }),
    },
    Preset {
        name: "iozone-80",
        source: "A-SAST, IV (Iozone-80)",
        description: "Iozone with write requests of 2-80 KB, both random and sequential.",
        assumed: &[
            "half records of 2, 4 and 8 KiB at multiples of their size",
            "half of 16-80 KiB from the file's start to its end and again",
            "the next file after 50 000 requests",
        ],
        assumed_of_kind: FILE_TEST,
        published: Published { write_range_kib: Some([2, 80]), ..Published::NOTHING },
        places: None,
        recipe: Recipe::Personal(Personal {
            write_share: 1.0,
            small_percent: 50.0,
            small_kib: &[(2, 1.0), (4, 1.0), (8, 1.0)],
            large_kib: &[(16, 1.0), (32, 1.0), (64, 1.0), (80, 1.0)],
            places: PersonalAddresses::Files { requests: 50_000 },
        }),
    },
];
