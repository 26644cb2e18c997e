//! The link to the host and the controller, worked out by hand.
//!
//! A link of a byte a nanosecond with 25 ns beside its data, a controller that takes 150 ns for a
//! command, and a die without a bus that reads in 50 ns and programs in 75 ns. One character of a
//! drawing is 25 ns; letters name commands.

use flash::{Geometry, Pbn, Shape};
use ftl::FlashOp::{Program, Read};
use ftl::{Cause, FlashOp, Moment, Task, Timing};

use super::host::{Keeper, Observed};
use super::rules::Rules;

/// Commands that are issued at time 0, and the moments at which they end.
struct Scenario {
    /// What each does, and with how many bytes.
    commands: &'static [(FlashOp, u64)],
    cores: Option<u32>,
    ends: &'static [u64],
}

const SCENARIOS: [Scenario; 5] = [
    // link in     aaabbbccc
    // controller      aaaaaabbbbbbcccccc
    // die                   aaa   bbb   ccc
    Scenario { commands: &[(Program, 75); 3], cores: Some(1), ends: &[325, 475, 625] },
    // The third command waits for a core.
    //
    // controller   aaaaaacccccc
    //              bbbbbb
    // die                aabb  cc
    // link out             a b   c
    Scenario { commands: &[(Read, 25); 3], cores: Some(2), ends: &[250, 300, 400] },
    // A command without data does not wait for one with data.
    //
    // link in     aaaaa
    // controller   bbbbbbaaaaaa
    // die                bb    aaa
    // link out             bbbb
    Scenario { commands: &[(Program, 125), (Read, 100)], cores: Some(1), ends: &[400, 325] },
    // Each has a core of its own.
    //
    // controller   aaaaaa
    //              bbbbbb
    // die                aabb
    // link out             aaaaaabb
    Scenario { commands: &[(Read, 150), (Read, 50)], cores: None, ends: &[375, 425] },
    // Data come and go at the same time.
    //
    // link in     aaaaaaaaaaaa
    // controller   bbbbbb      aaaaaa
    // die                bb          aaa
    // link out             bbbbbbbb
    Scenario { commands: &[(Program, 300), (Read, 200)], cores: Some(8), ends: &[550, 425] },
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
    fn rules(&self) -> Rules {
        Rules {
            read_ns: 50,
            program_ns: 75,
            link_bytes_per_s: Some(1_000_000_000),
            link_latency_ns: 25,
            controller_cores: self.cores,
            controller_ns: 150,
            ..Rules::default()
        }
    }

    /// When its commands end.
    fn ends(&self, keeper: fn(&Geometry, &Rules) -> Keeper) -> Vec<u64> {
        let mut timing = Observed::new(keeper(&geometry(), &self.rules()));
        let serve = |&(op, bytes): &(FlashOp, u64)| {
            let (brought, returned) = if op == Program { (bytes, 0) } else { (0, bytes) };
            let came = timing.take_command(Moment::ZERO, brought);
            let done = timing.perform(Task::new(op, Cause::Host, Pbn::new(0), 0), came);
            timing.hand_over(done, returned)
        };
        let last = self.commands.iter().map(serve).collect::<Vec<_>>();
        timing.ends(&last)
    }
}

#[test]
fn the_referee_serves_links_and_cores_first_come_first_served() {
    for scenario in &SCENARIOS {
        assert_eq!(scenario.ends(Keeper::referee), scenario.ends);
    }
}

#[test]
fn the_simulation_serves_links_and_cores_first_come_first_served() {
    for scenario in &SCENARIOS {
        assert_eq!(scenario.ends(Keeper::simulation), scenario.ends);
    }
}
