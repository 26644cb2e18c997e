//! Probabilities, prepared for being asked often.

use random::SeededRng;

/// A probability, prepared so that asking costs one comparison, and nothing at all (not even a
/// random number) when the answer is certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chance {
    /// Probability 0.
    Never,
    /// Probability 1.
    Always,
    /// Yes when 64 random bits are below this.
    Below(u64),
}

impl Chance {
    /// From a probability; what lies outside [0, 1] counts as the nearer end.
    pub(crate) fn of(probability: f64) -> Self {
        if probability <= 0.0 {
            Self::Never
        } else if probability >= 1.0 {
            Self::Always
        } else {
            Self::Below((probability * 18_446_744_073_709_551_616.0) as u64)
        }
    }

    /// Draws once, unless the answer is certain.
    #[inline]
    pub(crate) fn hit(self, stream: &mut SeededRng) -> bool {
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::Below(threshold) => stream.bits() < threshold,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_at_the_ends_draw_nothing() {
        let mut stream = SeededRng::named(1, "test");
        let mut untouched = stream.clone();
        assert!(!Chance::of(0.0).hit(&mut stream));
        assert!(Chance::of(1.0).hit(&mut stream));
        assert_eq!(stream.bits(), untouched.bits());
        let hits = (0..100_000).filter(|_| Chance::of(0.3).hit(&mut stream)).count();
        assert!((29_500..30_500).contains(&hits), "{hits}");
    }
}
