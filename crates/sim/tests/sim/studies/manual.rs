//! `docs/study.md` has the table of keys as it is, names every preset, and its example runs.

use std::fs;
use std::path::{Path, PathBuf};

use sim::study::keys;
use sim::{Study, presets};

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/study.md")
}

fn manual() -> String {
    fs::read_to_string(path()).unwrap_or_else(|error| panic!("{}: {error}", path().display()))
}

#[test]
fn the_manual_has_the_row_of_every_key() {
    let (manual, mut written, mut section) = (manual(), String::new(), String::new());
    let mut rows = Vec::new();
    for line in manual.split_inclusive('\n') {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading.trim().trim_matches(['`', '[', ']']).to_owned();
        }
        let name = line.strip_prefix("| `").and_then(|rest| rest.split('`').next());
        let row = name.and_then(|name| keys().find(|key| key.section == section && key.name == name));
        rows.extend(row.map(|row| (row.section, row.name)));
        written += &row.map_or_else(|| line.to_owned(), |row| row.manual_row() + "\n");
    }
    let missing: Vec<_> = keys().filter(|key| !rows.contains(&(key.section, key.name))).collect();
    assert!(missing.is_empty(), "docs/study.md has no rows for {missing:?}; give each a row that begins with its name");
    if std::env::var_os("FTLKIT_WRITE_DOCS").is_some() {
        fs::write(path(), &written).expect("docs/study.md is written");
    }
    let differs = written.lines().zip(manual.lines()).find(|(ours, its)| ours != its);
    assert_eq!(differs, None, "set FTLKIT_WRITE_DOCS=1 to write the table of keys into docs/study.md");
}

#[test]
fn the_manual_has_every_section_and_preset() {
    let manual = manual();
    let names = presets().iter().map(|preset| preset.name.as_str());
    for name in names.chain(["name", "seed", "label"]) {
        assert!(manual.contains(&format!("\n| `{name}` |")), "docs/study.md has no row for `{name}`");
    }
    let study = serde_json::to_value(Study::default()).expect("plain data");
    for section in study.as_object().expect("a table").keys().filter(|key| !["name", "seed"].contains(&key.as_str())) {
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
