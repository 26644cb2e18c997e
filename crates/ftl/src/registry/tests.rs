//! What the lists promise, and what is refused.

use super::*;
use crate::testing::{allocated_bytes, layout};

/// The headings from which the docs page of a mapping is made, in order.
const HEADINGS: [&str; 11] = [
    "# ",
    "## Idea",
    "## Source",
    "## Departures",
    "## State",
    "## Read",
    "## Write",
    "## Reclaim",
    "## Recover",
    "## Invariants",
    "## Costs",
];

#[test]
fn every_mapping_tells_its_story_under_the_same_headings() {
    for entry in mappings() {
        let story = entry.story();
        let mut rest = story.as_str();
        for heading in HEADINGS {
            let found = rest.find(heading);
            assert!(found.is_some(), "{}: the heading {heading:?} is missing or out of order", entry.name);
            rest = &rest[found.unwrap_or(0)..];
        }
        assert!(
            story.starts_with(&format!("# {}: ", entry.name)),
            "{}: the title must begin with the name",
            entry.name
        );
    }
}

fn all() -> impl Iterator<Item = (PartKind, &'static Entry)> {
    PartKind::ALL.into_iter().flat_map(|kind| entries(kind).into_iter().map(move |entry| (kind, entry)))
}

#[test]
fn a_name_says_which_part_is_meant() {
    let names: std::collections::BTreeSet<_> = all().map(|(_, entry)| entry.name).collect();
    assert_eq!(names.len(), all().count(), "two parts have the same name: {names:?}");
    assert!(names.iter().all(|name| crate::api::parameter::is_plain(name) && !name.contains('=')), "{names:?}");
}

#[test]
fn every_wear_policy_and_buffer_tells_its_story_under_the_same_headings() {
    for entry in entries(PartKind::WearPolicy).into_iter().chain(entries(PartKind::Buffer)) {
        let story = entry.story();
        assert!(story.starts_with(&format!("# {}: ", entry.name)), "{}: the title begins with the name", entry.name);
        let mut rest = story.as_str();
        for heading in ["## Idea", "## Source", "## State", "## After a cut", "## Costs"] {
            let found = rest.find(heading);
            assert!(found.is_some(), "{}: the heading {heading:?} is missing or out of order", entry.name);
            rest = &rest[found.unwrap_or(0)..];
        }
    }
}

#[test]
fn every_parameter_has_a_default_within_its_range_and_a_meaning() {
    for (_, entry) in all() {
        Values::check(entry.name, entry.parameters, &Settings::new()).expect("defaults are valid");
        for parameter in entry.parameters {
            assert!(!parameter.meaning.is_empty() && !parameter.source.is_empty(), "{}.{}", entry.name, parameter.name);
        }
    }
}

#[test]
fn wear_policies_keep_the_bytes_per_block_they_state() {
    const BLOCKS: u32 = 4096;
    for kind in builtin_wear_policies() {
        let entry = kind.entry;
        let values = Values::check(entry.name, entry.parameters, &Settings::new()).expect("defaults are valid");
        let wear = kind.with(values);
        // With hardly a spare block, so that lists of logical blocks count in full.
        let [small, large] = [BLOCKS, 2 * BLOCKS].map(|blocks| {
            let layout = layout(blocks, 4, 4 * (blocks - blocks / 64));
            allocated_bytes(|| wear.build(&layout)) as f64
        });
        let (stated, kept) = (entry.memory.block_bytes, (large - small) / f64::from(BLOCKS));
        assert!((stated - stated / 32.0..=stated).contains(&kept), "{}: {stated} stated, {kept} kept", entry.name);
    }
}

#[test]
fn a_stack_is_filled_with_every_default_and_reads_back() {
    let asked = Stack::with("dftl", [("cmt", "2 MiB")]);
    let filled = resolve(&asked).expect("valid").filled();
    assert_eq!(filled.mapping.settings.len(), entry("dftl").expect("known").parameters.len());
    assert_eq!(filled.mapping.settings["cmt"], "2097152");
    assert_eq!(filled.to_string().parse(), Ok(filled.clone()));
    assert_eq!(resolve(&filled).expect("valid").filled(), filled);
}

#[test]
fn parts_that_do_not_go_together_are_refused_by_name() {
    for (text, words) in [
        ("pgae", "pgae"),
        ("page:cmt=1", "page.cmt"),
        ("page+owll:bat=1", "owll is neither a wear policy nor a buffer"),
        ("page+fast", "fast is a mapping"),
        ("page+none+none", "none is a second wear policy"),
        ("page+none:x=1", "none has no parameter x"),
    ] {
        let error = resolve(&text.parse().expect("a spelling")).expect_err(text).to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn names_in_other_capitals_are_those_of_the_registry() {
    let stack = with_known_names("DFTL:cmt=64k+Dynamic+Nothing".parse().expect("a stack"));
    assert_eq!(stack.to_string(), "dftl:cmt=64k+dynamic+Nothing");
}

#[test]
fn an_unknown_scheme_is_refused_with_the_list() {
    let message = entry("dtfl").expect_err("unknown").to_string();
    let all: Vec<_> = mappings().into_iter().map(|entry| entry.name).collect();
    assert!(message.contains("dtfl") && message.contains(&all.join(", ")), "{message}");
}

#[test]
fn what_knows_the_future_of_the_host_takes_no_buffer() {
    let layout = layout(256, 16, 2000);
    let create = |text: &str| create(&text.parse().expect("a spelling"), &layout);
    assert!(create("page:streams=oracle").is_ok_and(|drive| drive.needs_future()));
    assert!(create("page:streams=sepbit+lru:ram=16KiB").is_ok());
    let refused = create("page:streams=oracle+lru:ram=16KiB").err().expect("refused");
    assert!(refused.0.contains("is not what lru passes on; leave lru out"), "{}", refused.0);
}
