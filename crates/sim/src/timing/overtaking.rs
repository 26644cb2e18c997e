//! How often what waits for a die has been overtaken.
//!
//! Whoever became ready first has been overtaken at least as often as the others that wait, so the
//! count of that one is enough. It is the number of those behind it that were taken up.

use std::collections::VecDeque;

/// What waits for a die, in the order in which it became ready.
#[derive(Clone, Default)]
pub(super) struct Line {
    /// The first of them waits.
    places: VecDeque<Place>,
    /// How often that one has been overtaken.
    overtaken: u32,
}

#[derive(Clone, Copy)]
struct Place {
    turn: u64,
    number: u32,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waits,
    Left,
    Overtook,
}

impl Line {
    /// An operation waits behind all others.
    pub(super) fn push(&mut self, turn: u64, number: u32) {
        self.places.push_back(Place { turn, number, state: State::Waits });
    }

    /// The operation that became ready first of those that wait.
    pub(super) fn first(&self) -> Option<u32> {
        self.places.front().map(|place| place.number)
    }

    /// How often that one has been overtaken; 0 if nothing waits.
    pub(super) fn overtaken(&self) -> u32 {
        self.overtaken
    }

    /// An operation waits no longer, and overtakes those before it or does not. If it was the
    /// first, returns how often it has been overtaken.
    pub(super) fn take_out(&mut self, turn: u64, overtakes: bool) -> u32 {
        let place = self.places.partition_point(|place| place.turn < turn);
        if place > 0 {
            self.places[place].state = if overtakes { State::Overtook } else { State::Left };
            self.overtaken += u32::from(overtakes);
            return 0;
        }
        let overtaken = self.overtaken;
        self.places.pop_front();
        while let Some(&place) = self.places.front().filter(|place| place.state != State::Waits) {
            self.places.pop_front();
            self.overtaken -= u32::from(place.state == State::Overtook);
        }
        overtaken
    }
}

#[cfg(test)]
mod tests {
    use random::SeededRng;

    use super::*;

    #[test]
    fn the_first_in_line_knows_how_often_it_was_overtaken() {
        let mut draw = SeededRng::new(1);
        let (mut line, mut turns) = (Line::default(), 0);
        // What waits, and how often each was overtaken.
        let mut waiting: Vec<(u64, u32)> = Vec::new();
        for _ in 0..20_000 {
            if waiting.is_empty() || draw.below_u32(100) < 49 {
                turns += 1;
                line.push(turns, turns as u32);
                waiting.push((turns, 0));
            } else {
                let place = draw.below_u32(waiting.len().min(8) as u32) as usize;
                let (turn, count) = waiting.remove(place);
                let overtakes = draw.below_u32(4) > 0;
                waiting[..place].iter_mut().for_each(|(_, count)| *count += u32::from(overtakes));
                assert_eq!(line.take_out(turn, overtakes), if place == 0 { count } else { 0 });
            }
            let first = waiting.first().copied();
            assert_eq!(line.first(), first.map(|(turn, _)| turn as u32));
            assert_eq!(line.overtaken(), first.map_or(0, |(_, count)| count));
        }
    }
}
