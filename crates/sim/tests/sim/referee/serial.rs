//! The order of a serial device, worked out by hand, beside that of a die which serves first come,
//! first served.
//!
//! All operations are reads of 125 ns. One character of a drawing is 25 ns; letters name requests,
//! `.` is a device that waits for controller time.

use flash::{Geometry, Pbn, Shape};
use ftl::{Cause, FlashOp, Moment, Nanos, Task, Timing};

use super::host::{Keeper, Observed};
use super::rules::Rules;

fn serial() -> Rules {
    Rules { read_ns: 25, transfer_ns: 100, serial: true, ..Rules::default() }
}

/// A single die without a bus.
fn first_come() -> Rules {
    Rules { read_ns: 125, ..Rules::default() }
}

/// What requests do, one thing after the other.
#[derive(Clone, Copy)]
enum Step {
    Read,
    Spend(u64),
}

use Step::{Read, Spend};

/// Requests that are issued at time 0, and the moments at which they end.
struct Scenario {
    /// Whether the first is background work.
    begins_in_background: bool,
    requests: &'static [&'static [Step]],
    serial: &'static [u64],
    first_come: &'static [u64],
}

const SCENARIOS: [Scenario; 4] = [
    // serial       aaaaaaaaaabbbbbbbbbb
    // first come   aaaaabbbbbaaaaabbbbb
    Scenario {
        begins_in_background: false,
        requests: &[&[Read, Read], &[Read, Read]],
        serial: &[250, 500],
        first_come: &[375, 500],
    },
    // Controller time that an operation follows keeps the device waiting, for others, too.
    //
    // serial       aaaaa..aaaaabbbbb
    // first come   aaaaabbbbbaaaaa
    Scenario {
        begins_in_background: false,
        requests: &[&[Read, Spend(50), Read], &[Read]],
        serial: &[300, 425],
        first_come: &[375, 250],
    },
    // Controller time that none follows does not.
    //
    // both         aaaaabbbbb, and a ends at 625
    Scenario {
        begins_in_background: false,
        requests: &[&[Read, Spend(500)], &[Read]],
        serial: &[625, 250],
        first_come: &[625, 250],
    },
    // The host waits for all background work that was issued before.
    //
    // serial       aaaaaaaaaabbbbb
    // first come   aaaaabbbbbaaaaa
    Scenario {
        begins_in_background: true,
        requests: &[&[Read, Read], &[Read]],
        serial: &[250, 375],
        first_come: &[375, 250],
    },
];

/// A device of one die.
fn geometry() -> Geometry {
    let shape = Shape {
        channels: 1,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_plane: 4,
        pages_per_block: 4,
        page_size_bytes: 512,
    };
    Geometry::new(shape).expect("a shape")
}

impl Scenario {
    /// When its requests end.
    fn ends(&self, keeper: Keeper) -> Vec<u64> {
        let mut timing = Observed::new(keeper);
        let mut last = Vec::new();
        for (number, steps) in self.requests.iter().enumerate() {
            let chain = u32::from(self.begins_in_background && number == 0);
            let task = Task { chain, ..Task::new(FlashOp::Read, Cause::Host, Pbn::new(0), 0) };
            let end = steps.iter().fold(Moment::ZERO, |after, step| match *step {
                Read => timing.perform(task, after),
                Spend(time) => timing.delay(after, Nanos(time)),
            });
            if chain != 0 {
                timing.end_background(chain);
            }
            last.push(end);
        }
        timing.ends(&last)
    }
}

#[test]
fn the_referee_serves_a_serial_device_in_the_order_of_issue() {
    for scenario in &SCENARIOS {
        assert_eq!(scenario.ends(Keeper::referee(&geometry(), &serial())), scenario.serial);
        assert_eq!(scenario.ends(Keeper::referee(&geometry(), &first_come())), scenario.first_come);
    }
}

#[test]
fn the_simulation_serves_a_serial_device_in_the_order_of_issue() {
    for scenario in &SCENARIOS {
        assert_eq!(scenario.ends(Keeper::simulation(&geometry(), &serial())), scenario.serial);
        assert_eq!(scenario.ends(Keeper::simulation(&geometry(), &first_come())), scenario.first_come);
    }
}
