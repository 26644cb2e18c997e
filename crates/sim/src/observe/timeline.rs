//! A timeline: every operation that is ready before a window of virtual time ends and done after it
//! begins, for a chart of time × resource. So what only waits in the window is there, too.
//!
//! Memory is bounded by [`MOST_OPERATIONS`]. A window that holds more is cut short, not thinned: it
//! then ends earlier, everything that is ready before is there, and it says what was asked.

use ftl::{Cause, FlashOp};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use std::fmt;
use trace::units::{Nanoseconds, parse_duration};

use crate::result::TimelineFacts;

/// The most operations that a timeline holds: what a browser still draws, and some megabytes of
/// results.
pub(crate) const MOST_OPERATIONS: usize = 20_000;

/// A stretch of virtual time, counted from the begin of measurement. In TOML and JSON:
/// `"10ms..12ms"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Where the window begins, in virtual time.
    pub from_ns: u64,
    /// Its end, after its begin.
    pub to_ns: u64,
}

impl Serialize for Window {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}..{}", Nanoseconds(self.from_ns), Nanoseconds(self.to_ns)))
    }
}

struct WindowVisitor;

impl Visitor<'_> for WindowVisitor {
    type Value = Window;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a stretch of time such as \"10ms..12ms\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Window, E> {
        let Some((from, to)) = text.split_once("..") else {
            return Err(E::custom(format!(
                "\"{text}\": write two times with .. between them, for example \"10ms..12ms\""
            )));
        };
        let time = |text: &str| parse_duration("", text).map(|time| time.0).map_err(E::custom);
        let window = Window { from_ns: time(from)?, to_ns: time(to)? };
        if window.from_ns >= window.to_ns {
            return Err(E::custom(format!("\"{text}\": ends before it begins; write the earlier time first")));
        }
        Ok(window)
    }
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(WindowVisitor)
    }
}

/// An operation in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) op: FlashOp,
    pub(crate) cause: Cause,
    /// Its place in the order of issue.
    pub(crate) issue: u64,
    /// Which timeline held it: the die, or the one resource.
    pub(crate) die: u32,
    /// When it could have begun.
    pub(crate) ready_ns: u64,
    pub(crate) start_ns: u64,
    /// When its transfer begins; none where it moves nothing.
    pub(crate) transfer_ns: Option<u64>,
    pub(crate) end_ns: u64,
    /// What the operation takes on an idle device; none for a part of one that goes on later.
    pub(crate) service_ns: Option<u64>,
}

/// What is recorded of a window.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    asked: Window,
    /// Where the window ends, if it was cut short.
    to_ns: u64,
    placed: Vec<Placed>,
}

impl Recorder {
    pub(crate) fn new(asked: Window) -> Self {
        Self { asked, to_ns: asked.to_ns, placed: Vec::new() }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.asked);
    }

    /// An operation, or a part of one, is over.
    pub(crate) fn record(&mut self, placed: Placed) {
        if placed.end_ns <= self.asked.from_ns || placed.ready_ns >= self.to_ns {
            return;
        }
        if self.placed.len() == MOST_OPERATIONS {
            self.cut();
        }
        if placed.ready_ns < self.to_ns {
            self.placed.push(placed);
        }
    }

    /// Ends the window earlier. Some that are ready before may still be under way, so that takes
    /// away more than one.
    fn cut(&mut self) {
        let mut ready: Vec<u64> = self.placed.iter().map(|placed| placed.ready_ns).collect();
        let (_, &mut to_ns, _) = ready.select_nth_unstable(MOST_OPERATIONS - MOST_OPERATIONS / 8);
        self.to_ns = to_ns.max(self.asked.from_ns);
        self.placed.retain(|placed| placed.ready_ns < to_ns);
    }

    /// The operations in order of time.
    pub(crate) fn result(&self) -> TimelineFacts {
        let mut placed: Vec<&Placed> = self.placed.iter().collect();
        placed.sort_by_key(|placed| (placed.start_ns, placed.die, placed.end_ns));
        let time = |of: fn(&Placed) -> u64| placed.iter().map(|placed| of(placed)).collect();
        TimelineFacts {
            from_ns: self.asked.from_ns,
            to_ns: self.to_ns,
            requested_to_ns: self.asked.to_ns,
            die: placed.iter().map(|placed| placed.die).collect(),
            op: placed.iter().map(|placed| FlashOp::name(placed.op)).collect(),
            cause: placed.iter().map(|placed| Cause::name(placed.cause)).collect(),
            ready_ns: time(|placed| placed.ready_ns),
            start_ns: time(|placed| placed.start_ns),
            transfer_ns: placed.iter().map(|placed| placed.transfer_ns).collect(),
            end_ns: time(|placed| placed.end_ns),
            service_ns: placed.iter().map(|placed| placed.service_ns).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(start_ns: u64) -> Placed {
        let (op, cause) = (FlashOp::Read, Cause::Host);
        let (transfer_ns, end_ns, service_ns) = (Some(start_ns + 1), start_ns + 3, Some(3));
        Placed { op, cause, issue: 0, die: 0, ready_ns: start_ns, start_ns, transfer_ns, end_ns, service_ns }
    }

    fn recorded(recorder: &Recorder) -> Vec<u64> {
        recorder.result().start_ns
    }

    #[test]
    fn what_touches_the_window_is_recorded_in_order_of_time() {
        let mut recorder = Recorder::new(Window { from_ns: 10, to_ns: 20 });
        for start in [19, 20, 7, 8, 12] {
            recorder.record(read(start));
        }
        // 7 is over when the window begins, 20 begins when it is over.
        assert_eq!(recorded(&recorder), [8, 12, 19]);
        recorder.clear();
        assert!(recorded(&recorder).is_empty());
    }

    #[test]
    fn a_window_that_holds_too_much_ends_where_all_is_known() {
        let mut recorder = Recorder::new(Window { from_ns: 100, to_ns: 1 << 40 });
        let most = MOST_OPERATIONS as u64;
        // Operations end in order of time; every third one has been ready for long.
        let ready = |number: u64| 100 + 10 * number - if number.is_multiple_of(3) { 5 * number.min(50) } else { 0 };
        for number in 0..2 * most {
            let start_ns = 100 + 10 * number;
            recorder.record(Placed { ready_ns: ready(number), ..read(start_ns) });
        }
        let result = recorder.result();
        assert_eq!(result.requested_to_ns, 1 << 40);
        assert!((100_000..1 << 20).contains(&result.to_ns), "{}", result.to_ns);
        let expected = (0..2 * most).filter(|&number| ready(number) < result.to_ns).map(|number| 100 + 10 * number);
        assert_eq!(result.start_ns, expected.collect::<Vec<_>>(), "nothing is missing before the end");
        assert!(result.start_ns.len() <= MOST_OPERATIONS);
    }

    #[test]
    fn windows_are_two_times_in_order() {
        let parsed = |text: &str| serde_json::from_value::<Window>(text.into());
        let window = parsed("1.5ms..2ms").expect("a window");
        assert_eq!(window, Window { from_ns: 1_500_000, to_ns: 2_000_000 });
        assert_eq!(serde_json::to_value(window).expect("text"), "1500000ns..2000000ns");
        for (text, advice) in [("5ms", ".."), ("2ms..1ms", "earlier time first"), ("1..2ms", "needs its unit")] {
            let error = parsed(text).expect_err(text).to_string();
            assert!(error.contains(advice), "{error}");
        }
    }
}
