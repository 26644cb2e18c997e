//! Reads of what was never written: how the device is prepared for them, and that they are told.

use sim::{Control, run_study};

use super::{operations, results, study, unnamed};

fn text(pattern: &str, run: &str) -> String {
    format!(
        "[device]\nblocks_per_plane = 64\n[workload.generator]\nrequests = 2000\nspan = \"8MiB\"\nsizes = \"4KiB\"\n{pattern}\n\
         arrivals = {{ constant = {{ gap = \"5ms\" }} }}\n[run]\n{run}\n[[ftl]]\nname = \"page\"\n[[ftl]]\nname = \"dftl\""
    )
}

#[test]
fn a_device_is_filled_where_the_workload_reads_what_it_has_not_written() {
    let results = results(&text("write_share = 0.1", ""));
    let chosen = results.precondition_chosen.expect("decided");
    assert_eq!((chosen.requested, chosen.mode), ("auto", "fill"));
    let reason = chosen.reason.expect("a reason");
    assert!(reason.contains("page reads") && reason.contains('%'), "{reason}");
    for run in &results.runs {
        assert_eq!(run.reads_without_flash, Some(0.0), "{}", run.label);
        assert_eq!(run.precondition.expect("prepared").mode, "fill");
        assert_eq!(operations(run, "host", "read"), run.host_pages_read, "every read costs a flash read");
        assert!(run.response_ns.read.p50.expect("reads") >= 45_000, "{:?}", run.response_ns.read);
    }
}

#[test]
fn an_erased_device_tells_which_reads_were_free() {
    let results = results(&text("write_share = 0.1", "precondition = \"none\""));
    let chosen = results.precondition_chosen.expect("decided");
    assert_eq!((chosen.requested, chosen.mode, chosen.reason), ("none", "none", None));
    for run in &results.runs {
        let free = run.reads_without_flash.expect("reads");
        let read = operations(run, "host", "read") as f64 / run.host_pages_read as f64;
        assert!(free > 0.9 && (1.0 - free - read).abs() < 1e-12, "{}: {free} {read}", run.label);
    }
}

#[test]
fn a_device_that_is_only_written_stays_erased() {
    let results = results(&text("write_share = 1.0", ""));
    let chosen = results.precondition_chosen.expect("decided");
    assert_eq!((chosen.mode, chosen.reason.as_deref()), ("none", Some("the workload reads no page")));
    assert!(results.runs.iter().all(|run| run.precondition.is_none() && run.reads_without_flash.is_none()));
}

#[test]
fn the_rest_of_a_page_that_is_written_in_part_counts_as_read() {
    let in_part = text("write_share = 1.0\nunit = \"2KiB\"", "").replace("sizes = \"4KiB\"", "sizes = \"2KiB\"");
    let outcome = results(&in_part);
    assert_eq!(outcome.precondition_chosen.expect("decided").mode, "fill");
    let outcome = results(&in_part.replace("[run]", "[run]\nprecondition = \"none\""));
    for run in &outcome.runs {
        let rests = operations(run, "read_modify_write", "read") as f64;
        let free = run.reads_without_flash.expect("rests are read");
        assert!((free - (1.0 - rests / 2000.0)).abs() < 1e-12 && free > 0.0, "{}: {free}", run.label);
    }
}

#[test]
fn what_was_trimmed_reads_free_on_a_filled_device_too() {
    let outcome = results(&text("write_share = 0.3\ntrim_share = 0.3", "precondition = \"fill\""));
    for run in &outcome.runs {
        let read = operations(run, "host", "read") as f64 / run.host_pages_read as f64;
        let free = run.reads_without_flash.expect("reads");
        assert!(free > 0.0 && (1.0 - free - read).abs() < 1e-12, "{}: {free} {read}", run.label);
    }
}

#[test]
fn a_rehearsed_workload_finds_its_data_and_nothing_else_was_written() {
    let outcome = results(&text("write_share = 0.1", "precondition = \"workload\"\nverify = true"));
    let (asked, chosen) = (&outcome.workload, outcome.precondition_chosen.expect("decided"));
    assert_eq!((chosen.requested, chosen.mode, chosen.reason), ("workload", "workload", None));
    for run in &outcome.runs {
        let rehearsed = run.precondition.expect("prepared");
        assert_eq!((rehearsed.mode, rehearsed.settled), ("workload", None));
        assert_eq!(
            rehearsed.pages_written,
            asked.pages_read + asked.pages_written,
            "each page as often as it is asked for"
        );
        assert!((1.0..2.0).contains(&rehearsed.page_write_amplification), "{rehearsed:?}");
        assert_eq!(operations(run, "host", "read"), run.host_pages_read, "every read costs a flash read");
        assert_eq!(run.host_pages_written, asked.pages_written, "the rehearsal is not measured");
    }
    let device = outcome.device.expect("known");
    assert!(device.logical_bytes > 2 * outcome.workload.span_bytes, "a fill would have written far more");
}

#[test]
fn a_rehearsal_leaves_trims_out_and_what_is_trimmed_later_reads_free() {
    let trimming = text("write_share = 0.3\ntrim_share = 0.3", "precondition = \"workload\"\nverify = true");
    let outcome = results(&trimming);
    for run in &outcome.runs {
        let (read, free) = (operations(run, "host", "read") as f64, run.reads_without_flash.expect("reads"));
        assert!(free > 0.0 && (1.0 - free - read / run.host_pages_read as f64).abs() < 1e-12, "{}: {free}", run.label);
        let host_pages = outcome.workload.pages_read + outcome.workload.pages_written;
        assert_eq!(run.precondition.expect("prepared").pages_written, host_pages);
    }
}

#[test]
fn the_progress_of_a_rehearsal_ends_at_its_total() {
    let control = Control::new();
    let text = text("write_share = 0.1", "precondition = \"workload\"");
    run_study(&study(&text), &control).expect("valid");
    let lines = control.progress();
    assert!(lines.iter().any(|line| line.label == "dftl (precondition)"));
    assert!(lines.iter().all(|line| line.done == line.total && line.total > 0), "{lines:?}");
}

#[test]
fn a_study_without_a_device_takes_the_workloads_span() {
    let outcome = unnamed("[workload]\npreset = \"fin1\"\nrequests = 300\n[[ftl]]\nname = \"page\"");
    let device = outcome.device.expect("known");
    assert!(device.logical_bytes >= outcome.workload.span_bytes, "{device:?}");
    let preset = results(
        "[device]\npreset = \"slc-small\"\n[workload.generator]\nrequests = 9\nspan = \"1MiB\"\narrivals = { constant = { gap = \"5ms\" } }\n\
         [[ftl]]\nname = \"page\"",
    );
    assert_eq!(preset.device.expect("known").geometry.blocks_per_plane, 1024, "a preset that is named keeps its size");
    let wrapped =
        unnamed("[workload]\npreset = \"fin1\"\nrequests = 300\naddresses = \"wrap\"\n[[ftl]]\nname = \"page\"");
    assert_eq!(wrapped.device.expect("known").geometry.blocks_per_plane, 2048);
}
