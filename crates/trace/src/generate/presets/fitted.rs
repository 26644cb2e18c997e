//! Where the requests of look-alikes go whose places were fitted to recorded windows, or have those
//! of one that was: one entry each. Sizes, shares and gaps are those of the preset of the same name
//! with `-cold`, which has the places that were assumed before: wider, colder and with fewer runs.
//!
//! `cargo run --release -p ftlkit-trace --example fit_presets -- FOLDER` finds the numbers again
//! and prints what each preset is held to and what is left.

use super::super::place_shape::PlaceShape;
use super::recipe::Preset;
use crate::units::Bytes;

/// A preset, its description, what is assumed of it alone, and its places.
#[derive(Clone, Copy)]
struct Fitted {
    name: &'static str,
    description: &'static str,
    assumed: &'static [&'static str],
    places: PlaceShape,
}

/// The preset whose places are fitted for one whose name ends in `-cold`.
pub(super) fn places(cold: &Preset) -> Option<Preset> {
    let name = cold.name.strip_suffix("-cold")?;
    let fitted = FITTED.iter().find(|fitted| fitted.name == name)?;
    let Fitted { name, description, assumed, places } = *fitted;
    Some(Preset { name, description, assumed, assumed_of_kind: ASSUMED, places: Some(places), ..*cold })
}

/// Assumed of all of them.
const ASSUMED: &[&str] = &[
    "write share and gap as commonly reported",
    "reads go where writes go",
    "2 KiB alignment",
    "the sizes inside a class",
    "bursts of 8",
];

/// Two windows of `hm_0`, and its hits.
const HM_0: PlaceShape = PlaceShape {
    theta: 1.36,
    extent: Bytes(128 << 10),
    theta_inside: 2.68,
    drift: 0,
    runs: 16,
    sequential_share: 0.38,
    joined: 0.37,
    cold_sequential_share: 0.94,
};

/// Those of `hm_0`, with the popularity, and the share of joined large requests, that give a
/// server's own hits.
const fn server(theta: f64, joined: f64) -> PlaceShape {
    PlaceShape { theta, joined, ..HM_0 }
}

const FITTED: [Fitted; 9] = [
    Fitted {
        name: "spc1",
        description: "OLTP of a financial institution (the UMass Financial trace, not the \
                      benchmark). Places fitted to its first 10 000 requests and calibrated to the \
                      hits.",
        assumed: &[],
        places: PlaceShape {
            theta: 1.38,
            extent: Bytes(64 << 10),
            theta_inside: 0.28,
            drift: 100_000,
            runs: 64,
            sequential_share: 0.9,
            joined: 0.04,
            cold_sequential_share: 0.95,
        },
    },
    Fitted {
        name: "hm_0",
        description: "MSR Cambridge, hardware monitoring server. Places fitted to two windows of \
                      the trace and calibrated to the hits.",
        assumed: &[],
        places: HM_0,
    },
    Fitted {
        name: "mds_0",
        description: "MSR Cambridge, media server. Places of hm_0, calibrated to the hits.",
        assumed: &["the places of hm_0"],
        places: server(1.39, 0.37),
    },
    Fitted {
        name: "prn_0",
        description: "MSR Cambridge, print server: most of its large requests exceed 64 KiB. \
                      Places of hm_0, calibrated to the hits.",
        assumed: &["the places of hm_0"],
        places: server(1.8, 0.72),
    },
    Fitted {
        name: "prxy_0",
        description: "MSR Cambridge, web proxy: very small writes to few places. Places of hm_0, \
                      calibrated to the hits.",
        assumed: &["the places of hm_0"],
        places: server(1.8, 0.85),
    },
    Fitted {
        name: "rsrch_0",
        description: "MSR Cambridge, research projects server. Places of hm_0, calibrated to the \
                      hits.",
        assumed: &["the places of hm_0"],
        places: server(1.14, 0.37),
    },
    Fitted {
        name: "stg_0",
        description: "MSR Cambridge, web staging server. Places of hm_0, calibrated to the hits.",
        assumed: &["the places of hm_0"],
        places: server(1.33, 0.37),
    },
    Fitted {
        name: "ts_0",
        description: "MSR Cambridge, terminal server. Places of hm_0, calibrated to the hits.",
        assumed: &["the places of hm_0"],
        places: server(1.21, 0.37),
    },
    Fitted {
        name: "web_0",
        description: "MSR Cambridge, web server. Places of hm_0, calibrated to the hits.",
        assumed: &["the places of hm_0"],
        places: server(1.8, 0.41),
    },
];
