//! The threshold: with how many pages in the zone a new logical block is mapped as a whole (WAFTL
//! III.C.2).
//!
//! Static, it stays. Dynamic, it begins at the full block. After each migration it goes a step up
//! if responses have become worse than at the full block by more than `D` (eq. 1 fails), else a
//! step down if eq. 2 holds, never under the mean request. Every 32 migrations it is the full block
//! for one, so that what responses are compared with stays true.
//!
//! Eq. 2 holds if "a smaller value" makes the mapping table smaller than at the full block by at
//! least `D`. Which value that is, WAFTL does not say. Any that is allowed will do (`least`): the
//! lowest one saves most, and eq. 1 stops the way there. Asked of the step in hand alone (`next`),
//! eq. 2 fails wherever a sixteenth of a block saves less than `D`, and what lies below is never
//! tried.
//!
//! What the mapping table would be at a threshold follows from the page counts with which logical
//! blocks were placed for the first time: each one with fewer pages than that is mapped page by
//! page. Measured on the table itself, eq. 2 could never let the first step be taken, since at the
//! full block nothing has been saved yet.

use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::request::Request;
use crate::port::timing::Nanos;

/// The parameters of the threshold.
pub(super) const PARAMETERS: [Parameter; 4] = [
    Parameter {
        name: "threshold",
        kind: Kind::Ratio { min: 0.0, max: 2.0 },
        default: "1",
        meaning: "Share of a block's pages that a new logical block must have in the zone to be mapped as a whole, if the threshold is static: 0 maps all \
                  but the most popular so, more than 1 none.",
        source: "WAFTL III.C.2 (the full block)",
    },
    Parameter {
        name: "threshold_rule",
        kind: Kind::Choice { of: &["static", "dynamic"] },
        default: "static",
        meaning: "Whether the threshold stays, or follows response times and the size of the mapping table.",
        source: "WAFTL III.C.2",
    },
    Parameter {
        name: "degradation",
        kind: Kind::Ratio { min: 0.0, max: 10.0 },
        default: "0.03",
        meaning: "D of eqs. 1 and 2: how much longer mean responses may become than at the full block, and how much smaller the mapping table must \
                  become, as a share; for the dynamic threshold.",
        source: "WAFTL IV.B.5 (0.03, 0.06)",
    },
    Parameter {
        name: "smaller_value",
        kind: Kind::Choice { of: &["least", "next"] },
        default: "least",
        meaning: "Which smaller threshold has to save the share of the mapping table before the dynamic threshold steps down: the lowest that is \
                  allowed, or the next step.",
        source: "WAFTL III.C.2 (\"a smaller value\")",
    },
];

/// Steps from the full block to nothing.
const STEPS: u32 = 16;

/// Migrations after which the full block is measured again.
const REMEASURED_AFTER: u32 = 32;

/// A mean of response times.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum_ns: f64,
    count: u64,
}

impl Mean {
    fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns / self.count as f64)
    }
}

#[derive(Clone, Debug)]
struct ThresholdRule {
    /// D of the paper's rule.
    degradation: f64,
    /// Whether eq. 2 is asked of the next step alone.
    asks_next_step: bool,
    /// The threshold that it would be if the full block were not being measured.
    set: u32,
    responses: Mean,
    at_full: Option<f64>,
    /// Migrations since the full block was measured.
    since_full: u32,
    requests: u64,
    pages: u64,
    /// Logical blocks placed for the first time, by how many pages they had.
    placed: Vec<u64>,
}

/// The threshold in force.
#[derive(Clone, Debug)]
pub(super) struct Threshold {
    full: u32,
    now: u32,
    rule: Option<ThresholdRule>,
}

impl Threshold {
    pub(super) fn from_values(values: &Values, full: u32) -> Self {
        let rule = ThresholdRule {
            degradation: values.ratio("degradation"),
            asks_next_step: values.word("smaller_value") == "next",
            set: full,
            responses: Mean::default(),
            at_full: None,
            since_full: 0,
            requests: 0,
            pages: 0,
            placed: vec![0; full as usize + 1],
        };
        match values.word("threshold_rule") {
            "dynamic" => Self { full, now: full, rule: Some(rule) },
            _ => Self { full, now: (values.ratio("threshold") * f64::from(full)).ceil() as u32, rule: None },
        }
    }

    /// The threshold in force, in pages of a logical block.
    pub(super) fn pages(&self) -> u32 {
        self.now
    }

    /// Whether it changes with how long requests take.
    pub(super) fn is_dynamic(&self) -> bool {
        self.rule.is_some()
    }

    /// The left side of eq. 1 for a dynamic threshold: by what share responses are longer than at
    /// the full block, 0 while nothing is known.
    pub(super) fn loss(&self) -> Option<f64> {
        self.rule.as_ref().map(|rule| rule.loss().unwrap_or(0.0))
    }

    /// A request has been answered after so long.
    pub(super) fn answered(&mut self, request: &Request, after: Nanos) {
        if let Some(rule) = &mut self.rule {
            rule.requests += 1;
            rule.pages += u64::from(request.pages);
            rule.responses.sum_ns += after.0 as f64;
            rule.responses.count += 1;
        }
    }

    /// A logical block with this many pages is placed for the first time.
    pub(super) fn placed(&mut self, pages: u32) {
        if let Some(count) = self.rule.as_mut().and_then(|rule| rule.placed.get_mut(pages as usize)) {
            *count += 1;
        }
    }

    /// A migration is over.
    pub(super) fn on_migrated(&mut self) {
        let (full, now) = (self.full, self.now);
        if let Some(rule) = &mut self.rule {
            self.now = rule.adjusted(now, full);
        }
    }
}

impl ThresholdRule {
    fn loss(&self) -> Option<f64> {
        let at_full = self.at_full.filter(|&at_full| at_full > 0.0)?;
        self.responses.value().map(|mean| (mean - at_full) / at_full)
    }

    /// The left side of eq. 2.
    fn saving(&self, threshold: u32, full: u32) -> f64 {
        let below = |threshold: u32| self.placed[..threshold as usize].iter().sum::<u64>() as f64;
        if below(full) > 0.0 { 1.0 - below(threshold) / below(full) } else { 0.0 }
    }

    /// The threshold after a migration. It stays where no request has been answered since the one
    /// before, as while a device is prepared: neither equation is known then.
    fn adjusted(&mut self, now: u32, full: u32) -> u32 {
        if self.responses.count == 0 {
            return now;
        }
        if now == full {
            self.at_full = self.responses.value().or(self.at_full);
            self.since_full = 0;
        }
        let step = full.div_ceil(STEPS);
        let least = (self.pages.div_ceil(self.requests.max(1)) as u32).clamp(1, full);
        let lower = self.set.saturating_sub(step).max(least);
        let asked = if self.asks_next_step { lower } else { least };
        let (loss, saving) = (self.loss().unwrap_or(0.0), self.saving(asked, full));
        if now == self.set {
            if loss > self.degradation {
                self.set = (self.set + step).min(full);
            } else if lower < self.set && saving >= self.degradation {
                self.set = lower;
            }
        }
        self.responses = Mean::default();
        self.since_full += 1;
        if self.since_full > REMEASURED_AFTER { full } else { self.set }
    }
}

#[cfg(test)]
mod tests {
    use flash::Lpn;

    use super::*;
    use crate::api::parameter::Settings;

    fn dynamic(degradation: &str, smaller_value: &str) -> Threshold {
        let values = [("threshold_rule", "dynamic"), ("degradation", degradation), ("smaller_value", smaller_value)];
        let settings: Settings = values.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        Threshold::from_values(&Values::check("waftl", &PARAMETERS, &settings).expect("valid"), 64)
    }

    /// A migration with requests of one page that take so long each, and the threshold after it.
    fn epoch(threshold: &mut Threshold, us: u64) -> u32 {
        (0..10).for_each(|_| threshold.answered(&Request::new(Lpn::new(0), 1), Nanos(us * 1000)));
        threshold.on_migrated();
        threshold.pages()
    }

    #[test]
    fn a_static_threshold_is_a_share_of_the_block_and_stays() {
        for (text, pages) in [("1", 64), ("0", 0), ("0.75", 48), ("1.01", 65)] {
            let settings: Settings = [("threshold".to_owned(), text.to_owned())].into();
            let mut threshold =
                Threshold::from_values(&Values::check("waftl", &PARAMETERS, &settings).expect("valid"), 64);
            assert_eq!((threshold.pages(), epoch(&mut threshold, 5)), (pages, pages));
        }
    }

    #[test]
    fn it_steps_down_while_the_table_shrinks_and_responses_do_not_grow_and_up_when_they_do() {
        for smaller_value in ["least", "next"] {
            let mut threshold = dynamic("0.03", smaller_value);
            for pages in [10, 61, 62, 63, 50] {
                threshold.placed(pages);
            }
            // 3 of the 5 blocks below 64 have at least 60 pages: a saving of 0.6 for the step from
            // 64 to 60.
            assert_eq!(epoch(&mut threshold, 100), 60);
            assert_eq!(epoch(&mut threshold, 102), 56);
            assert_eq!(epoch(&mut threshold, 110), 60, "ten per cent longer");
            assert_eq!(epoch(&mut threshold, 103), 56, "three per cent are allowed");
            threshold.answered(&Request::new(Lpn::new(0), 1), Nanos(105_000));
            assert_eq!(threshold.loss(), Some(0.05));
        }
    }

    #[test]
    fn it_stays_while_no_response_is_known() {
        let mut threshold = dynamic("0.03", "least");
        (0..64).for_each(|pages| threshold.placed(pages));
        (0..100).for_each(|_| threshold.on_migrated());
        assert_eq!(threshold.pages(), 64);
        assert_eq!(epoch(&mut threshold, 100), 60);
        threshold.on_migrated();
        assert_eq!(threshold.pages(), 60);
    }

    /// No block has 60 pages or more, so the first step saves nothing; 16 would save all.
    #[test]
    fn eq_2_is_asked_of_the_lowest_value_or_of_the_next_step() {
        for (smaller_value, after) in [("least", [60, 56, 52]), ("next", [64, 64, 64])] {
            let mut threshold = dynamic("0.03", smaller_value);
            (0..100).for_each(|_| threshold.placed(20));
            assert_eq!([(); 3].map(|()| epoch(&mut threshold, 100)), after, "{smaller_value}");
        }
    }

    #[test]
    fn it_stays_at_the_full_block_when_nothing_would_be_saved() {
        for (smaller_value, mean_request) in [("least", 4), ("next", 1)] {
            let mut threshold = dynamic("0.03", smaller_value);
            (0..100).for_each(|_| threshold.placed(3));
            for us in [100, 50, 10] {
                threshold.answered(&Request::new(Lpn::new(0), mean_request), Nanos(us * 1000));
                threshold.on_migrated();
                assert_eq!(threshold.pages(), 64, "{smaller_value}");
            }
        }
    }

    #[test]
    fn it_stays_above_the_mean_request_and_measures_the_full_block_again() {
        let mut threshold = dynamic("0.05", "next");
        threshold.answered(&Request::new(Lpn::new(0), 600), Nanos(100_000));
        (0..64).for_each(|pages| threshold.placed(pages));
        let all: Vec<_> = (0..60).map(|_| epoch(&mut threshold, 100)).collect();
        assert!(all.windows(2).all(|two| two[1] == 64 || two[0] == 64 || two[0] - two[1] <= 4), "{all:?}");
        let left = all.iter().position(|&pages| pages < 64).expect("it steps down");
        let again = all[left..].iter().position(|&pages| pages == 64).expect("it is measured again");
        assert_eq!((again, all[left + again - 1]), (32, all[left + again + 1]));
        assert_eq!(all[59], 2, "(600 + 600) / 601 pages are the mean request");
    }
}
