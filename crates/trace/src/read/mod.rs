//! Readers, one file a format, and the one list of them.
//!
//! A text format is a [`Layout`]: it turns one line into what the line says, and knows neither
//! files nor the options that are common to all. [`TextSource`](text::TextSource) drives it over
//! the lines of a file. The two binary formats are sources of their own.

mod alibaba;
mod biosnoop;
mod blkparse;
mod columns;
pub(crate) mod csv;
mod disksim;
mod etw;
mod fields;
mod filter;
mod fio;
mod fiu;
mod ftrace;
mod layout;
mod libcachesim;
mod merged;
mod msr;
pub(crate) mod parquet;
mod rwbs;
mod simulator;
pub(crate) mod source;
mod spc;
mod systor17;
mod tencent;
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
        Format::Msr => Box::new(msr::Msr::new(unit)),
        Format::Spc => Box::new(spc::Spc::new(unit)),
        Format::Systor17 => Box::new(systor17::Systor17::new(unit)),
        Format::Alibaba => Box::new(alibaba::Alibaba::new(unit)),
        Format::Tencent => Box::new(tencent::Tencent::new(unit)),
        Format::Fiu => Box::new(fiu::Fiu::new(unit)),
        Format::Etw => Box::new(etw::Etw::new(unit)),
        Format::Blkparse => Box::new(blkparse::Blkparse::new(unit, options.action(format))),
        Format::Ftrace => Box::new(ftrace::Ftrace::new(unit, options.action(format))),
        Format::Biosnoop => Box::new(biosnoop::Biosnoop::new(unit)),
        Format::Fio => Box::new(fio::Fio::new(unit)),
        Format::Disksim => Box::new(disksim::Disksim::new(unit)),
        Format::Ssdsim | Format::Mqsim => Box::new(simulator::Simulator::new(unit)),
        Format::LibcachesimCsv => Box::new(libcachesim::LibcachesimCsv::new(unit)),
        Format::Csv => Box::new(csv::Csv::new(unit)),
        Format::Columns => Box::new(columns::Named::new(options.columns.clone()?, unit)),
        Format::Vscsi | Format::Parquet | Format::Generated => return None,
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
