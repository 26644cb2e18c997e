//! Look-alikes of A-SAST's workloads, one entry each: figures as printed, and the recipe that meets
//! them.

use super::personal::{Personal, PersonalAddresses};
use super::recipe::{Preset, Published, Recipe};

/// In the order of the section.
pub(super) const PRESETS: [Preset; 3] = [
    Preset {
        name: "pctrace",
        source: "A-SAST, IV (PCtrace)",
        description: "Windows PC with a word processor, moving pictures, web browsing and games; nothing of it is printed but that it is \
            random and irregular. Assumed: a span of 1 GiB, 80 % writes, 85 % small requests (1-8 KiB) of which 90 % go to a tenth of \
            the data in places of 1 MiB, one of which becomes another every 500 small requests; the rest of 16-128 KiB in four \
            streams of ten requests. The size of the places was chosen so that SAST's best group size is the paper's.",
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
        description: "Iozone with write requests of 1-4 KB, a random pattern. Assumed: a span of 1 GiB, only writes, records of 1, 2 and \
            4 KiB, each at a multiple of its size anywhere in a file of 256 MiB, and the next of four files after 100 000 requests.",
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
        description: "Iozone with write requests of 2-80 KB, both random and sequential. Assumed: a span of 1 GiB, only writes, half of \
            them records of 2, 4 and 8 KiB, each at a multiple of its size anywhere in a file of 256 MiB, half of 16-80 KiB from the \
            file's start to its end and again; the next of four files after 50 000 requests.",
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
