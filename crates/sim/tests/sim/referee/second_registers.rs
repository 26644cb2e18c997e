//! What second registers overlap, worked out by hand.
//!
//! A die of two planes that senses in 75 ns and programs in 125 ns, and a bus that moves a page in
//! 50 ns. One character of a drawing is 25 ns; letters name operations, small ones sense or move,
//! capital ones program; `.` is a page that waits, `s` and `r` suspend and resume.

use flash::{Geometry, Pbn, Shape};
use ftl::{Cause, FlashOp, Moment, Nanos, Task, Timing};

use super::host::{Keeper, Observed};
use super::rules::Rules;

/// What is issued at time 0.
#[derive(Clone, Copy)]
enum Issued {
    /// An operation in a plane.
    At(FlashOp, u32),
    /// One that may begin so much later.
    After(u64, FlashOp),
    /// A page that is copied in its plane.
    CopyBack,
}

use FlashOp::{Erase, Program, Read};
use Issued::{After, At, CopyBack};

/// Operations, and the moments at which they end.
struct Scenario {
    name: &'static str,
    device: fn(&mut Rules),
    issued: &'static [Issued],
    ends: &'static [u64],
}

fn reads(rules: &mut Rules) {
    rules.cache_read = true;
}

fn programs(rules: &mut Rules) {
    rules.cache_program = true;
}

fn both(rules: &mut Rules) {
    (rules.cache_read, rules.cache_program) = (true, true);
}

fn suspending(rules: &mut Rules) {
    both(rules);
    (rules.suspends_programs, rules.suspend_ns, rules.resume_ns) = (true, [25; 2], [25; 2]);
}

const SCENARIOS: [Scenario; 17] = [
    // die   aaabbbccc
    // bus      aa bb cc
    Scenario { name: "reads, a short bus", device: reads, issued: &[At(Read, 0); 3], ends: &[125, 200, 275] },
    // die   aaabbb.ccc.
    // bus      aaaabbbbcccc
    Scenario {
        name: "reads, a long bus",
        device: |rules| (rules.cache_read, rules.transfer_ns) = (true, 100),
        issued: &[At(Read, 0); 3],
        ends: &[175, 275, 375],
    },
    // Its second register is empty at the moment at which it has been sensed.
    //
    // die   aaabbbccc
    // bus      aaabbbccc
    Scenario {
        name: "reads, a bus that takes as long",
        device: |rules| (rules.cache_read, rules.transfer_ns) = (true, 75),
        issued: &[At(Read, 0); 3],
        ends: &[150, 225, 300],
    },
    // die     AAAAABBBBBCCCCC
    // bus   aabb...cc...
    Scenario { name: "programs, a short bus", device: programs, issued: &[At(Program, 0); 3], ends: &[175, 300, 425] },
    // die         AAAAA BBBBB CCCCC
    // bus   aaaaaabbbbbbcccccc
    Scenario {
        name: "programs, a long bus",
        device: |rules| (rules.cache_program, rules.transfer_ns) = (true, 150),
        issued: &[At(Program, 0); 3],
        ends: &[275, 425, 575],
    },
    // Reads wait for programs, and programs for reads.
    //
    // die     AAAAAbbb    CCCCC
    // bus   aa        bbcc
    Scenario {
        name: "the order of the queue stands",
        device: both,
        issued: &[At(Program, 0), At(Read, 0), At(Program, 0)],
        ends: &[175, 300, 475],
    },
    // die   aaa    BBBBBccc
    // bus      aabb        cc
    Scenario {
        name: "a program waits until the second register is empty",
        device: both,
        issued: &[At(Read, 0), At(Program, 0), At(Read, 0)],
        ends: &[125, 300, 425],
    },
    // die   aaa  bbbbbb  CCCCC
    // bus      aa      cc
    Scenario {
        name: "erases run alone",
        device: both,
        issued: &[At(Read, 0), At(Erase, 0), At(Program, 0)],
        ends: &[125, 275, 450],
    },
    // Each key is for its own kind.
    //
    // die   aaa  bbb    CCCCCDDDDD
    // bus      aa   bbccdd...
    Scenario {
        name: "programs alone overlap",
        device: programs,
        issued: &[At(Read, 0), At(Read, 0), At(Program, 0), At(Program, 0)],
        ends: &[125, 250, 425, 550],
    },
    // die   aaaccc.
    // die   bbb
    // bus      aabbcc
    Scenario {
        name: "data leave when all second registers of the die are empty",
        device: |rules| (rules.cache_read, rules.multi_plane) = (true, true),
        issued: &[At(Read, 0), At(Read, 1), At(Read, 0)],
        ends: &[125, 175, 225],
    },
    // The third page may come when both pages before it have, and programs when both have been.
    //
    // die     AAAAA  CCCCC
    // die       BBBBB
    // bus   aabbcc...
    Scenario {
        name: "a batch programs when all of the one before it has",
        device: |rules| (rules.cache_program, rules.multi_plane) = (true, true),
        issued: &[At(Program, 0), At(Program, 1), At(Program, 0)],
        ends: &[175, 225, 350],
    },
    // die   aaaAAAAA  BBBBB
    // bus           bb
    Scenario {
        name: "a copy-back lets no program come",
        device: |rules| (rules.cache_program, rules.copy_back) = (true, true),
        issued: &[CopyBack, At(Program, 0)],
        ends: &[200, 375],
    },
    // die     AAAAAbbbBBBBB  CCCCC
    // bus   aa             cc
    Scenario {
        name: "a copy-back does not begin beside a program",
        device: |rules| (rules.cache_program, rules.copy_back) = (true, true),
        issued: &[At(Program, 0), CopyBack, At(Program, 0)],
        ends: &[175, 375, 550],
    },
    // A read comes at 100. Two programs are on the die, so the first does not stop; the second does
    // as soon as it could begin.
    //
    // die     AAAAAsccc  rBBBBB
    // bus   aabb...    cc
    Scenario {
        name: "the second program stops at once",
        device: suspending,
        issued: &[At(Program, 0), At(Program, 0), After(100, Read)],
        ends: &[175, 475, 325],
    },
    // Reads come at 100.
    //
    // die     AAsbbbccc  rAAA
    // bus   aa      bb cc
    Scenario {
        name: "suspended work goes on when the second register is empty",
        device: suspending,
        issued: &[At(Program, 0), After(100, Read), After(100, Read)],
        ends: &[425, 250, 325],
    },
    // A read comes at 100, a program while it is sensed; the page moves when the first programs
    // again, not before.
    //
    // die     AAsbbb  rAAACCCCC
    // bus   aa      bb cc.
    Scenario {
        name: "a resumed program lets another page come",
        device: suspending,
        issued: &[At(Program, 0), After(100, Read), After(150, Program)],
        ends: &[350, 250, 475],
    },
    // die   aaabbbCCCCCDDDDD
    Scenario {
        name: "nothing to overlap without transfers",
        device: |rules| {
            both(rules);
            rules.transfer_ns = 0;
        },
        issued: &[At(Read, 0), At(Read, 0), At(Program, 0), At(Program, 0)],
        ends: &[75, 150, 275, 400],
    },
];

/// A device of one die.
fn geometry() -> Geometry {
    let shape = Shape {
        channels: 1,
        dies_per_channel: 1,
        planes_per_die: 2,
        blocks_per_plane: 4,
        pages_per_block: 4,
        page_size_bytes: 512,
    };
    Geometry::new(shape).expect("a shape")
}

impl Scenario {
    /// When its operations end.
    fn ends(&self, keeper: fn(&Geometry, &Rules) -> Keeper) -> Vec<u64> {
        let mut rules = Rules { read_ns: 75, program_ns: 125, erase_ns: 150, transfer_ns: 50, ..Rules::default() };
        (self.device)(&mut rules);
        let mut timing = Observed::new(keeper(&geometry(), &rules));
        let in_plane = |op, plane: u32| Task::new(op, Cause::Host, Pbn::new(4 * plane), 0);
        let issue = |issued: &Issued| match *issued {
            At(op, plane) => timing.perform(in_plane(op, plane), Moment::ZERO),
            After(time, op) => {
                let later = timing.delay(Moment::ZERO, Nanos(time));
                timing.perform(in_plane(op, 0), later)
            }
            CopyBack => {
                let read = timing.perform(in_plane(Read, 0), Moment::ZERO);
                timing.perform(Task { copies: true, ..in_plane(Program, 0) }, read)
            }
        };
        let last: Vec<_> = self.issued.iter().map(issue).collect();
        timing.ends(&last)
    }
}

#[test]
fn the_referee_overlaps_what_second_registers_hold() {
    for scenario in &SCENARIOS {
        assert_eq!(scenario.ends(Keeper::referee), scenario.ends, "{}", scenario.name);
    }
}

#[test]
fn the_simulation_overlaps_what_second_registers_hold() {
    for scenario in &SCENARIOS {
        assert_eq!(scenario.ends(Keeper::simulation), scenario.ends, "{}", scenario.name);
    }
}
