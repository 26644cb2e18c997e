//! Which die a stream goes on at: pages in a row overlap, and neighbours share a page of the flash.

use super::{PageSpace, Stream};

impl PageSpace {
    /// The next die in turn for a stream, channels first, so that pages in a row overlap.
    #[inline]
    pub fn take_turn(&mut self, stream: Stream) -> u32 {
        debug_assert!(stream < self.turns.len(), "there is no stream {stream} of {}", self.turns.len());
        let turn = &mut self.turns[stream];
        let die = self.order[*turn];
        *turn += 1;
        if *turn == self.order.len() {
            *turn = 0;
        }
        die
    }

    /// The die where a stream goes on in the page of the flash that it has begun: neighbours share
    /// one, so that they are read at once. After as many as a page holds its turn is over, since
    /// steps of a paced collection to the same stream may leave each page begun: then one die took
    /// all writes, and its victims were full.
    #[inline]
    pub fn die_of_page_begun(&mut self, stream: Stream) -> Option<u32> {
        if self.units_per_page == 1 {
            return None;
        }
        let turn = self.turns[stream];
        let die = self.order[if turn == 0 { self.order.len() } else { turn } - 1];
        let open = self.open[stream * self.order.len() + die as usize];
        let stays = &mut self.stays[stream];
        let is_begun = open.next < open.end && !open.next.is_multiple_of(self.units_per_page);
        *stays = if is_begun { (*stays + 1) % self.units_per_page } else { 0 };
        (*stays > 0).then_some(die)
    }
}
