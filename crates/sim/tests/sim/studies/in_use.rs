//! A device that is partly full: which pages hold data, and that write amplification is then that
//! of theory. Over-provisioning as two shares. Preparations that would take long for nothing.

use std::fs;

use super::{error, results};

const BLOCK_PAGES: u32 = 32;

/// Uniform overwrites of the first `span` pages of 16 384 × 0.93, on a device with `run`.
fn text(span: u32, run: &str) -> String {
    format!(
        "[device]\nchannels = 1\ndies_per_channel = 1\nplanes_per_die = 1\nblocks_per_plane = 512\npages_per_block = {BLOCK_PAGES}\n\
         page_size = \"4KiB\"\nspare = 0.07\n[workload.generator]\nrequests = 2000\nspan = {}\nsizes = \"4KiB\"\n\
         arrivals = {{ constant = {{ gap = \"5ms\" }} }}\n[run]\n{run}\n[[ftl]]\nname = \"page\"\nstreams = \"shared\"",
        span * 4096
    )
}

/// Write amplification of uniform overwrites under greedy collection (mean field of d choices,
/// d → ∞): of the whole numbers k of valid pages that a victim may have, the one that agrees with
/// itself.
fn greedy(utilisation: f64) -> f64 {
    let harmonic = |n: u32| (1..=n).map(|i| 1.0 / f64::from(i)).sum::<f64>();
    let (all, pages) = (harmonic(BLOCK_PAGES), f64::from(BLOCK_PAGES));
    let agrees = (1..BLOCK_PAGES).find_map(|k| {
        let rest = all - harmonic(k);
        let inverse = (pages * utilisation - f64::from(k)) / (pages - f64::from(k) - f64::from(k) * rest);
        let range = rest..=all - harmonic(k - 1);
        range.contains(&(1.0 / inverse)).then(|| inverse / utilisation)
    });
    agrees.expect("one k agrees")
}

#[test]
fn steady_state_of_a_share_is_that_of_theory() {
    for share in [0.5, 0.8, 0.9, 1.0] {
        let outcome = results(&text(1000, &format!("precondition = \"steady\"\nin_use = {share}")));
        let (chosen, device) = (outcome.precondition_chosen.expect("decided"), outcome.device.expect("known"));
        let live = chosen.live_pages.expect("prepared") as f64;
        assert!((live / (device.utilisation * 16_384.0) - share).abs() < 1e-4, "{live}");
        let touched = chosen.touched_pages.expect("counted");
        assert!((800..=1000).contains(&touched), "{touched}");
        // Three blocks are open or kept free.
        let expected = greedy(live / 16_384.0 * 512.0 / 509.0);
        let measured = outcome.runs[0].precondition.expect("prepared").page_write_amplification;
        assert!((measured / expected - 1.0).abs() < 0.04, "{share}: {measured}, but theory has {expected}");
    }
}

#[test]
fn data_outside_the_workload_are_written_only_up_to_the_share() {
    let run = |more: &str| results(&text(12_000, &format!("precondition = \"fill\"\nverify = true\n{more}")));
    let (all, share, whole) = (run(""), run("in_use = \"80%\""), run("in_use = 1"));
    let written = |outcome: &sim::Results| outcome.runs[0].precondition.expect("prepared").pages_written;
    assert_eq!((written(&all), written(&share)), (15_237, 12_189));
    assert_eq!(all.runs[0].event_hash, whole.runs[0].event_hash, "without a share all is in use");
}

#[test]
fn a_study_with_a_share_repeats_itself_from_its_results() {
    let first = results(&text(500, "in_use = 0.3"));
    assert_eq!(first.precondition_chosen.as_ref().expect("decided").mode, "fill", "auto prepares what is asked for");
    let again = results(&toml::to_string(&first.study).expect("a study"));
    assert_eq!(first.runs[0].event_hash, again.runs[0].event_hash);
}

#[test]
fn a_share_that_cannot_be_is_refused_with_one_that_can() {
    for (span, run, parts) in [
        (15_000, "in_use = 0.1", &["run.in_use = 0.1", "1523 of the device's 15237", "--in-use 1"][..]),
        (500, "in_use = 0", &["run.in_use = 0", "above 0 and at most 1"]),
        (500, "in_use = 80", &["run.in_use = 80", "Did you mean 80%?", "0.8 is a drive that is 80 % full"]),
        (500, "in_use = 1.8", &["run.in_use = 1.8: must be above 0 and at most 1. It is the share"]),
        (500, "in_use = \"180%\"", &["run.in_use = 1.8: must be above 0 and at most 1. It is the share"]),
        (500, "in_use = 0.5\nprecondition = \"none\"", &["run.in_use = 0.5", "\"none\"", "--precondition steady"]),
        (500, "in_use = 0.5\nprecondition = \"workload\"", &["run.in_use = 0.5", "\"workload\""]),
    ] {
        let message = error(&text(span, run)).to_string();
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
}

/// A size is the share of the capacity that it is.
#[test]
fn a_size_in_use_is_the_share_that_it_is() {
    let capacity = 15_237.0 * 4096.0;
    for size in ["20MiB", "40MB", "30000000B"] {
        let bytes = trace::units::parse_bytes("", size).expect(size).0 as f64;
        let run = |in_use: &str| results(&text(500, &format!("precondition = \"fill\"\nin_use = {in_use}")));
        let (by_size, by_share) = (run(&format!("\"{size}\"")), run(&(bytes / capacity).to_string()));
        assert_eq!(by_size.runs[0].event_hash, by_share.runs[0].event_hash, "{size}");
        assert_eq!(by_size.study["run"]["in_use"], bytes / capacity, "{size}");
    }
    for (in_use, says) in [
        ("\"70MB\"", "the drive has 59.5 MiB for the host (device.spare = 0.07)"),
        ("\"0B\"", "give at most"),
        ("\"2KB\"", "2KiB or 2kB"),
        ("\"much\"", "or a share such as 0.28"),
        ("true", "a size such as \"700GB\", or a share"),
    ] {
        let message = error(&text(500, &format!("precondition = \"fill\"\nin_use = {in_use}"))).to_string();
        assert!(message.contains(says), "{in_use}: {message}");
    }
}

/// A span of bytes that ends within a page, as one that follows from the share does.
#[test]
fn bytes_of_a_share_may_end_within_a_page() {
    for (share, unit) in [(0.8, 512), (0.615, 512), (0.3333, 3000), (0.7, 4096), (0.9991, 512)] {
        let bytes = (15_237.0 * 4096.0 * share) as u64 / unit * unit;
        let all = text(15_237, &format!("precondition = \"fill\"\nin_use = {share}"))
            .replace(
                "requests = 2000",
                &format!("pattern = \"sequential\"\nunit = {unit}\nrequests = {}", bytes / unit),
            )
            .replace(&format!("span = {}", 15_237 * 4096), &format!("span = {bytes}"))
            .replace("sizes = \"4KiB\"", &format!("sizes = {unit}"));
        let chosen = results(&all).precondition_chosen.expect("decided");
        assert_eq!(chosen.touched_pages, Some(bytes.div_ceil(4096)), "{share} by {unit}");
        assert!(chosen.live_pages >= chosen.touched_pages, "{share} by {unit}: {chosen:?}");
    }
}

#[test]
fn over_provisioning_is_one_size_in_two_shares() {
    for spare in [0.01, 0.07, 0.125, 0.28, 0.5, 0.75] {
        let op: f64 = spare / (1.0 - spare);
        let study = text(100, "").replace("spare = 0.07", &format!("op = {op}"));
        let (as_op, as_spare) = (results(&study), results(&text(100, "").replace("0.07", &spare.to_string())));
        assert_eq!(as_op.device.expect("known").logical_bytes, as_spare.device.expect("known").logical_bytes);
        assert_eq!(as_op.runs[0].event_hash, as_spare.runs[0].event_hash, "op {op}");
        let kept = as_op.study["device"]["spare"].as_f64().expect("a share");
        assert!((kept / (1.0 - kept) - op).abs() < 1e-12, "{kept}");
    }
    let both = error(&text(100, "").replace("spare = 0.07", "spare = 0.07\nop = 0.28")).to_string();
    assert!(both.contains("device.op = 0.28 and device.spare = 0.07") && both.contains("0.2188"), "{both}");
    let none = error(&text(100, "").replace("spare = 0.07", "op = -1")).to_string();
    assert!(none.contains("device.op = -1") && none.contains("above 0"), "{none}");
}

#[test]
fn a_sparse_trace_is_refused_before_terabytes_are_filled() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sparse.csv");
    let line = |index: u64| format!("{},host,0,Read,{},4096,0\n", 10_000 * index, index * (2 << 40) / 1000);
    fs::write(&path, (0..1000).map(line).collect::<String>()).expect("written");
    let study = |more: &str| {
        let path = path.display();
        format!("[workload]\ntrace = \"{path}\"\nformat = \"msr\"\n{more}\n[[ftl]]\nname = \"page\"")
    };
    let message = error(&study("")).to_string();
    let ways_out = ["--in-use 0.1%", "--capacity auto --addresses dense", "--precondition none", "--in-use 100%"];
    for part in ["\"fill\" would write", " s or more each"].into_iter().chain(ways_out) {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(results(&study("addresses = \"dense\"")).runs[0].requests.read, 1000);
    let message = error(&study("requests = 2\n[device]\npreset = \"7450-like\"")).to_string();
    assert!(ways_out.iter().all(|part| message.contains(part)), "{message}");
}

#[test]
fn a_share_means_the_same_as_number_and_as_percentage_under_every_key() {
    let keys = ["spare", "op", "bad_blocks", "ecc_limit", "refresh_at"].map(|key| ("device", key));
    let drawn = ["write_share", "trim_share", "sequential_share", "starts_kept"].map(|key| ("workload.generator", key));
    let hot = ("workload.generator.pattern.hot_cold", "hot_data_share");
    for (table, key) in keys.into_iter().chain(drawn).chain([hot, ("run", "in_use")]) {
        let beside = |value: &str| if key == hot.1 { format!("hot_request_share = {value}\n") } else { String::new() };
        let study = |value: &str| sim::parse_toml(&format!("[{table}]\n{key} = {value}\n{}", beside(value)), "");
        let number = study("0.125").unwrap_or_else(|error| panic!("{error}"));
        for spelling in ["\"12.5%\"", "\"12.5 %\"", "\"0.125\""] {
            let read = study(spelling).unwrap_or_else(|error| panic!("{key} = {spelling}: {error}"));
            assert_eq!(read, number, "{key} = {spelling}");
        }
        let refused = study("\"much\"").expect_err("no share").to_string();
        assert!(refused.contains(key) && refused.contains("a share such as 0.28 or \"28%\""), "{refused}");
    }
}
