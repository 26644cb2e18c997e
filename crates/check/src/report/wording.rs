//! Operations, tags and power cuts in words, as explanations and histories tell of them.

use flash::{Lpn, Role, Tag, Tear};
use ftl::Cause;

use crate::report::black_box::{Event, StagedCut, Target};

/// A power cut, and the operation that it hit.
pub(crate) fn cut(cut: &StagedCut) -> String {
    let how = match cut.tear {
        Tear::Before => "before it had any effect",
        Tear::Unseen => "so early that what it touched reads as before",
        Tear::Torn => "in the middle of it",
        Tear::After => "just after it",
    };
    match cut.hit {
        Some(hit) => format!("the power was cut at the {}, {how}", target(hit, cut.cause)),
        None => "the power was cut after the last operation".into(),
    }
}

/// An operation and why it was done.
pub(crate) fn target(target: Target, cause: Option<Cause>) -> String {
    let Target { op, pbn, ppn, tag } = target;
    let place = ppn.map_or_else(|| pbn.to_string(), |ppn| format!("{ppn} ({pbn})"));
    let what = tag.map_or_else(String::new, |tag| format!(", {}", names(&tag)));
    let why = cause.map_or_else(String::new, |cause| format!(", cause {}", cause.name()));
    format!("{} of {place}{what}{why}", op.name())
}

/// What a tag says.
pub(crate) fn names(tag: &Tag) -> String {
    let Tag { logical, extent, version, seq, .. } = tag;
    let numbers = format!("version {version}, seq {seq}");
    match tag.role {
        Role::Trimmed => format!("which says that {extent} pages from LPN {logical} on are trimmed, {numbers}"),
        Role::Translation => format!("translation page {logical}, {numbers}"),
        Role::Summary => format!("a summary of its block, {numbers}"),
        Role::Padding => format!("padding, {numbers}"),
        Role::Lost => format!("which says that LPN {logical} is lost, {numbers}"),
        Role::Collected => format!("LPN {logical}, collected, {numbers}"),
        Role::Cached => format!("LPN {logical}, in pSLC, {numbers}"),
        Role::Data | Role::SequentialLog | Role::RandomLog => format!("LPN {logical}, {numbers}"),
    }
}

/// An operation, and what became of it if it failed.
pub(crate) fn operation(event: &Event) -> String {
    if event.is_power_cut() {
        return format!("the power was cut at the {}", target(event.target, event.cause));
    }
    let failed = event.error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
    format!("{}{failed}", target(event.target, event.cause))
}

/// What an exception or a panic says, without the line of the source that raised it.
pub(crate) fn said(message: &str) -> &str {
    message.rsplit_once("`): ").map_or(message, |(_, said)| said)
}

/// Whether a tag speaks of a logical page.
pub(crate) fn speaks_of(tag: &Tag, lpn: Lpn) -> bool {
    let is_mine = !matches!(tag.role, Role::Translation | Role::Summary);
    is_mine && (tag.logical..tag.logical.saturating_add(tag.extent)).contains(&lpn.get())
}
