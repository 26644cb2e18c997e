//! How long requests are.

use random::SeededRng;

use super::weighted::Weighted;

/// How long a part's requests are, in bytes.
pub(crate) enum SizesPlan {
    Fixed(u32),
    Steps { min: u32, step: u32, count: u32 },
    Choice(Vec<(u32, f64)>),
}

/// Draws request lengths in bytes.
#[derive(Clone, Debug)]
pub(crate) enum SizeSampler {
    /// Always the same.
    Fixed(u32),
    /// `min` and up to `count` − 1 steps more, equally likely.
    Steps { min: u32, step: u32, count: u32 },
    /// One of several lengths, by weight.
    Choice { table: Weighted, lengths: Box<[u32]> },
}

impl SizeSampler {
    pub(crate) fn new(plan: &SizesPlan) -> Self {
        match plan {
            SizesPlan::Fixed(length) => Self::Fixed(*length),
            SizesPlan::Steps { min, step, count } => Self::Steps { min: *min, step: *step, count: *count },
            SizesPlan::Choice(choices) => {
                let (lengths, weights): (Vec<u32>, Vec<f64>) = choices.iter().copied().unzip();
                Self::Choice { table: Weighted::new(&weights), lengths: lengths.into_boxed_slice() }
            }
        }
    }

    /// Draws one length.
    #[inline]
    pub(crate) fn draw(&self, stream: &mut SeededRng) -> u32 {
        match self {
            Self::Fixed(length) => *length,
            Self::Steps { min, step, count } => min + step * stream.below(u64::from(*count)) as u32,
            Self::Choice { table, lengths } => lengths[table.draw(stream)],
        }
    }
}
