//! Writes of a lightly loaded device that collects: with defaults no collection is in their way. Of
//! paced steps, one follows the other on a die.

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

/// ```text
///   die   [host][read][program][host][read][program] …
///               |── step 1 ─────────|── step 2 ─────
/// ```
#[test]
fn steps_of_a_die_follow_one_another_and_let_the_host_in() {
    let results = results(
        r#"
        [device]
        preset = "slc-small"
        channels = 2
        dies_per_channel = 2
        blocks_per_plane = 64
        pages_per_block = 64
        spare = 0.4
        [workload.generator]
        span = "38MiB"
        requests = 8000
        write_share = 1.0
        [host]
        loop = "closed"
        queue_depth = 32
        [run]
        precondition = "fill"
        timeline = "0ms..1h"
        [[ftl]]
        name = "page"
        gc = "paced"
        "#,
    );
    let timeline = results.runs[0].timeline.as_ref().expect("asked for");
    let (mut moves, mut let_in) = (0, 0);
    for die in 0..4 {
        let of_die = |cause| {
            let all = (0..timeline.op.len()).filter(move |&i| timeline.die[i] == die && timeline.cause[i] == cause);
            let mut times: Vec<_> = all.map(|i| (timeline.ready_ns[i], timeline.end_ns[i])).collect();
            times.sort_unstable();
            times
        };
        let moved = of_die("collection");
        for pair in moved.windows(2) {
            assert!(pair[1].0 >= pair[0].1, "die {die} has {pair:?} of two steps at the same time");
        }
        moves += moved.len();
        let host = of_die("host");
        let_in += moved.iter().filter(|&&(from, to)| host.iter().any(|&(_, end)| from < end && end < to)).count();
    }
    println!("{moves} operations of steps, {let_in} with one of the host's before them");
    assert!(moves > 2000 && let_in > 200, "{moves} operations of steps, {let_in} let the host in");
}

/// Write amplification of whole and of paced collections to the stream of the host: of random
/// writes to a steady device of two or four dies with blocks of 96 pages of 16 KiB.
fn whole_and_paced(dies: u64, blocks: u64, spare: u64, workload_and_run: &str) -> [f64; 2] {
    let bytes = 4096 * (dies * 384 * (blocks - spare) - 32);
    ["whole", "paced"].map(|gc| {
        let run = results(&format!(
            "[device]\nchannels = {dies}\ndies_per_channel = 1\nplanes_per_die = 1\nblocks_per_plane = {blocks}\n\
             pages_per_block = 96\npage_size = \"16KiB\"\nmapping_unit = \"4KiB\"\nspare = {}\ncapacity = {bytes}\n\
             [workload.generator]\nspan = {bytes}\nunit = \"4KiB\"\nsizes = \"4KiB\"\nwrite_share = 1.0\n\
             {workload_and_run}\nprecondition = \"steady\"\n\
             [[ftl]]\nname = \"page\"\nstreams = \"shared\"\ngc = \"{gc}\"\n",
            spare as f64 / blocks as f64 + 0.0001,
        ));
        run.runs[0].write_amplification.expect("writes")
    })
}

/// Steps to the stream of the host leave each page of the flash begun, and the host still goes on
/// to the next die: else one die took all writes and collected full blocks, 40 times as many.
#[test]
fn the_host_goes_on_to_the_next_die_beside_steps_to_its_stream() {
    for spare in [13, 14, 15] {
        let [whole, paced] = whole_and_paced(4, 128, spare, "requests = 30_000\n[run]\nclock = false");
        println!("{spare} spare blocks per die: {whole:.2} whole, {paced:.2} paced");
        assert!(paced < 1.15 * whole, "{spare} spare blocks per die: {whole} whole, {paced} paced");
    }
}

/// With one block to spare beside open and kept ones, a block that is freed early in idle time
/// costs 1.9 times as many programs.
#[test]
fn idle_time_takes_no_victim_early_where_few_blocks_are_spare() {
    let idle = "requests = 30_000\narrivals = { poisson = { mean_gap = \"20ms\" } }\n[run]";
    let [whole, paced] = whole_and_paced(2, 64, 3, idle);
    println!("{whole:.2} whole, {paced:.2} paced");
    assert!(paced < 1.3 * whole, "{whole} whole, {paced} paced");
}
