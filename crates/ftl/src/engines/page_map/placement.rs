//! Where the pages of a stream go one after another: to all dies in turn, or into one block until
//! that is full.

use crate::api::parameter::{Kind, Parameter, Values};
use crate::engines::page_map::space::Stream;

/// How the host's pages and translation pages are placed.
pub const PARAMETER: Parameter = Parameter {
    name: "placement",
    kind: Kind::Choice { of: &["striped", "single"] },
    default: "striped",
    meaning: "Where pages go: to all dies in turn; or into one block until it is full, data and translation pages each into one, which leaves the \
              other dies idle. Collections keep pages on their die.",
    source: "ftlkit (RFTL 5.1: over channels, chips, dies); FlashSim (single)",
};

/// Streams of which one block is filled before the next is begun, and on which die that block lies.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    single: Vec<(Stream, Option<u32>)>,
}

impl Placement {
    /// These streams fill one block after the other; all others take the dies in turn.
    pub fn single(streams: &[Stream]) -> Self {
        Self { single: streams.iter().map(|&stream| (stream, None)).collect() }
    }

    /// What [`PARAMETER`] asks for, of these streams.
    pub fn from_values(values: &Values, streams: &[Stream]) -> Self {
        if values.word(PARAMETER.name) == "single" { Self::single(streams) } else { Self::default() }
    }

    /// The die of the block that a stream fills, if it fills one at a time.
    #[inline]
    pub fn die(&self, stream: Stream) -> Option<u32> {
        let found = self.single.iter().filter(|(single, _)| *single == stream).count();
        debug_assert!(found <= 1, "stream {stream} is listed {found} times as one that fills one block");
        self.single.iter().find(|(single, _)| *single == stream).and_then(|(_, die)| *die)
    }

    /// Notes the die on which a stream that fills one block at a time goes on.
    #[inline]
    pub fn set_die(&mut self, stream: Stream, die: u32) {
        if let Some((_, current)) = self.single.iter_mut().find(|(single, _)| *single == stream) {
            *current = Some(die);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_single_stream_stays_where_it_is() {
        let mut placement = Placement::single(&[2]);
        assert_eq!((placement.die(2), placement.die(0)), (None, None));
        placement.set_die(2, 5);
        placement.set_die(0, 7);
        assert_eq!((placement.die(2), placement.die(0)), (Some(5), None));
    }
}
