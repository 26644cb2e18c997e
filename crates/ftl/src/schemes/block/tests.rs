//! What a rewrite costs.

use super::*;
use crate::testing::{device, layout};
use flash::Flash;

#[test]
fn rewriting_one_page_of_a_full_block_costs_the_whole_block_and_one_erase() {
    let (mut flash, layout) = (device(8, 4), layout(8, 4, 16));
    let mut block = Block::format(&layout, &Values::none()).expect("fits");
    block.write(&mut flash, &Request::new(Lpn::new(0), 16), &[(); 16]).expect("fill");
    let before = flash.device().operations();
    block.write(&mut flash, &Request::new(Lpn::new(6), 1), &[()]).expect("rewrite");
    let after = flash.device().operations();
    assert_eq!((after.programs - before.programs, after.reads - before.reads, after.erases - before.erases), (4, 3, 1));
    Mapping::check(&block, &flash).expect("invariants");
}
