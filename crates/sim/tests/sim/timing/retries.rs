//! Reads that are tried again: each retry is a read of its own, behind the try before it. Scenarios
//! by hand, through the port that schemes use.

use flash::{BitErrorModel, Chip, ChipOptions, Full, Ppn, Role};
use ftl::{BitErrors, FlashOp, FlashPort, Label, Nanos, ReadRetries, Reliability, Timed};
use sim::{Abilities, EventTiming, Model, Window};

use super::{LATENCIES, geometry};

/// Errors of a block: one for each time that it was sensed before, divided by its 16 pages.
const BY_READS: BitErrorModel =
    BitErrorModel { epsilon: 0.0, alpha: 0.0, k: 1.0, beta: 0.0, m: 1.0, n: 1.0, gamma: 1.0, p: 0.0, q: 1.0 };

type Port = FlashPort<Timed<Chip<Full<u32>>, EventTiming>>;

/// A device with a page in its first block. One read corrects what sensing 16 times does, a retry
/// what 20 times do, a second one what 25 do.
fn port(read_retries: u8) -> Port {
    let geometry = geometry(1, 1);
    let chip = Chip::new(geometry, &ChipOptions::default());
    let timing = EventTiming::new(&geometry, LATENCIES, Model::Parallel, Abilities::default());
    let reliability = Reliability {
        model: BY_READS,
        ecc_limit: 1.01,
        read_retries,
        retry_latency: Nanos(7),
        refresh_at: 0.0,
        initial_erases: 0,
        retention_days: 0.0,
        retention_speedup: 1.0,
        units_per_page: 1,
    };
    let bit_errors = BitErrors::new(reliability, &chip);
    let mut flash = FlashPort::new(Timed { chip, timing }).with_bit_errors(Some(bit_errors));
    flash.program(Ppn::new(0), Label::new(0, Role::Data), 7).expect("erased");
    flash.wait();
    flash.restart();
    flash
}

/// What one read takes when nothing else is under way.
fn time_of_read(flash: &mut Port) -> u64 {
    let begin = flash.wait();
    assert_eq!(flash.read(Ppn::new(0)).expect("programmed").data, 7);
    flash.wait().0 - begin.0
}

/// 25 ns to sense, 100 ns to move, 7 ns from a try to the next.
#[test]
fn a_read_takes_a_whole_read_more_for_each_retry() {
    let mut flash = port(2);
    let times: Vec<_> = (0..28).map(|_| time_of_read(&mut flash)).collect();
    assert_eq!(times[..17], [125; 17]);
    // Each of the next senses twice, and each of the others three times.
    assert_eq!(times[17..19], [125 + 7 + 125; 2]);
    assert_eq!(times[19..], [125 + 2 * (7 + 125); 9]);
    let ReadRetries { reads, uncorrectable, .. } = *flash.bit_errors().expect("modelled").counts();
    assert_eq!(
        (&reads[..4], uncorrectable),
        (&[17, 2, 9, 0][..], 7),
        "two of them found 21 and 24, seven more than 25"
    );
    // Retries are part of their reads to the counts, and in the time that these took.
    assert_eq!(flash.tally().total(FlashOp::Read), 28);
    assert_eq!(flash.device().timing.time_ns(ftl::Cause::Host, FlashOp::Read), 125 * (28 + 2 + 2 * 9));
}

#[test]
fn a_device_that_never_retries_counts_what_it_cannot_correct() {
    let mut flash = port(0);
    let times: Vec<_> = (0..18).map(|_| time_of_read(&mut flash)).collect();
    assert_eq!(times, [125; 18]);
    assert_eq!(flash.bit_errors().expect("modelled").counts().uncorrectable, 1);
}

/// The die is free between two tries, and serves who came first.
///
/// ```text
///        0  25  125  132  150  250  275   375
/// A      rr tttt      ·············rr tttt     a try, 7 ns, and a retry
/// B           ········rr tttt                  a read that came before the retry
/// ```
#[test]
fn a_retry_waits_for_its_die_like_any_read() {
    let mut flash = port(1);
    (0..17).for_each(|_| _ = time_of_read(&mut flash));
    flash.restart();
    flash.device_mut().timing = EventTiming::new(&geometry(1, 1), LATENCIES, Model::Parallel, Abilities::default())
        .recorded(Window { from_ns: 0, to_ns: u64::MAX });
    flash.read(Ppn::new(0)).expect("programmed");
    let first = flash.end();
    flash.begin(Nanos::ZERO);
    flash.scan(Ppn::new(16)).expect("of another block, which was not read");
    let timing = &mut flash.device_mut().timing;
    let facts = timing.timeline().expect("recorded");
    let rows: Vec<_> = facts.start_ns.iter().zip(&facts.end_ns).collect();
    assert_eq!(rows, [(&0, &125), (&125, &250), (&250, &375)]);
    assert_eq!(first.earliest, Nanos(257), "were nothing in the way");
}
