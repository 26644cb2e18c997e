//! Writes of a lightly loaded device that collects: with defaults no collection is in their way.

use super::results;

const PROGRAM_NS: f64 = 600_000.0;
const ERASE_NS: f64 = 3_500_000.0;

/// Random writes with some reads over a full device of two dies, whose dies are busy for less than
/// a tenth of the time.
fn light(gc: &str) -> (f64, f64) {
    let run = results(&format!(
        "[device]\nchannels = 1\ndies_per_channel = 1\nplanes_per_die = 4\nblocks_per_plane = 64\npages_per_block = 576\npage_size = \"16KiB\"\n\
         mapping_unit = \"4KiB\"\ncell = \"tlc\"\nprogramming = \"one_shot\"\nprogram_order = \"strict\"\nmulti_plane = true\n\
         superblock = \"die\"\nreads_first = true\nread_latency = \"50us\"\nprogram_latency = \"600us\"\n\
         erase_latency = \"3500us\"\ntransfer_latency = \"10us\"\ncapacity = \"1600MiB\"\n\
         [workload.generator]\nrequests = 60_000\nspan = \"1600MiB\"\nunit = \"4KiB\"\nsizes = \"4KiB\"\nwrite_share = 0.8\n\
         arrivals = {{ bursty = {{ mean_gap = \"600us\", burst_gap = \"5us\", burst = 12 }} }}\n\
         [run]\nprecondition = \"steady\"\n[[ftl]]\nname = \"page\"\ngc = \"{gc}\"\n"
    ))
    .runs
    .remove(0);
    let busy = run.utilisation.dies.expect("dies work");
    println!("{gc}: dies are busy for {busy:.3}, writes {:?}", run.response_ns.write);
    assert!(busy < 0.1, "dies are busy for {busy} of the time");
    let write = &run.response_ns.write;
    (write.p99_9.expect("writes") as f64, write.max.expect("writes") as f64)
}

#[test]
fn no_write_at_a_light_load_waits_for_an_erase() {
    let (p99_9, longest) = light("auto");
    assert!(p99_9 <= 3.0 * PROGRAM_NS && longest < ERASE_NS, "p99.9 {p99_9} ns, the longest {longest} ns");
    let (_, longest) = light("whole");
    assert!(longest > ERASE_NS, "the control: whole collections keep a write for {longest} ns");
}
