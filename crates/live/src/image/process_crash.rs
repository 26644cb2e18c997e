//! The server is killed between any two writes: what it had answered must be there.
//!
//! Every write that a store hands over is recorded. A file that ends after any of them is what a
//! killed process leaves behind; it is opened, its translation layer recovered, and compared with
//! what had been answered by then.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::file::Taped;
use super::testing::{PAGES, cases, content, create, folder, read, start};
use crate::drive::LiveDrive;

const PAGE: usize = 512;
/// Writes: enough that every scheme erases again and again.
const ROUNDS: u32 = 800;
/// Of the moments between two writes one in this many is tried, for time's sake; no power of two,
/// so that every kind of moment is.
const ONE_IN: usize = 97;

/// The writes so far, and what had been answered when each number of them was done.
fn written(drive: &LiveDrive) -> usize {
    drive.chip().chip().store().file.tape.len()
}

#[test]
fn killed_between_any_two_writes_everything_answered_is_there() {
    for stack in cases() {
        let folder = folder();
        let path = folder.path().join("whole.img");
        create(&path, &stack, (PAGES, PAGE), 0.0);
        let mut drive = start(&path);
        let started = std::fs::read(&path).expect("the image");
        // Answers: after how many writes, which page, which round.
        let mut answers = Vec::new();
        let mut next = 1_u64;
        for round in 1..=ROUNDS {
            next = next * 48_271 % 2_147_483_647;
            let page = if round % 3 == 0 { next % 8 } else { next % PAGES };
            drive.write(page * PAGE as u64, &content(page, round, PAGE)).expect("written");
            // What waits in a write buffer is lost with the process, so there each write is
            // answered as one with FUA is.
            if round % 20 == 0 || drive.ftl().buffered().capacity_pages > 0 {
                drive.flush().expect("flushed");
            }
            // Answered in pairs, as the engine answers a batch.
            if round % 2 == 0 {
                assert!(drive.settle());
            }
            answers.push((if round % 2 == 0 { written(&drive) } else { usize::MAX }, page, round));
        }
        let erases: u32 = drive.erase_counts().iter().sum();
        assert!(erases > 10, "{stack}: {erases} erases prove nothing");
        let tape = drive.chip().chip().store().file.tape.clone();
        drop(drive);
        for killed_after in (0..=tape.len()).step_by(ONE_IN).chain([tape.len()]) {
            check_after(
                &folder.path().join("killed.img"),
                &started,
                &tape[..killed_after],
                &answers,
                &stack.to_string(),
            );
        }
    }
}

fn check_after(path: &Path, started: &[u8], tape: &[Taped], answers: &[(usize, u64, u32)], scheme: &str) {
    std::fs::write(path, started).expect("a copy");
    let file = File::options().write(true).open(path).expect("the copy");
    for entry in tape {
        match entry {
            Taped::Write(offset, bytes) => file.write_all_at(bytes, *offset).expect("written"),
            Taped::Hole(offset, length) => {
                file.write_all_at(&vec![0; *length as usize], *offset).expect("written");
            }
            Taped::Sync => {}
        }
    }
    drop(file);
    let mut drive = start(path);
    assert!(drive.findings().count() == 0, "{scheme}: {:?}", drive.findings().sentences());
    drive.ftl().check(drive.flash()).expect("invariants");
    for page in 0..PAGES {
        let of_page = || answers.iter().enumerate().filter(move |(_, (_, written, _))| *written == page);
        // The last write that was answered, its partner's answer counting for both; anything later
        // may be there or not.
        let answered = |i: usize| answers[i | 1].0 <= tape.len();
        let last = of_page().rfind(|(i, _)| answered(*i));
        let mut allowed: Vec<Vec<u8>> = of_page()
            .filter(|(i, _)| last.is_none_or(|(last, _)| *i >= last))
            .map(|(_, (_, _, round))| content(page, *round, PAGE).to_vec())
            .collect();
        if last.is_none() {
            allowed.push(vec![0; PAGE]);
        }
        let found = read(&mut drive, page).expect("readable");
        assert!(allowed.contains(&found), "{scheme}: page {page} after {} writes holds {:?}", tape.len(), &found[..12]);
    }
}
