//! Pages of a column, checked before they are decoded, and a guard around the decoder.
//!
//! The library trusts a file in places where a damaged one betrays it, and then panics. What
//! fuzzing has found of that is checked here and becomes an error like any other. Whatever it has
//! not found is caught by [`guarded`]: bad input must not end the program, wherever it is noticed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};

/// Runs `call` into the library; a panic becomes an error. What the call left behind is not used
/// again: after an error a trace yields nothing more.
pub(super) fn guarded<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let message =
            panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(ParquetError::General(format!("the decoder gave up: {}", message.unwrap_or("no reason given"))))
    })
}

/// The pages of one column of one row group.
pub(super) struct CheckedPages {
    inner: Box<dyn PageReader>,
    has_dictionary: bool,
}

impl CheckedPages {
    pub(super) fn new(inner: Box<dyn PageReader>) -> Self {
        Self { inner, has_dictionary: false }
    }

    fn check(&mut self, page: &Page) -> Result<()> {
        let wrong = |problem: &str| Err(ParquetError::General(problem.to_owned()));
        match page {
            Page::DictionaryPage { .. } => self.has_dictionary = true,
            Page::DataPage { .. } => {}
            Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                if levels > buf.len() as u64 {
                    return wrong("a page has fewer bytes than its levels");
                }
            }
        }
        let by_dictionary = matches!(page.encoding(), Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY);
        if by_dictionary && page.is_data_page() && !self.has_dictionary {
            return wrong("a page refers to a dictionary, but there is none");
        }
        Ok(())
    }
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.inner.get_next_page()?;
        if let Some(page) = &page {
            self.check(page)?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.inner.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.inner.at_record_boundary()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_in_the_library_is_an_error() {
        let rows: Vec<u8> = Vec::new();
        let error = guarded(|| Ok(rows[3])).unwrap_err().to_string();
        assert!(error.contains("the decoder gave up: index out of bounds"), "{error}");
        assert!(guarded(|| Ok(5)).is_ok());
    }
}
