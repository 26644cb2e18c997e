//! `docs/study.md` names every key and every preset, and its example runs.

use std::fs;
use std::path::Path;

use sim::study::{DeviceText, HostText, RunText, WorkloadText};
use sim::{PRESETS, Study};

fn manual() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/study.md");
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn keys(table: impl serde::Serialize) -> Vec<String> {
    let value = serde_json::to_value(table).expect("plain data");
    value.as_object().expect("a table").keys().cloned().collect()
}

#[test]
fn the_manual_has_a_row_for_every_key_and_preset() {
    let manual = manual();
    let tables = [
        keys(DeviceText::default()),
        keys(WorkloadText::default()),
        keys(HostText::default()),
        keys(RunText::default()),
        vec!["name".into(), "seed".into(), "label".into()],
        PRESETS.iter().map(|preset| preset.name.to_owned()).collect(),
    ];
    for key in tables.concat() {
        assert!(manual.contains(&format!("\n| `{key}` |")), "docs/study.md has no row for `{key}`");
    }
    let sections = keys(Study::default()).into_iter().filter(|key| !["name", "seed"].contains(&key.as_str()));
    for section in sections {
        let heading = if section == "ftl" { "## `[[ftl]]`".into() } else { format!("## `[{section}]`") };
        assert!(manual.contains(&heading), "docs/study.md has no section {heading}");
    }
}

#[test]
fn its_example_runs() {
    let manual = manual();
    let example = manual.split("```").nth(1).and_then(|block| block.strip_prefix("toml")).expect("an example");
    let short = example.replace("200_000", "500").replace("8GiB", "64MiB");
    assert_ne!(short, example);
    let results = super::results(&short);
    let labels: Vec<_> = results.runs.iter().map(|run| run.label.as_str()).collect();
    assert_eq!(labels, ["page", "dftl, 64 KiB"]);
}
