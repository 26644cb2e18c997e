//! How the default device follows a workload's span: the rule of `setup/scale.rs`.

use super::unnamed;

/// WA of `page` under uniform writes to a span of this size, and its device.
fn steady(span_mib: u64) -> (f64, sim::DeviceFacts) {
    let results = unnamed(&format!(
        "[workload.generator]\nrequests = 40_000\nspan = \"{span_mib}MiB\"\nsizes = \"4KiB\"\npattern = \"uniform\"\n\
         write_share = 1.0\n[host]\nloop = \"closed\"\n[run]\nprecondition = \"steady\"\nwaiting = false\n[[ftl]]\nname = \"page\""
    ));
    let wa = results.runs[0].precondition.expect("prepared").page_write_amplification;
    (wa, results.device.expect("a device"))
}

#[test]
fn scaled_device_has_dies_spare_and_about_the_wa_of_a_larger_one() {
    let [(small, device), (large, larger)] = [1, 960].map(steady);
    assert_eq!((device.named_by, device.preset.as_str()), ("default", sim::DEFAULT_PRESET));
    let of_blocks = |device: &sim::DeviceFacts| flash::Shape { blocks_per_plane: 0, ..device.geometry };
    assert_eq!(of_blocks(&device), of_blocks(&larger), "only the number of blocks follows");
    assert!((device.spare - larger.spare).abs() < 0.005, "{} against {}", device.spare, larger.spare);
    assert!((small / large - 1.0).abs() < 0.18, "{small} against {large}");
}

#[test]
fn smaller_capacity_has_shorter_blocks_that_are_erased_faster() {
    let of = |capacity: &str| {
        let study = format!(
            "[device]\n{capacity}\n[workload]\npreset = \"fin1\"\nrequests = 100\naddresses = \"wrap\"\n[[ftl]]\nname = \"page\""
        );
        let device = unnamed(&study).device.expect("a device");
        (device.geometry.pages_per_block, device.latencies.erase_ns)
    };
    assert_eq!(of("capacity = \"256MiB\""), (64, 26_000));
    assert_eq!(of("capacity = \"64MiB\""), (16, 6_500));
    assert_eq!(of("preset = \"client-tlc\"\ncapacity = \"64MiB\""), (16, 6_500), "named, too");
    assert_eq!(of("preset = \"slc-small\"\ncapacity = \"64MiB\""), (64, 1_500_000), "others keep theirs");
}

#[test]
fn every_mapping_runs_on_the_default_device_of_every_span() {
    for span in ["4KiB", "1GiB"] {
        let tables = ftl::registry::mappings().into_iter().map(|entry| {
            // Its usual zone takes more than the spare of the smallest device.
            let zone = if entry.name == "waftl" { "zone = 0.02\n" } else { "" };
            format!("[[ftl]]\nname = \"{}\"\n{zone}", entry.name)
        });
        let results = unnamed(&format!(
            "[workload.generator]\nrequests = 200\nspan = \"{span}\"\nsizes = \"4KiB\"\npattern = \"uniform\"\n\
             write_share = 0.5\narrivals = {{ constant = {{ gap = \"20ms\" }} }}\n[run]\nprecondition = \"none\"\n{}",
            tables.collect::<String>()
        ));
        assert!(results.runs.iter().all(|run| run.requests.write > 50), "{span}");
    }
}
