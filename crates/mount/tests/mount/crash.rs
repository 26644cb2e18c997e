//! Power cuts at every operation of the device: the volume is as it was when everything was safe
//! last, or as it was about to be.

use std::collections::BTreeMap;

use mount::{Attributes, FileError, ROOT, Tree};

use crate::device::{Memory, PAGE, Survives};

pub(crate) type Files = BTreeMap<String, Option<Vec<u8>>>;

/// All files and folders with their contents.
pub(crate) fn all(tree: &mut Tree<Memory>) -> Files {
    try_all(tree).expect("readable")
}

pub(crate) fn try_all(tree: &mut Tree<Memory>) -> Result<Files, FileError> {
    let mut files = Files::new();
    let mut folders = vec![(String::new(), ROOT)];
    while let Some((path, folder)) = folders.pop() {
        for listed in tree.list(folder)? {
            let Attributes { number, bytes, .. } = tree.lookup(folder, &listed.name)?;
            let full = format!("{path}/{}", listed.name);
            if listed.is_folder {
                folders.push((full.clone(), number));
                files.insert(full, None);
            } else {
                files.insert(full, Some(tree.read(number, 0, bytes as u32)?));
            }
        }
    }
    Ok(files)
}

/// Removes everything; whatever is not free then was lost.
fn empty(tree: &mut Tree<Memory>) {
    let mut paths: Vec<String> = all(tree).into_keys().collect();
    paths.sort_by_key(|path| std::cmp::Reverse(path.matches('/').count()));
    for path in paths {
        let (folder, name) = path.rsplit_once('/').expect("from the root");
        let folder = folder.split('/').skip(1).fold(ROOT, |at, name| tree.lookup(at, name).expect("there").number);
        if tree.lookup(folder, name).expect("there").is_folder {
            tree.remove_folder(folder, name).expect("empty");
        } else {
            tree.remove(folder, name).expect("a file");
        }
    }
}

fn write(tree: &mut Tree<Memory>, folder: u64, name: &str, bytes: &[u8]) -> Result<(), FileError> {
    let file = tree.create(folder, name, false)?;
    tree.write(file.number, 0, bytes)?;
    tree.close(file.number)
}

/// What programs do, with everything made safe now and then; `safe` is told what there is then,
/// before and after.
pub(crate) fn script(tree: &mut Tree<Memory>, mut safe: impl FnMut(Files, bool)) -> Result<(), FileError> {
    let mut sync = |tree: &mut Tree<Memory>| {
        let now = try_all(tree)?;
        safe(now.clone(), false);
        tree.sync()?;
        safe(now, true);
        Ok::<(), FileError>(())
    };
    sync(tree)?;
    let folder = tree.create_folder(ROOT, "a folder")?.number;
    write(tree, folder, "config", &[1; 9_000])?;
    write(tree, ROOT, "db", &vec![7; 20_000])?;
    sync(tree)?;
    for round in 2..5 {
        // As editors and git do: a new file takes the place of the old one, whose clusters are free
        // then and used again.
        write(tree, folder, "config.lock", &[round; 9_500])?;
        sync(tree)?;
        tree.rename((folder, "config.lock"), (folder, "config"), true)?;
        write(tree, ROOT, &format!("reuse {round}"), &vec![round; 30_000])?;
        sync(tree)?;
        // As databases do: in place.
        let db = tree.lookup(ROOT, "db")?.number;
        tree.open(db)?;
        tree.write(db, 8_192, &[round; 5_000])?;
        tree.close(db)?;
        sync(tree)?;
        let inner = tree.create_folder(folder, &format!("folder {round}"))?.number;
        tree.rename((ROOT, &format!("reuse {round}")), (inner, "moved.txt"), true)?;
        tree.rename((folder, &format!("folder {round}")), (ROOT, &format!("out {round}")), true)?;
        sync(tree)?;
        // Removed while it is open: nobody sees it after a cut, and its clusters are free.
        let open = tree.lookup(inner, "moved.txt")?.number;
        tree.open(open)?;
        tree.remove(inner, "moved.txt")?;
        tree.write(open, 30_000, &[9; 5_000])?;
        sync(tree)?;
        tree.close(open)?;
    }
    tree.unmount()
}

/// Whether files are those of one moment, or of the next: in place, page by page.
pub(crate) fn is_between(contents: &Files, old: &Files, new: &Files) -> bool {
    [old, new].into_iter().any(|names| {
        names.keys().eq(contents.keys())
            && contents.iter().all(|(path, bytes)| match (bytes, &names[path]) {
                (None, None) => true,
                (Some(bytes), Some(whole)) => {
                    let other = |files: &Files, page: usize, bytes: &[u8]| {
                        let content = files.get(path).and_then(Option::as_ref);
                        content.is_some_and(|content| content.chunks(PAGE).nth(page) == Some(bytes))
                    };
                    bytes.len() == whole.len()
                        && bytes.chunks(PAGE).enumerate().all(|(page, bytes)| {
                            whole.chunks(PAGE).nth(page) == Some(bytes)
                                || path == "/db" && (other(old, page, bytes) || other(new, page, bytes))
                        })
                }
                _ => false,
            })
    })
}

/// The differences from both, to help find the reason.
pub(crate) fn difference(contents: &Files, old: &Files, new: &Files) -> String {
    let short = |files: &Files| -> Vec<String> {
        let sum = |bytes: &Option<Vec<u8>>| {
            bytes.as_ref().map(|bytes| (bytes.len(), bytes.iter().map(|&b| u64::from(b)).sum::<u64>()))
        };
        files.iter().map(|(path, bytes)| format!("{path} {:?}", sum(bytes))).collect()
    };
    format!("\nfound {:?}\nold {:?}\nnew {:?}", short(contents), short(old), short(new))
}

#[test]
fn at_whatever_moment_the_power_is_cut_the_volume_is_as_it_was_or_as_it_should_be() {
    let (mut total, mut cuts) = (None, 0);
    let mut at = 0;
    while total.is_none_or(|total| at < total) {
        for survives in [Survives::Nothing, Survives::Everything, Survives::Some(2), Survives::Some(3)] {
            let mut device = Memory::formatted(24);
            device.1 = survives;
            let free = device.mounted().space().free;
            let mut tree = device.mounted();
            let first = device.state().operations;
            device.state().cut_at = Some(first + at);
            let (mut old, mut new) = (Files::new(), Files::new());
            let result = script(&mut tree, |files, is_safe| if is_safe { old = files } else { new = files });
            drop(tree);
            if result.is_ok() {
                total = Some(at);
                continue;
            }
            cuts += 1;
            device.restart();
            let mut tree = device.mounted();
            let files = all(&mut tree);
            assert!(is_between(&files, &old, &new), "cut at {at}, {survives:?}: {}", difference(&files, &old, &new));
            empty(&mut tree);
            assert_eq!(tree.space().free, free, "cut at {at}, {survives:?}");
            tree.unmount().expect("power");
        }
        at += 1;
    }
    println!("{cuts} cuts");
    assert!(cuts > 400, "{cuts}");
}

#[test]
fn a_power_cut_while_the_host_stays_up_loses_nothing() {
    let mut at = 0;
    loop {
        for survives in [Survives::Nothing, Survives::Some(2)] {
            let mut device = Memory::formatted(24);
            device.1 = survives;
            let first = device.state().operations;
            (device.state().cut_at, device.state().comes_back) = (Some(first + at), true);
            let mut last = Files::new();
            script(&mut device.mounted(), |files, _| last = files).expect("the power comes back");
            if device.state().cut_at.is_some() {
                assert!(at > 100, "{at}");
                return;
            }
            device.restart();
            assert_eq!(all(&mut device.mounted()), last, "cut at {at}, {survives:?}");
        }
        at += 3;
    }
}

#[test]
fn what_hosts_that_are_killed_leave_is_repaired_without_losing_what_was_safe() {
    // A process that is killed leaves what it wrote in order: everything up to some operation, and
    // nothing behind.
    for at in (0..120).step_by(5) {
        let (device, mut tree) = Memory::mounted_anew(24);
        let first = device.state().operations;
        device.state().cut_at = Some(first + at);
        let mut safe = Files::new();
        let mut next = Files::new();
        let killed = script(&mut tree, |files, is_safe| if is_safe { safe = files } else { next = files });
        if killed.is_ok() {
            return;
        }
        device.restart();
        let again = all(&mut device.mounted());
        assert!(is_between(&again, &safe, &next), "{at}: {}", difference(&again, &safe, &next));
        device.mounted().unmount().expect("power");
        assert_eq!(all(&mut device.mounted()), again);
    }
}
