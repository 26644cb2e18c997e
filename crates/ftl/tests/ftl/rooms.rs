//! The house plan as a test: which room may know which, and what the translation layers must never see.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each crate of the workspace with the crates of the workspace that it may depend on.
const ROOMS: [(&str, &[&str]); 12] = [
    ("crates/flash", &[]),
    ("crates/ftl", &["flash"]),
    ("crates/trace", &[]),
    ("crates/analyzer", &[]),
    ("crates/files", &["analyzer", "fat", "trace"]),
    ("crates/check", &["flash", "ftl"]),
    ("crates/sim", &["check", "flash", "ftl", "trace"]),
    ("crates/live", &["flash", "ftl", "sim", "trace"]),
    ("crates/fat", &[]),
    ("crates/mount", &["analyzer", "fat", "ftl", "live"]),
    ("crates/py", &["check", "files", "ftl", "live", "mount", "sim", "trace"]),
    ("benches", &["files", "flash", "ftl", "sim", "trace"]),
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
fn a_scheme_never_imports_another_scheme() {
    let schemes = root().join("crates/ftl/src/schemes");
    for (path, text) in sources(&schemes) {
        let own = module(&schemes, &path).into_iter().next();
        for import in text.split("crate::schemes::").skip(1) {
            let scheme = import.split(|sign: char| !sign.is_alphanumeric() && sign != '_').next().unwrap_or_default();
            assert!(own.as_deref() == Some(scheme), "{path} imports {scheme}; what two schemes need is an engine's");
        }
    }
}

/// The lines of a file besides its tests.
fn lines(text: &str) -> usize {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().lines().count()
}

#[test]
fn files_stay_small() {
    for (folder, _) in ROOMS {
        let room = root().join(folder).join("src");
        for (path, text) in room.is_dir().then(|| sources(&room)).into_iter().flatten() {
            let lines = lines(&text);
            assert!(lines <= 600, "{path} has {lines} lines besides its tests, and 600 are the most: split it");
        }
    }
}

/// A module's path within its crate, as `["parts", "pool"]`.
type Module = Vec<String>;

fn module(source: &Path, file: &str) -> Module {
    let inside = Path::new(file).strip_prefix(source).expect("a file of the crate").with_extension("");
    let mut names: Module = inside.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.last().is_some_and(|last| last == "mod" || names.len() == 1 && last == "lib") {
        names.pop();
    }
    names
}

/// What a `use` names, its braces resolved: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn paths(import: &str) -> Vec<String> {
    let Some((before, rest)) = import.split_once('{') else {
        return vec![import.split(" as ").next().unwrap_or(import).trim().to_owned()];
    };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, sign) in inner.char_indices().chain([(inner.len(), ',')]) {
        match sign {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.extend(paths(&format!("{before}{}", inner[start..at].trim())));
                start = at + 1;
            }
            _ => {}
        }
    }
    found.into_iter().map(|path| path.trim().to_owned()).filter(|path| !path.ends_with("::")).collect()
}

/// A text without its comments and what is compiled for tests alone.
fn code(text: &str) -> String {
    let code: String = text.lines().map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n").collect();
    let mut parts = code.split("#[cfg(test)]");
    let before = parts.next().unwrap_or_default().to_owned();
    before + &parts.map(after_item).collect::<String>()
}

/// What follows the first item, field or statement of a text.
fn after_item(text: &str) -> &str {
    let mut depth = 0;
    for (at, sign) in text.char_indices() {
        match sign {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 && matches!(sign, ',' | ';' | '}') {
            return &text[at + 1..];
        }
    }
    ""
}

/// Every path that a code names, whether in a `use` or where it is used.
fn named(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for statement in code.split(';') {
        let start = statement.rfind("use ").filter(|&at| at == 0 || statement[..at].ends_with([' ', '\n']));
        found.extend(start.map(|at| paths(&statement[at + 4..])).into_iter().flatten());
    }
    let signs = |sign: char| !(sign.is_alphanumeric() || "_:".contains(sign));
    found.extend(code.split(signs).filter(|path| path.contains("::")).map(str::to_owned));
    found
}

/// The modules of the same crate that a file imports, or asks for something by its path, outside its tests.
fn imports(text: &str, from: &Module, modules: &BTreeSet<Module>) -> BTreeSet<Module> {
    let mut found = BTreeSet::new();
    for path in named(&code(text)) {
        let names: Vec<_> = path.split("::").map(str::trim).collect();
        let mut target = match names[0] {
            "crate" => Module::new(),
            "self" | "super" => from.clone(),
            _ => continue,
        };
        for name in names {
            match name {
                "crate" | "self" => {}
                "super" => drop(target.pop()),
                _ => {
                    target.push(name.to_owned());
                    if !modules.contains(&target) {
                        target.pop();
                        break;
                    }
                }
            }
        }
        // What a crate's root offers is no import of a file, and neither is what a module finds in itself.
        if !target.is_empty() && target != *from {
            found.insert(target);
        }
    }
    found
}

/// Modules that import each other, directly or through others: all that are left when those that import nothing more, and
/// those that nobody imports, have been taken away again and again.
fn circular(mut graph: BTreeMap<Module, BTreeSet<Module>>) -> Vec<String> {
    loop {
        let imported: BTreeSet<Module> = graph.values().flatten().cloned().collect();
        let done: BTreeSet<Module> = graph
            .iter()
            .filter(|(from, to)| to.is_empty() || !imported.contains(*from))
            .map(|(from, _)| from.clone())
            .collect();
        if done.is_empty() {
            return graph.keys().map(|module| module.join("::")).collect();
        }
        graph.retain(|from, _| !done.contains(from));
        for to in graph.values_mut() {
            to.retain(|module| !done.contains(module));
        }
    }
}

#[test]
fn no_files_of_a_crate_import_each_other_in_a_circle() {
    for (folder, _) in ROOMS {
        let source = root().join(folder).join("src");
        if !source.is_dir() {
            continue;
        }
        let files = sources(&source);
        let modules: BTreeSet<_> = files.iter().map(|(path, _)| module(&source, path)).collect();
        let graph = files.iter().map(|(path, text)| {
            let from = module(&source, path);
            let to = imports(text, &from, &modules);
            (from, to)
        });
        let graph = graph.collect();
        let circle = circular(graph);
        assert!(circle.is_empty(), "{folder}: these files import each other: {}", circle.join(", "));
    }
}

#[test]
fn circles_are_seen() {
    let file = |name: &str| vec![name.to_owned()];
    let modules: BTreeSet<_> = ["a", "b", "c"].map(file).into();
    let of = |text: &str, from: &str| imports(text, &file(from), &modules);
    assert_eq!(of("use crate::{b::{X, Y}, c};\nuse std::fmt;", "a"), [file("b"), file("c")].into());
    assert_eq!(
        of("//! use crate::c::Z;\nuse super::b::X as Y;\n#[cfg(test)]\nuse crate::c::Z;", "a"),
        [file("b")].into()
    );
    let inline = "fn f() { super::b::g(crate::c::Z) }\n#[cfg(test)]\nmod d;\nimpl crate::b::X {}";
    assert_eq!(of(inline, "a"), [file("b"), file("c")].into());
    assert_eq!(
        of("#[cfg(test)]\nfn g(a: T, b: U) { crate::b::f(); }\nstruct S(crate::c::Z);", "a"),
        [file("c")].into()
    );
    let graph = |c: &str| {
        let texts = [("a", "use crate::b::X;"), ("b", "use crate::c::Y;"), ("c", c)];
        texts.into_iter().map(|(from, text)| (file(from), of(text, from))).collect()
    };
    assert!(circular(graph("use std::fmt;")).is_empty());
    assert_eq!(circular(graph("use super::a::Z;")), ["a", "b", "c"]);
    assert_eq!(circular(graph("const N: u32 = crate::a::N;")), ["a", "b", "c"]);
}
