//! The content of a page's data area, for any user of the flash.

use bytes::Bytes;

/// The content of a page: a number, as checks tell pages apart by, or bytes of a host. So one type
/// of device serves both, and what is compiled for it is compiled once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageData {
    /// A number; 0 in a page without content.
    Number(u64),
    /// Bytes, as many as a page has.
    Bytes(Bytes),
}

impl Default for PageData {
    #[inline]
    fn default() -> Self {
        Self::Number(0)
    }
}

impl PageData {
    /// The number in a page that holds numbers.
    ///
    /// # Panics
    /// When the page holds bytes.
    #[inline]
    pub fn number(&self) -> u64 {
        match self {
            Self::Number(number) => *number,
            Self::Bytes(bytes) => panic!("a page of numbers holds {} bytes", bytes.len()),
        }
    }

    /// The bytes in a page that holds bytes; none in one without content.
    ///
    /// # Panics
    /// When the page holds a number.
    #[inline]
    pub fn into_bytes(self) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Number(0) => Bytes::new(),
            Self::Number(number) => panic!("a page of bytes holds the number {number}"),
        }
    }
}

impl From<u64> for PageData {
    #[inline]
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<Bytes> for PageData {
    #[inline]
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}
