//! What is wrong with an image, in sentences.

/// Findings of one kind that are told one by one.
const TOLD: usize = 5;

/// What is wrong with an image, in sentences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    told: Vec<String>,
    /// How many more of each kind there are, told at the end.
    kinds: Vec<(&'static str, usize)>,
}

impl Findings {
    /// Notes something; after a few of one kind they are only counted.
    pub(crate) fn note(&mut self, kind: &'static str, sentence: impl FnOnce() -> String) {
        let position = self.kinds.iter().position(|(known, _)| *known == kind);
        let position = position.unwrap_or_else(|| {
            self.kinds.push((kind, 0));
            self.kinds.len() - 1
        });
        self.kinds[position].1 += 1;
        if self.kinds[position].1 <= TOLD {
            self.told.push(sentence());
        }
    }

    /// Everything, in sentences.
    pub fn sentences(&self) -> Vec<String> {
        let more = self.kinds.iter().filter(|(_, count)| *count > TOLD);
        let more = more.map(|(kind, count)| format!("{} more of the kind: {kind}", count - TOLD));
        self.told.iter().cloned().chain(more).collect()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.kinds.iter().map(|(_, count)| count).sum()
    }
}
