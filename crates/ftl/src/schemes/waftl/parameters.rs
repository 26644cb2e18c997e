//! What waftl lets its user choose besides the threshold.

use crate::api::parameter::joined;
use crate::api::parameter::{Kind, Parameter};
use crate::engines::demand::{machine, mapping_cache};
use crate::schemes::waftl::hybrid_map;

use super::threshold;

const fn ratio(name: &'static str, default: &'static str, meaning: &'static str, source: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Ratio { min: 0.0, max: 1.0 }, default, meaning, source }
}

/// The parameters that no part has.
const OWN: [Parameter; 6] = [
    Parameter {
        name: "cache_reads",
        kind: Kind::Switch,
        default: "true",
        meaning: "Whether pages read that were not in the zone are appended to it.",
        source: "WAFTL III.C.1",
    },
    Parameter {
        name: "popular_top",
        kind: Kind::Integer { min: 0, max: 1 << 20 },
        default: "1",
        meaning: "New logical blocks that a migration maps page by page for being the most popular in the zone, however many pages they have.",
        source: "WAFTL algorithm 1",
    },
    Parameter {
        name: "migration",
        kind: Kind::Choice { of: &["background", "wait"] },
        default: "background",
        meaning: "Whether the write that finds the zone full waits for the whole migration, or only for the dies that it keeps busy.",
        source: "ftlkit (WAFTL does not say)",
    },
    Parameter {
        name: "pmt_update",
        kind: Kind::Choice { of: &["block", "page"] },
        default: "block",
        meaning: "Whether a migration reads a translation page once for all pages of a logical block, and with batch_update = false writes it once, \
                  too; or reads and writes it for each page whose entry is not in the CPMT or leaves it.",
        source: "WAFTL algorithm 1, lines 31 to 33 (block)",
    },
    ratio(
        "gc_free",
        "20%",
        "Free blocks, as a share of all, below which collection goes on while requests come.",
        "WAFTL III.D",
    ),
    ratio(
        "idle_weight",
        "0.5",
        "Weight of the last idle period in the prediction of the next; 1 expects the last again, 0 none ever.",
        "WAFTL eq. 3",
    ),
];

/// The mapping cache with the paper's size and order.
const CPMT: [Parameter; 4] = {
    let mut parameters = mapping_cache::PARAMETERS;
    parameters[0] = Parameter { default: "256KiB", source: "WAFTL tab. II", ..parameters[0] };
    parameters[2] = Parameter { default: "lru", source: "WAFTL III.A", ..parameters[2] };
    parameters
};

pub(super) const ALL: [Parameter; 23] =
    joined(&[&hybrid_map::PARAMETERS, &threshold::PARAMETERS, &OWN, &CPMT, &machine::WITHOUT_SUMMARIES]);
