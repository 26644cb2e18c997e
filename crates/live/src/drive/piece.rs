//! What a read returns.

use bytes::Bytes;

/// A part of what was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes of a page.
    Data(Bytes),
    /// So many bytes of a page that holds nothing.
    Zeros(usize),
}

impl Piece {
    /// How many bytes it covers.
    pub fn len(&self) -> usize {
        match self {
            Self::Data(data) => data.len(),
            Self::Zeros(length) => *length,
        }
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
