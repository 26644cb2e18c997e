//! Stacks for tests of images, and small images of them: as little to spare as a stack takes, so
//! that what it erases is soon used again.

use std::path::Path;

use ftl::{PartKind, Stack, registry};
use live::Image;
use random::SeededRng;
use sim::study::{Capacity, DeviceText};

use crate::life::{Left, Size};

/// Every scheme, and again with summaries where it can write them: those are bytes of its own; and
/// stacks with a write buffer.
pub(crate) fn plain() -> Vec<Stack> {
    let mappings = registry::mappings().into_iter();
    let all = mappings.flat_map(|entry| {
        let can_summarise = entry.parameters.iter().any(|parameter| parameter.name == "checkpoint");
        let summaries = can_summarise.then(|| Stack::with(entry.name, [("checkpoint", "summaries")]));
        std::iter::once(Stack::of(entry.name)).chain(summaries)
    });
    let buffered = ["fast+bplru:ram=4KiB", "page+dynamic+fab:ram=8KiB", "dftl+lru:ram=4KiB"];
    all.chain(buffered.map(parse)).collect()
}

/// Those, each wear policy over a mapping, the next one in turn, and each write buffer in front of
/// one. owl chooses blocks in merges, so it has a mapping that merges.
pub(crate) fn with_parts() -> Vec<Stack> {
    let mappings = ["page", "fast", "superblock", "dftl", "block"];
    let buffers = names(PartKind::Buffer).into_iter().map(|name| format!("{name}:ram=8KiB"));
    let parts = names(PartKind::WearPolicy).into_iter().map(str::to_owned).chain(buffers);
    let over = |(turn, part): (usize, String)| {
        let mapping = if part == "owl" { "block" } else { mappings[turn % mappings.len()] };
        parse(&format!("{mapping}+{part}"))
    };
    plain().into_iter().chain(parts.enumerate().map(over)).collect()
}

/// Stacks of any mapping, and of any wear policy and write buffer that goes with it.
pub(crate) fn drawn(stacks: usize, seed: u64) -> Vec<Stack> {
    let mut rng = SeededRng::named(seed, "stacks");
    let mut one = |of: Vec<&'static str>| of[rng.below(of.len() as u64) as usize];
    let draw = |form: usize| {
        let mapping = one(registry::mappings().into_iter().map(|entry| entry.name).collect());
        let (policy, buffer) = (one(names(PartKind::WearPolicy)), one(names(PartKind::Buffer)));
        let text = match form % 3 {
            0 => format!("{mapping}+{policy}"),
            1 => format!("{mapping}+{buffer}:ram=4KiB"),
            _ => format!("{mapping}+{policy}+{buffer}:ram=8KiB"),
        };
        text.parse().ok().filter(|stack| registry::resolve(stack).is_ok())
    };
    (0..).filter_map(draw).take(stacks).collect()
}

fn names(kind: PartKind) -> Vec<&'static str> {
    registry::entries(kind).into_iter().map(|entry| entry.name).collect()
}

pub(crate) fn parse(text: &str) -> Stack {
    text.parse().expect("a spelling")
}

/// A folder in memory where that can be had: hundreds of images are written.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// A new image, with more to spare than the least as a share of the device, and of blocks that
/// survive this many erases if that is said; none if the stack fits no such device.
pub(crate) fn image(
    path: &Path,
    stack: &Stack,
    (pages, page_bytes): Size,
    more: f64,
    endurance: Option<u32>,
) -> Option<Left> {
    let make = |spare: f64| {
        let _ = std::fs::remove_file(path);
        let text = DeviceText {
            preset: Some("slc-small".into()),
            capacity: Some(Capacity::Bytes(u64::from(pages) * page_bytes as u64)),
            spare: Some(spare),
            channels: Some(2),
            pages_per_block: Some(8),
            page_size: Some(trace::units::Bytes(page_bytes as u64)),
            endurance,
            ..DeviceText::default()
        };
        sim::Device::resolve(&text, 1).is_ok_and(|device| Image::create(path, &device, stack).is_ok())
    };
    let least = [0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6].into_iter().find(|&spare| make(spare))?;
    (more == 0.0 || make(least + more)).then(|| Left::new(path, (pages, page_bytes)))
}
