//! Look-alikes of the traces in the thesis' tables, one entry each: figures as printed, and the
//! recipe that meets them.

use super::recipe::{Popularity, Preset, Published, Recipe, Server, SmallRuns};

/// No small request goes on where another one ended.
const INDEPENDENT: SmallRuns = SmallRuns { streams: 1, sequential_share: 0.0 };

/// In the order of the tables.
pub(super) const PRESETS: [Preset; 10] = [
    Preset {
        name: "tpcc",
        source: "thesis, tables 4.2 (capacity), 5.1 and 6.2",
        description: "TPC-C database: small, random, confined to few places. Assumed: write share and gap, 99.5 % of the \
            requests to 1 % of the data, in 64 KiB extents (fitted to the buffer hits), 2 KiB alignment, the sizes \
            inside a class, bursts of 8.",
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
        description: "OLTP of a financial institution (the thesis' SPC1 is the UMass Financial trace, not the benchmark). \
            Assumed: write share and gap as commonly reported for the trace, popularity as rank^-1.1 over 64 KiB \
            extents (fitted to the buffer hits), 2 KiB alignment, the sizes inside a class, bursts of 8, half of the \
            large requests going on where the last one ended, 45 % of the others going on where the last one of their stream ended, \
            of 14 streams (as in the first 10 000 requests of the trace: 45 % on the same device, 3.3 % in the order of all).",
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
        description: "MSR Cambridge, hardware monitoring server. Assumed: write share and gap as commonly reported for the \
            trace, popularity as rank^-1.07 over 64 KiB extents (fitted to the buffer hits), 2 KiB alignment, the \
            sizes inside a class, bursts of 8, half of the large requests going on where the last one ended.",
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
        description: "MSR Cambridge, media server. Assumed: write share and gap as commonly reported for the trace, popularity \
            as rank^-1.09 over 64 KiB extents (fitted to the buffer hits), 2 KiB alignment, the sizes inside a \
            class, bursts of 8, half of the large requests going on where the last one ended.",
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
        description: "MSR Cambridge, print server: most of its large requests exceed 64 KiB. Assumed: write share and gap as \
            commonly reported for the trace, popularity as rank^-1.19 over 64 KiB extents (fitted to the buffer \
            hits), 2 KiB alignment, the sizes inside a class, bursts of 8, half of the large requests going on where \
            the last one ended.",
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
        description: "MSR Cambridge, web proxy: very small writes to few places. Assumed: write share and gap as commonly \
            reported for the trace, popularity as rank^-1.37 over 64 KiB extents (fitted to the buffer hits), 2 KiB \
            alignment, the sizes inside a class, bursts of 8, half of the large requests going on where the last one \
            ended.",
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
        description: "MSR Cambridge, research projects server. Assumed: write share and gap as commonly reported for the \
            trace, popularity as rank^-1.04 over 64 KiB extents (fitted to the buffer hits), 2 KiB alignment, the \
            sizes inside a class, bursts of 8, half of the large requests going on where the last one ended.",
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
        description: "MSR Cambridge, web staging server. Assumed: write share and gap as commonly reported for the trace, \
            popularity as rank^-1.08 over 64 KiB extents (fitted to the buffer hits), 2 KiB alignment, the sizes \
            inside a class, bursts of 8, half of the large requests going on where the last one ended.",
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
        description: "MSR Cambridge, terminal server. Assumed: write share and gap as commonly reported for the trace, \
            popularity as rank^-1.08 over 64 KiB extents (fitted to the buffer hits), 2 KiB alignment, the sizes \
            inside a class, bursts of 8, half of the large requests going on where the last one ended.",
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
        description: "MSR Cambridge, web server. Assumed: write share and gap as commonly reported for the trace, popularity \
            as rank^-1.14 over 64 KiB extents (fitted to the buffer hits), 2 KiB alignment, the sizes inside a \
            class, bursts of 8, half of the large requests going on where the last one ended.",
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
