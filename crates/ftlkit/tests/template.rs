//! The template of `examples/my-ftl` does what its page says: the program that it is lists,
//! compares, checks and tortures its FTL, and it can be built where it lies outside of this
//! repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The program of the template, which cargo builds beside these tests.
fn my_ftl(words: &[&str]) -> Output {
    let tests = std::env::current_exe().expect("a test program has a path");
    let target = tests.parent().and_then(Path::parent).expect("it lies in target/PROFILE/deps");
    let program = target.join("examples/my-ftl");
    let output = Command::new(&program).args(words).output();
    output.unwrap_or_else(|error| panic!("{}: {error}; `cargo test -p ftlkit` builds it", program.display()))
}

/// What rustc calls the system that this runs on.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().expect("rustc");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    told.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host").to_owned()
}

fn printed(output: &Output, code: i32) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    out + &err
}

#[test]
fn the_template_lists_compares_checks_and_tortures_its_ftl() {
    let listed = printed(&my_ftl(&["list"]), 0);
    assert!(listed.lines().any(|line| line.contains("yours") && line.contains("hot-cold")), "{listed}");

    let compared =
        printed(&my_ftl(&["compare", "fin1", "--requests", "5000", "--capacity", "64MiB", "--addresses", "wrap"]), 0);
    let labels: Vec<_> = compared.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(labels, ["run", "page", "hot-cold"], "{compared}");

    let study = root().join("examples/my-ftl/study.toml");
    let compared = printed(&my_ftl(&["compare", study.to_str().expect("a path in UTF-8")]), 0);
    assert!(compared.lines().any(|line| line.starts_with("hot-cold")), "{compared}");

    let checked = printed(&my_ftl(&["check"]), 0);
    assert!(checked.contains("hot-cold: ") && checked.contains(" 0 failures"), "{checked}");

    let tortured = printed(&my_ftl(&["torture", "--minutes", "0.05"]), 0);
    let row = tortured.lines().nth(1).unwrap_or_default();
    let cells: Vec<_> = row.split_whitespace().collect();
    assert!(cells.len() > 2 && cells[0] == "hot-cold" && cells.last() == Some(&"0"), "{tortured}");
    assert!(cells[1].parse::<u64>().expect("trials") > 10, "{tortured}");
}

#[test]
fn what_cannot_be_run_is_refused_in_words() {
    for (words, part) in [
        (&["tortrue"][..], "tortrue: no such command. Usage: list"),
        (&[], "Usage: list"),
        (&["list", "page"], "list takes options only"),
        (&["compare"], "compare takes a workload preset, a trace or a study file: one, and here are 0"),
        (&["compare", "fin9"], "fin9"),
        (&["compare", "missing.toml"], "missing.toml: cannot be read"),
        (&["torture", "--ftl", "mine"], "unknown FTL mine"),
        (&["torture", "--minutes", "-1"], "--minutes -1"),
        (&["check", "--ftl", "hot-cold:soon=200"], "hot-cold.soon = 200: out of range"),
        (&["replay", "check::replay"], "check::replay"),
    ] {
        let said = printed(&my_ftl(words), 2);
        assert!(said.contains(part), "{words:?}: {said}");
    }
}

#[test]
fn a_broken_promise_is_found_and_replayed_by_its_line() {
    let found = printed(&my_ftl(&["torture", "--ftl", "canary:bug=stale-read", "--minutes", "0.2"]), 1);
    assert!(found.contains("breaks promise"), "{found}");
    let line = found.split("replay '").nth(1).and_then(|rest| rest.split('\'').next()).expect("a replay line");
    let again = printed(&my_ftl(&["replay", line]), 1);
    assert!(again.contains("breaks promise"), "{again}");
}

/// Outside it is a workspace of its own: it takes nothing from this one but the path to ftlkit. All
/// of ftlkit would be compiled once more for it, which takes minutes: that is done with
/// `FTLKIT_LONG`, and otherwise only what it depends on is looked for.
#[test]
fn a_copy_outside_of_the_repository_is_a_workspace_that_compiles() {
    let outside = tempfile::tempdir().expect("a folder");
    let (from, to) = (root().join("examples/my-ftl"), outside.path());
    fs::create_dir(to.join("src")).expect("a folder of its own");
    for file in ["src/main.rs", "src/hot_cold.rs"] {
        fs::copy(from.join(file), to.join(file)).expect("a file of the template");
    }
    let manifest = fs::read_to_string(from.join("Cargo.toml")).expect("its manifest");
    let ftlkit = root().join("crates/ftlkit").canonicalize().expect("a folder");
    let moved = manifest.replace("../../crates/ftlkit", &ftlkit.display().to_string());
    assert_ne!(manifest, moved, "the template names ftlkit by another path");
    fs::write(to.join("Cargo.toml"), moved).expect("a manifest");
    // The versions of this workspace, which are at hand without a network.
    fs::copy(root().join("Cargo.lock"), to.join("Cargo.lock")).expect("a lock file");
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let check: &[&str] = &["check", "--offline", "--quiet"];
    // Of other systems' crates nothing may be at hand.
    let metadata: &[&str] = &["metadata", "--offline", "--format-version", "1", "--filter-platform", &host()];
    let built = Command::new(cargo)
        .args(if std::env::var_os("FTLKIT_LONG").is_some() { check } else { metadata })
        .current_dir(to)
        .env("CARGO_TARGET_DIR", root().join("target/outside"))
        .output()
        .expect("cargo");
    printed(&built, 0);
}
