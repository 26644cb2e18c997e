//! Host pages that are placed in a run: on the dies in turn, as one by one, up to the
//! first that would fill its block or open one.

use flash::Ppn;

use super::{PageSpace, Stream};

impl PageSpace {
    /// Whether pages of the host's may be placed in runs: nothing depends on each of them.
    pub fn places_runs(&self) -> bool {
        self.units_per_page == 1 && self.hands.is_empty() && self.by_class.is_none()
    }

    /// Lists the next places of a stream; returns how many there are.
    pub fn list_places(&self, stream: Stream, into: &mut [Ppn]) -> usize {
        let (dies, first) = (self.order.len(), self.turns[stream]);
        let open = &self.open[stream * dies..(stream + 1) * dies];
        let (mut turn, mut round, mut listed) = (first, 0, 0);
        for place in into {
            let open = open[self.order[turn] as usize];
            if open.next + round + 1 >= open.end {
                break;
            }
            *place = Ppn::new(open.next + round);
            listed += 1;
            turn = if turn + 1 == dies { 0 } else { turn + 1 };
            round += u32::from(turn == first);
        }
        listed
    }

    /// Takes places that were listed: the host has written pages there, which are valid.
    pub fn take_places(&mut self, stream: Stream, places: &[Ppn]) {
        for &ppn in places {
            let die = self.take_turn(stream);
            let open = &mut self.open[stream * self.order.len() + die as usize];
            debug_assert_eq!(open.next, ppn.get(), "stream {stream} on die {die} goes on elsewhere");
            open.next += 1;
            self.ledger.validate(ppn, self.geometry.block_of(ppn));
        }
        self.clock += places.len() as u64;
    }
}
