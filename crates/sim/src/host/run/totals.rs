//! What the counts of a run and the busy time of its device add up to.

use ftl::{Cause, FlashOp, Nanos, Note, Tally};

use crate::EventTiming;
use crate::result::{Merges, OperationCount, Utilisation};

/// Merges by their kind.
pub(crate) fn merges(tally: &Tally) -> Merges {
    Merges {
        switch: tally.note(Note::SwitchMerge),
        partial: tally.note(Note::PartialMerge),
        full: tally.note(Note::FullMerge),
    }
}

/// Flash operations by cause, with the time that each took.
pub(crate) fn operations(tally: &Tally, timing: Option<&EventTiming>) -> Vec<OperationCount> {
    let every = Cause::ALL.iter().flat_map(|&cause| FlashOp::ALL.iter().map(move |&op| (cause, op)));
    every
        .map(|(cause, op)| OperationCount {
            cause: cause.name(),
            op: op.name(),
            count: tally.count(cause, op),
            time_ns: timing.map(|timing| timing.time_ns(cause, op)),
        })
        .filter(|operation| operation.count > 0)
        .collect()
}

/// Shares of the time up to an end for which resources were busy.
pub(crate) fn utilisation(timing: &EventTiming, end: Nanos) -> Utilisation {
    let elapsed = end.max(timing.idle_at()).0 as f64;
    let mean = |busy: &mut dyn ExactSizeIterator<Item = u64>| {
        let resources = busy.len() as f64;
        (elapsed > 0.0).then(|| busy.map(|ns| ns as f64).sum::<f64>() / (resources * elapsed))
    };
    let share = |busy_ns: Option<u64>| busy_ns.filter(|_| elapsed > 0.0).map(|ns| ns as f64 / elapsed);
    Utilisation {
        link: share(timing.link_busy_ns()),
        controller: share(timing.controller_busy_ns()),
        dies: mean(&mut timing.die_busy_ns()),
        channels: if timing.has_channels() { mean(&mut timing.channel_busy_ns()) } else { None },
    }
}
