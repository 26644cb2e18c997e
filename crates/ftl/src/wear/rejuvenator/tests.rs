//! Which block is emptied, where data goes, and what is hot.

use flash::Lpn;

use super::*;
use crate::testing::layout;

struct Device<'a>(&'a [(BlockUse, u32)]);

impl BlockFacts for Device<'_> {
    fn blocks(&self) -> u32 {
        self.0.len() as u32
    }

    fn use_of(&self, pbn: Pbn) -> BlockUse {
        self.0[pbn.index()].0
    }

    fn erases(&self, pbn: Pbn) -> u32 {
        self.0[pbn.index()].1
    }
}

const DATA: BlockUse = BlockUse::InUse(Purpose::Data);
const LOG: BlockUse = BlockUse::InUse(Purpose::Log);
const FREE: BlockUse = BlockUse::Free;

fn policy(settings: &[(&str, &str)]) -> Rejuvenator {
    let settings = settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let values = Values::check("rejuvenator", Rejuvenator::ENTRY.parameters, &settings).expect("valid");
    Rejuvenator::new(&layout(8, 4, 16), &values)
}

#[test]
fn the_lowest_list_is_emptied_when_young_free_blocks_run_out_or_the_window_is_full() {
    let named = |settings: &[(&str, &str)], blocks: &[(BlockUse, u32)]| {
        policy(settings).next_move(&Device(blocks)).map(Pbn::get)
    };
    let usual: &[_] = &[("tau", "8")];
    assert_eq!(named(usual, &[(DATA, 1), (LOG, 0), (DATA, 0), (FREE, 3)]), None, "3 is a lower list");
    assert_eq!(named(usual, &[(DATA, 1), (LOG, 0), (DATA, 0), (FREE, 4)]), Some(2));
    assert_eq!(named(usual, &[(DATA, 0), (FREE, 0), (FREE, 7)]), None, "a young block is free");
    assert_eq!(named(usual, &[(DATA, 0), (FREE, 0), (FREE, 8)]), Some(0), "the window is full");
    let patient: &[_] = &[("tau", "8"), ("t_low", "0")];
    assert_eq!(named(patient, &[(DATA, 0), (FREE, 7)]), None);
}

#[test]
fn hot_data_goes_to_young_blocks_and_cold_data_to_worn_ones_that_are_not_kept_for_moves() {
    let mut policy = policy(&[("tau", "8"), ("window", "4")]);
    let write = |policy: &mut Rejuvenator, lbns: &[u32]| {
        for lbn in lbns {
            policy.on_write(&Request::new(Lpn::new(4 * lbn), 1));
        }
    };
    write(&mut policy, &[1, 1, 1, 2]);
    let [hot, cold] = [1, 2].map(|lbn| AllocRequest::of(Purpose::Merge, Lbn::new(lbn)));
    let places = |policy: &mut Rejuvenator, blocks: &[(BlockUse, u32)]| {
        policy.pace = Pace::new(8);
        assert_eq!(policy.next_move(&Device(blocks)), None);
        [hot, cold, AllocRequest::new(Purpose::Collected), AllocRequest::new(Purpose::Data)]
            .map(|alloc| policy.place(alloc, 3))
    };
    assert_eq!(places(&mut policy, &[(FREE, 0), (FREE, 4), (FREE, 5)]), [0, 2, 2, 0]);
    assert_eq!(places(&mut policy, &[(FREE, 0), (FREE, 1), (FREE, 5)]), [0, 0, 0, 0], "t_high is kept");
    assert_eq!(places(&mut policy, &[(FREE, 0), (FREE, 4), (FREE, 8)]), [0, 0, 0, 0], "the window is full");
    write(&mut policy, &[3, 3, 3]);
    assert_eq!(policy.place(hot, 3), 0, "still full");
    let hotness = [1, 2, 3].map(|lbn| policy.recent.is_hot(Lbn::new(lbn)));
    assert_eq!(hotness, [false, false, true], "the window of writes has moved on");
}

/// Cold data leave a worn block at once, twice, and then rest for eight erases, as many as there
/// are blocks.
#[test]
fn cold_data_whose_rests_are_short_go_to_young_blocks_more_often() {
    let passed_over = |policy: &mut Rejuvenator, rest: u64| {
        let cold = AllocRequest::new(Purpose::Collected);
        policy.for_cold = 2;
        let passes = (0..1_000).take_while(|_| policy.place(cold, 3) == 0).count();
        policy.on_used(Pbn::new(4), cold);
        (1..rest).for_each(|_| policy.on_erased(Pbn::new(7), 3));
        policy.on_erased(Pbn::new(4), 9);
        passes
    };
    let rests = [1, 1, 8, 8, 8];
    let (mut policy, mut as_printed) = (self::policy(&[]), self::policy(&[("back_off", "false")]));
    assert_eq!(rests.map(|rest| passed_over(&mut policy, rest)), [0, 1, 3, 1, 0]);
    assert_eq!(rests.map(|rest| passed_over(&mut as_printed, rest)), [0; 5]);
}
