//! Look-alikes of the workloads of three publications, a row each: figures as printed, and the
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

/// What a recipe of table III takes from the row's figures and sizes.
const FROM_FIGURES: Enterprise = Enterprise {
    span_gib: 0,
    write_share: 0.0,
    sequential_share: 0.0,
    mean_gap_ns: 0,
    burst: 0.0,
    theta: 0.0,
    extent_kib: 0,
    sizes: &[],
};

/// A workload of table III. It prints the mean size in KiB, the shares of writes and of sequential
/// requests in %, and the mean gap in ms. Sizes are in KiB with their weights.
const fn waftl(
    name: &'static str,
    description: &'static str,
    assumed: &'static [&'static str],
    [mean_request_kib, write_percent, sequential_percent, mean_gap_ms]: [f64; 4],
    recipe: Enterprise,
    sizes: &'static [(u64, f64)],
) -> Preset {
    let mean_gap_ns = (mean_gap_ms * 1e6 + 0.5) as u64;
    let write_share = write_percent / 100.0;
    Preset {
        name,
        source: "WAFTL, table III",
        description,
        assumed,
        assumed_of_kind: ENTERPRISE,
        published: Published {
            mean_request_kib: Some(mean_request_kib),
            write_percent: Some(write_percent),
            sequential_percent: Some(sequential_percent),
            mean_gap_ms: Some(mean_gap_ms),
            ..Published::NOTHING
        },
        places: None,
        recipe: Recipe::Enterprise(Enterprise { write_share, mean_gap_ns, burst: 8.0, sizes, ..recipe }),
    }
}

/// The same made by a program: without bursts.
const fn synthetic(preset: &Preset) -> Preset {
    match preset.recipe {
        Recipe::Enterprise(recipe) => Preset {
            assumed_of_kind: SYNTHETIC,
            recipe: Recipe::Enterprise(Enterprise { burst: 1.0, ..recipe }),
            ..*preset
        },
        _ => *preset,
    }
}

/// WAFTL's, in the order of table III.
pub(super) const WAFTL: [Preset; 7] = [
    waftl(
        "fin1",
        "OLTP of a financial institution: small, random, strongly skewed.",
        &["a span of 4 GiB", "popularity as rank^-1.0 over 64 KiB extents"],
        [8.29, 35.0, 0.6, 8.189],
        Enterprise { span_gib: 4, sequential_share: 0.0053, theta: 1.0, extent_kib: 64, ..FROM_FIGURES },
        &[(4, 0.623), (8, 0.20), (12, 0.05), (16, 0.07), (32, 0.037), (64, 0.02)],
    ),
    waftl(
        "fin2",
        "OLTP of a financial institution, mostly reads.",
        &["a span of 4 GiB", "popularity as rank^-1.0 over 64 KiB extents"],
        [7.78, 17.0, 0.7, 11.081],
        Enterprise { span_gib: 4, sequential_share: 0.0063, theta: 1.0, extent_kib: 64, ..FROM_FIGURES },
        &[(4, 0.6635), (8, 0.18), (12, 0.05), (16, 0.06), (32, 0.0265), (64, 0.02)],
    ),
    waftl(
        "exchange",
        "Mail server: large random writes.",
        &["a span of 16 GiB", "popularity as rank^-0.8 over 256 KiB extents"],
        [54.60, 74.0, 0.5, 1.315],
        Enterprise { span_gib: 16, sequential_share: 0.005, theta: 0.8, extent_kib: 256, ..FROM_FIGURES },
        &[(8, 0.26), (16, 0.12), (32, 0.20), (64, 0.23), (128, 0.15), (256, 0.04)],
    ),
    waftl(
        "devdiv91",
        "Release server of a development division, almost only writes.",
        &["a span of 8 GiB", "popularity as rank^-0.8 over 256 KiB extents"],
        [36.17, 91.0, 0.9, 2.044],
        Enterprise { span_gib: 8, sequential_share: 0.009, theta: 0.8, extent_kib: 256, ..FROM_FIGURES },
        &[(4, 0.165), (8, 0.18), (16, 0.15), (32, 0.16), (64, 0.275), (128, 0.07)],
    ),
    waftl(
        "devdiv",
        "Release server of a development division: the largest requests of the set.",
        &["a span of 16 GiB", "popularity as rank^-0.7 over 1 MiB extents"],
        [88.98, 72.0, 1.5, 2.689],
        Enterprise { span_gib: 16, sequential_share: 0.015, theta: 0.7, extent_kib: 1024, ..FROM_FIGURES },
        &[(4, 0.085), (8, 0.095), (16, 0.10), (32, 0.10), (64, 0.24), (128, 0.23), (256, 0.15)],
    ),
    synthetic(&waftl(
        "seq_read",
        "Synthetic: runs of large reads, faster than most devices can serve them.",
        &["a span of 16 GiB", "popularity as rank^-0.6 over 1 MiB extents"],
        [67.68, 19.0, 60.0, 0.0499],
        Enterprise { span_gib: 16, sequential_share: 0.6, theta: 0.6, extent_kib: 1024, ..FROM_FIGURES },
        &[(32, 0.24), (64, 0.54), (96, 0.08), (128, 0.14)],
    )),
    synthetic(&waftl(
        "seq_write",
        "Synthetic: runs of large writes, faster than most devices can serve them.",
        &["a span of 16 GiB", "popularity as rank^-0.6 over 1 MiB extents"],
        [67.55, 80.0, 70.0, 0.0497],
        Enterprise { span_gib: 16, sequential_share: 0.7, theta: 0.6, extent_kib: 1024, ..FROM_FIGURES },
        &[(32, 0.245), (64, 0.54), (96, 0.075), (128, 0.14)],
    )),
];

/// A workload of the thesis. It prints the shares of small, medium and large requests and the page
/// hits of a 64 MB buffer, in %. Of its look-alike are given span in GiB, write share and mean gap
/// in ns, and sizes below and from 16 KiB with their weights.
const fn thesis(
    name: &'static str,
    description: &'static str,
    assumed: &'static [&'static str],
    (size_classes, hits): ([f64; 3], f64),
    (span_gib, write_share, mean_gap_ns): (u64, f64, u64),
    popularity: Popularity,
    [small_and_medium, large]: [&'static [(u64, f64)]; 2],
) -> Preset {
    let runs = SmallRuns { streams: 1, sequential_share: 0.0 };
    Preset {
        name,
        source: "thesis, tables 4.2 (capacity), 5.1 and 6.2",
        description,
        assumed,
        assumed_of_kind: SERVER,
        published: Published {
            size_class_percents: Some(size_classes),
            buffer_hit_percent: Some(hits),
            ..Published::NOTHING
        },
        places: None,
        recipe: Recipe::Server(Server {
            span_gib,
            runs,
            write_share,
            mean_gap_ns,
            popularity,
            small_and_medium,
            large,
        }),
    }
}

impl Preset {
    /// The same whose small requests go on in streams.
    const fn in_streams(self, streams: u32, sequential_share: f64) -> Self {
        match self.recipe {
            Recipe::Server(recipe) => {
                let runs = SmallRuns { streams, sequential_share };
                Self { recipe: Recipe::Server(Server { runs, ..recipe }), ..self }
            }
            _ => self,
        }
    }

    /// The same of which a section prints more.
    const fn with(self, source: &'static str, published: Published) -> Self {
        let Published { size_class_percents, buffer_hit_percent, .. } = self.published;
        Self { source, published: Published { size_class_percents, buffer_hit_percent, ..published }, ..self }
    }
}

/// The thesis', in the order of its tables.
pub(super) const THESIS: [Preset; 10] = [
    Preset {
        assumed_of_kind: TPCC,
        ..thesis(
            "tpcc",
            "TPC-C database: small, random, confined to few places.",
            &[
                "write share and gap",
                "99.5 % of the requests to 1 % of the data, in 64 KiB extents (fitted to the buffer hits)",
            ],
            ([99.17, 0.83, 0.00], 99.5),
            (3, 0.35, 1_000_000),
            Popularity::HotCold { hot_data_share: 0.01, hot_request_share: 0.995 },
            [&[(2, 24.7925), (4, 74.3775), (6, 0.166), (8, 0.498), (12, 0.166)], &[]],
        )
    },
    thesis(
        "spc1-cold",
        "OLTP of a financial institution (the thesis' SPC1 is the UMass Financial \
                      trace, not the benchmark).",
        &[
            "popularity as rank^-1.1 over 64 KiB extents (fitted to the buffer hits)",
            "45 % of the small requests continue their stream, of 14 streams",
        ],
        ([86.58, 10.63, 2.79], 70.5),
        (2, 0.77, 8_190_000),
        Popularity::Zipf { theta: 1.1 },
        [&[(2, 21.645), (4, 64.935), (6, 2.126), (8, 6.378), (12, 2.126)], &[(16, 1.116), (32, 0.837), (64, 0.837)]],
    )
    .in_streams(14, 0.45),
    thesis(
        "hm_0-cold",
        "MSR Cambridge, hardware monitoring server.",
        &["popularity as rank^-1.07 over 64 KiB extents (fitted to the buffer hits)"],
        ([76.70, 13.72, 9.58], 64.1),
        (4, 0.645, 151_000_000),
        Popularity::Zipf { theta: 1.07 },
        [&[(2, 19.175), (4, 57.525), (6, 2.744), (8, 8.232), (12, 2.744)], &[(16, 3.832), (32, 2.874), (64, 2.874)]],
    ),
    thesis(
        "mds_0-cold",
        "MSR Cambridge, media server.",
        &["popularity as rank^-1.09 over 64 KiB extents (fitted to the buffer hits)"],
        ([72.35, 19.79, 7.86], 70.3),
        (2, 0.881, 499_000_000),
        Popularity::Zipf { theta: 1.09 },
        [&[(2, 18.0875), (4, 54.2625), (6, 3.958), (8, 11.874), (12, 3.958)], &[(16, 3.144), (32, 2.358), (64, 2.358)]],
    ),
    thesis(
        "prn_0-cold",
        "MSR Cambridge, print server: most of its large requests exceed 64 KiB.",
        &["popularity as rank^-1.19 over 64 KiB extents (fitted to the buffer hits)"],
        ([79.46, 8.88, 11.66], 77.9),
        (6, 0.892, 108_000_000),
        Popularity::Zipf { theta: 1.19 },
        [
            &[(2, 19.865), (4, 59.595), (6, 1.776), (8, 5.328), (12, 1.776)],
            &[(16, 0.8), (32, 0.6), (64, 0.8), (68, 6.46), (128, 3.0)],
        ],
    )
    .with(
        "thesis, tables 4.2 (capacity), 5.1 and 6.2, section 5.6.2",
        Published { over_64_kib_write_percent: Some(9.46), ..Published::NOTHING },
    ),
    thesis(
        "prxy_0-cold",
        "MSR Cambridge, web proxy: very small writes to few places.",
        &["popularity as rank^-1.37 over 64 KiB extents (fitted to the buffer hits)"],
        ([87.91, 6.82, 5.27], 92.6),
        (4, 0.969, 48_300_000),
        Popularity::Zipf { theta: 1.37 },
        [&[(2, 77.8), (4, 10.11), (6, 1.364), (8, 4.092), (12, 1.364)], &[(16, 2.108), (32, 1.581), (64, 1.581)]],
    )
    .with(
        "thesis, tables 4.2 (capacity), 5.1 and 6.2, section 4.6.2",
        Published { one_page_write_percent: Some(77.8), ..Published::NOTHING },
    ),
    thesis(
        "rsrch_0-cold",
        "MSR Cambridge, research projects server.",
        &["popularity as rank^-1.04 over 64 KiB extents (fitted to the buffer hits)"],
        ([68.22, 25.04, 6.74], 63.3),
        (2, 0.907, 422_000_000),
        Popularity::Zipf { theta: 1.04 },
        [&[(2, 17.055), (4, 51.165), (6, 5.008), (8, 15.024), (12, 5.008)], &[(16, 2.696), (32, 2.022), (64, 2.022)]],
    ),
    thesis(
        "stg_0-cold",
        "MSR Cambridge, web staging server.",
        &["popularity as rank^-1.08 over 64 KiB extents (fitted to the buffer hits)"],
        ([72.33, 18.62, 9.05], 64.8),
        (4, 0.848, 298_000_000),
        Popularity::Zipf { theta: 1.08 },
        [&[(2, 18.0825), (4, 54.2475), (6, 3.724), (8, 11.172), (12, 3.724)], &[(16, 3.62), (32, 2.715), (64, 2.715)]],
    ),
    thesis(
        "ts_0-cold",
        "MSR Cambridge, terminal server.",
        &["popularity as rank^-1.08 over 64 KiB extents (fitted to the buffer hits)"],
        ([67.81, 25.87, 6.32], 68.2),
        (2, 0.824, 336_000_000),
        Popularity::Zipf { theta: 1.08 },
        [&[(2, 16.9525), (4, 50.8575), (6, 5.174), (8, 15.522), (12, 5.174)], &[(16, 2.528), (32, 1.896), (64, 1.896)]],
    ),
    thesis(
        "web_0-cold",
        "MSR Cambridge, web server.",
        &["popularity as rank^-1.14 over 64 KiB extents (fitted to the buffer hits)"],
        ([67.50, 23.85, 8.65], 75.3),
        (2, 0.701, 298_000_000),
        Popularity::Zipf { theta: 1.14 },
        [&[(2, 16.875), (4, 50.625), (6, 4.77), (8, 14.31), (12, 4.77)], &[(16, 3.46), (32, 2.595), (64, 2.595)]],
    ),
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
