//! Readers, one file a format but for those of plain columns, and the one list of them.
//!
//! A text format is a [`Layout`]: it turns one line into what the line says, and knows neither
//! files nor the options that are common to all. [`TextSource`](text::TextSource) drives it over
//! the lines of a file. The two binary formats are sources of their own.

mod biosnoop;
mod blkparse;
mod columns;
pub(crate) mod csv;
mod etw;
mod fields;
mod filter;
mod fio;
mod fiu;
mod ftrace;
mod layout;
mod merged;
pub(crate) mod parquet;
mod plain;
mod request;
mod rwbs;
pub(crate) mod source;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod text;
pub(crate) mod vscsi;

use crate::error::TraceError;
use crate::format::Format;
use crate::input::Origin;
use crate::options::OpenOptions;
use layout::Layout;
use source::Source;

pub(crate) use layout::Parsed;

/// The layout of a text format; none for the others.
pub(crate) fn layout(format: Format, options: &OpenOptions) -> Option<Box<dyn Layout>> {
    let unit = options.unit(format);
    Some(match format {
        Format::Fiu => Box::new(fiu::Fiu::new(unit)),
        Format::Etw => Box::new(etw::Etw::new(unit)),
        Format::Blkparse => Box::new(blkparse::Blkparse::new(unit, options.action(format))),
        Format::Ftrace => Box::new(ftrace::Ftrace::new(unit, options.action(format))),
        Format::Biosnoop => Box::new(biosnoop::Biosnoop::new(unit)),
        Format::Fio => Box::new(fio::Fio::new(unit)),
        Format::Csv => Box::new(csv::Csv::new(unit)),
        Format::Columns => Box::new(columns::Named::new(options.columns.clone()?, unit)),
        plain_or_none => Box::new(plain::Plain::of(plain_or_none, unit)?),
    })
}

/// Opens `origin` as `format`: its file, or all of its files as one.
pub(crate) fn source(format: Format, origin: &Origin, options: &OpenOptions) -> Result<Box<dyn Source>, TraceError> {
    let files = origin.files();
    if let [file] = files.as_slice() {
        return source_of_file(format, file, options);
    }
    let open = |file: &Origin| Ok((file.path().to_owned(), source_of_file(format, file, options)?));
    Ok(Box::new(merged::Merged::new(files.iter().map(open).collect::<Result<_, TraceError>>()?)))
}

fn source_of_file(format: Format, origin: &Origin, options: &OpenOptions) -> Result<Box<dyn Source>, TraceError> {
    match layout(format, options) {
        Some(layout) => Ok(Box::new(text::TextSource::new(format, layout, origin, options)?)),
        None if !options.conditions.is_empty() => Err(TraceError::Option(format!(
            "--where \"{}\": {} is read as {format}, which is no text, and conditions are on the columns of a text. Leave it out",
            options.conditions,
            origin.path().display()
        ))),
        None if format == Format::Vscsi => Ok(Box::new(vscsi::VscsiSource::new(origin, options)?)),
        None => Ok(Box::new(parquet::ParquetSource::new(origin, options)?)),
    }
}
