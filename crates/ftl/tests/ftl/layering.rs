//! Layering: which crate and which module may know which, and what the translation layers must
//! never see.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each crate of the workspace with the crates of the workspace that it may depend on.
const CRATES: [(&str, &[&str]); 17] = [
    ("crates/host", &[]),
    ("crates/quantity", &[]),
    ("crates/random", &[]),
    ("crates/flash", &[]),
    ("crates/ftl", &["flash", "host", "quantity", "random"]),
    ("crates/testkit", &["flash", "ftl"]),
    ("crates/trace", &["host", "quantity", "random"]),
    ("crates/analyzer", &[]),
    ("crates/files", &["analyzer", "fat", "random", "trace"]),
    ("crates/check", &["flash", "ftl", "random"]),
    ("crates/sim", &["check", "flash", "ftl", "random", "trace"]),
    ("crates/live", &["flash", "ftl", "sim", "trace"]),
    ("crates/fat", &[]),
    ("crates/mount", &["analyzer", "fat", "ftl", "live"]),
    ("crates/ftlkit", &["check", "flash", "ftl", "live", "sim"]),
    ("crates/py", &["check", "files", "flash", "ftl", "ftlkit", "live", "mount", "quantity", "sim", "trace"]),
    ("benches", &["files", "flash", "ftl", "random", "sim", "trace"]),
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
    let workspace: Vec<_> = CRATES.iter().map(|(folder, _)| folder.rsplit('/').next().unwrap_or(folder)).collect();
    for (folder, allowed) in CRATES {
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
        assert!(CRATES.iter().any(|(folder, _)| *folder == member), "{member} is missing from the table of crates");
    }
}

#[test]
fn the_translation_layers_see_no_clock_thread_file_or_socket() {
    for folder in ["crates/flash/src", "crates/ftl/src"] {
        // The tests' own helpers count allocations per thread.
        for (path, text) in sources(&root().join(folder)).into_iter().filter(|(path, _)| !path.ends_with("testing.rs"))
        {
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
    for (folder, _) in CRATES {
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

/// What a `use` names, its braces resolved: `a::{b, c::d as e}` is `a::b` and `a::c::d as e`.
fn whole_paths(import: &str) -> Vec<String> {
    let Some((before, rest)) = import.split_once('{') else { return vec![import.trim().to_owned()] };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, sign) in inner.char_indices().chain([(inner.len(), ',')]) {
        match sign {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.extend(whole_paths(&format!("{before}{}", inner[start..at].trim())));
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
        found.extend(start.into_iter().flat_map(|at| aliased(&statement[at + 4..])).map(|(path, _)| path));
    }
    let signs = |sign: char| !(sign.is_alphanumeric() || "_:".contains(sign));
    found.extend(code.split(signs).filter(|path| path.contains("::")).map(str::to_owned));
    found
}

/// The sources of a crate by module, tests left out. The crate's root is the empty path.
struct Sources(BTreeMap<Module, String>);

impl Sources {
    fn read(folder: &Path) -> Self {
        let files = sources(folder).into_iter().map(|(path, text)| (module(folder, &path), code(&text)));
        Self(files.filter(|(module, _)| module.last().is_none_or(|name| name != "tests")).collect())
    }

    /// The longest module at the beginning of a path, and what follows it.
    fn longest(&self, path: &[String]) -> (Module, Vec<String>) {
        let depth = (0..=path.len()).rev().find(|&depth| self.0.contains_key(&path[..depth])).unwrap_or(0);
        (path[..depth].to_vec(), path[depth..].to_vec())
    }

    /// A path that stands in a module, from the crate's root on; none if it leads to another crate.
    fn absolute(&self, from: &Module, path: &str) -> Option<Vec<String>> {
        let names: Vec<_> = path.split("::").map(|name| name.trim().to_owned()).collect();
        let child = [from.as_slice(), &names[..1]].concat();
        let mut place = match names[0].as_str() {
            "crate" => Module::new(),
            "self" | "super" => from.clone(),
            _ if self.0.contains_key(&child) => from.clone(),
            _ => return None,
        };
        for name in names {
            match name.as_str() {
                "crate" | "self" => {}
                "super" => drop(place.pop()),
                _ => place.push(name),
            }
        }
        Some(place)
    }

    /// What each module offers that another defines: (module, name) → the other's path.
    fn exports(&self) -> BTreeMap<(Module, String), Vec<String>> {
        let mut exports = BTreeMap::new();
        for (from, text) in &self.0 {
            for statement in text.split(';').filter_map(|text| text.rfind("pub").map(|at| &text[at..])) {
                let is_use = statement.split_whitespace().nth(1) == Some("use");
                let Some(import) = statement.split_once("use ").filter(|_| is_use).map(|(_, import)| import) else {
                    continue;
                };
                for (path, name) in aliased(import) {
                    exports.extend(self.absolute(from, &path).map(|path| ((from.clone(), name), path)));
                }
            }
        }
        exports
    }

    /// The modules of the same crate that each module imports, re-exports followed to where a name
    /// is defined.
    fn graph(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let exports = self.exports();
        let resolve = |from: &Module, path: &str| {
            let (mut target, mut rest) = self.longest(&self.absolute(from, path)?);
            for _ in 0..8 {
                let Some(further) = rest.first().and_then(|name| exports.get(&(target.clone(), name.clone()))) else {
                    break;
                };
                (target, rest) = self.longest(further);
            }
            // What a crate's root defines itself is no import of a file, and neither is what a
            // module finds in itself.
            (!target.is_empty() && target != *from).then_some(target)
        };
        let modules = self.0.iter().filter(|(from, _)| !from.is_empty());
        modules
            .map(|(from, text)| {
                let paths = named(text);
                (from.clone(), paths.iter().filter_map(|path| resolve(from, path)).collect())
            })
            .collect()
    }
}

/// What a `use` names, each with the name that it gets.
fn aliased(import: &str) -> Vec<(String, String)> {
    let name_of = |path: &str| path.rsplit("::").next().unwrap_or(path).trim().to_owned();
    whole_paths(import)
        .into_iter()
        .map(|path| match path.split_once(" as ") {
            Some((path, name)) => (path.trim().to_owned(), name.trim().to_owned()),
            None => (path.clone(), name_of(&path)),
        })
        .collect()
}

/// Modules that import each other, directly or through others: all that are left when those that
/// import nothing more, and those that nobody imports, have been taken away again and again.
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
fn no_modules_of_a_crate_import_each_other_in_a_circle() {
    for (folder, _) in CRATES {
        let circle = circular(Sources::read(&root().join(folder).join("src")).graph());
        assert!(circle.is_empty(), "{folder}: these modules import each other: {}", circle.join(", "));
    }
}

/// The floors of a crate, from the top down: a module imports from its own floor and from those
/// below.
const FLOORS: [(&str, &[&[&str]]); 3] = [
    (
        "crates/ftl",
        &[
            &["registry"],
            &["drive", "stack"],
            &["write_buffer"],
            &["schemes"],
            &["classifiers"],
            &["engines"],
            &["recovery", "blocks"],
            &["wear", "refresh"],
            &["api", "port", "linked_lists", "prefetch"],
        ],
    ),
    (
        "crates/sim",
        &[
            &["compare"],
            &["host"],
            &["workload"],
            &["setup"],
            &["timing"],
            &["observe"],
            &["paging", "table"],
            &["memory", "result"],
            &["error"],
            &["control", "latencies"],
        ],
    ),
    (
        "crates/check",
        &[&["torture"], &["drivers"], &["canary", "report"], &["oracle"], &["inject"], &["case"], &["shared", "stamp"]],
    ),
];

#[test]
fn imports_go_down_the_floors_of_a_crate() {
    for (folder, floors) in FLOORS {
        let floor_of = |module: &Module| floors.iter().position(|floor| floor.contains(&module[0].as_str()));
        let graph = Sources::read(&root().join(folder).join("src")).graph();
        for (from, to) in graph.iter().filter(|(from, _)| from[0] != "testing") {
            let upper = from.join("::");
            assert!(floor_of(from).is_some(), "{folder}: {upper} has no floor; name its folder in FLOORS");
            for below in to {
                let lower = below.join("::");
                assert!(floor_of(below) >= floor_of(from), "{folder}: {upper} imports {lower}, which stands above it");
            }
        }
    }
}

/// The modules in circles of a crate of these files.
fn circles_of<const N: usize>(files: [(&str, &str); N]) -> Vec<String> {
    let module = |path: &str| path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
    circular(Sources(files.map(|(path, text)| (module(path), code(text))).into()).graph())
}

#[test]
fn planted_circles_are_found() {
    let through = |c: &str| circles_of([("a", "use crate::b::{X, W};"), ("b", "use crate::c::Y as V;"), ("c", c)]);
    assert!(through("use std::fmt;").is_empty());
    assert_eq!(through("use super::a::Z;"), ["a", "b", "c"]);
    assert_eq!(through("const N: u32 = crate::a::N;"), ["a", "b", "c"]);
    assert_eq!(through("fn f() { super::a::g() }\n#[cfg(test)]\nmod d;"), ["a", "b", "c"]);
    assert!(through("//! use crate::a::Z;\n#[cfg(test)]\nuse crate::a::Z;").is_empty());
    assert!(through("#[cfg(test)]\nfn g(a: T, b: U) { crate::a::f(); }").is_empty());
}

#[test]
fn a_circle_through_a_re_export_is_found() {
    let files = [("", "mod a;\nmod b;\npub use a::Thing;"), ("a", "use crate::b::Other;\npub struct Thing;")];
    assert_eq!(circles_of([files[0], files[1], ("b", "use crate::Thing;\npub struct Other;")]), ["a", "b"]);
    assert!(circles_of([files[0], files[1], ("b", "pub struct Other;")]).is_empty());
    let renamed = [("", "pub(crate) use a::Thing as Renamed;"), files[1], ("b", "use crate::Renamed;")];
    assert_eq!(circles_of(renamed), ["a", "b"]);
}

#[test]
fn a_circle_of_parent_and_bare_child_is_found() {
    let child = ("a::child", "use super::Parent;\npub struct Child;");
    assert_eq!(circles_of([("a", "mod child;\nuse child::Child;\npub struct Parent;"), child]), ["a", "a::child"]);
    assert!(circles_of([("a", "mod child;\npub struct Parent;"), child]).is_empty());
}
