//! The house plan as a test: which room may know which, and what the translation layers must never see.

use std::fs;
use std::path::{Path, PathBuf};

/// Each crate of the workspace with the crates of the workspace that it may depend on.
const ROOMS: [(&str, &[&str]); 8] = [
    ("crates/flash", &[]),
    ("crates/ftl", &["flash"]),
    ("crates/trace", &[]),
    ("crates/check", &["flash", "ftl"]),
    ("crates/sim", &["check", "flash", "ftl", "trace"]),
    ("crates/live", &["flash", "ftl", "sim", "trace"]),
    ("crates/py", &["check", "ftl", "live", "sim", "trace"]),
    ("benches", &["flash", "ftl", "sim", "trace"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The names under `[dependencies]` of a manifest.
fn dependencies(manifest: &str) -> Vec<String> {
    let section = manifest.split("\n[").find_map(|section| section.strip_prefix("dependencies]")).unwrap_or_default();
    let name = |line: &str| line.split(['.', '=', ' ']).next().unwrap_or_default().to_owned();
    section.lines().map(name).filter(|name| !name.is_empty() && !name.starts_with('#')).collect()
}

fn sources(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of the project") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push((path.display().to_string(), fs::read_to_string(&path).expect("a text file")));
        }
    }
    found
}

#[test]
fn imports_go_one_way() {
    let workspace: Vec<_> = ROOMS.iter().map(|(folder, _)| folder.rsplit('/').next().unwrap_or(folder)).collect();
    for (folder, allowed) in ROOMS {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).expect("a manifest");
        for dependency in dependencies(&manifest).iter().filter(|name| workspace.contains(&name.as_str())) {
            assert!(
                allowed.contains(&dependency.as_str()),
                "{folder} must not depend on {dependency}; see ARCHITECTURE.md"
            );
        }
    }
}

#[test]
fn every_crate_is_in_the_table() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the workspace's manifest");
    let members =
        manifest.split("members = [").nth(1).and_then(|rest| rest.split(']').next()).expect("a list of members");
    for member in members.split(',').map(|member| member.trim().trim_matches('"')).filter(|member| !member.is_empty()) {
        assert!(ROOMS.iter().any(|(folder, _)| *folder == member), "{member} is missing from the table of rooms");
    }
}

#[test]
fn the_translation_layers_see_no_clock_thread_file_or_socket() {
    for room in ["crates/flash/src", "crates/ftl/src"] {
        for (path, text) in sources(&root().join(room)) {
            for forbidden in
                ["std::time", "std::thread", "std::fs", "std::net", "std::env", "HashMap", "HashSet", "thread_local"]
            {
                assert!(!text.contains(forbidden), "{path} mentions {forbidden}");
            }
        }
    }
}

#[test]
fn a_mapping_never_imports_another_mapping() {
    for (path, text) in sources(&root().join("crates/ftl/src/mapping")) {
        let imports =
            text.lines().filter(|line| line.contains("crate::mapping::") && !line.contains("mapping::testing"));
        assert_eq!(imports.count(), 0, "{path} imports another mapping; shared mechanisms belong in parts/");
    }
}
