//! A translation layer of your own: `cargo run --release -- list`, `compare fin1`, `check` and
//! `torture`.

mod hot_cold;

use ftlkit::ftl::engines::page_map::machine::PageMap;

fn main() -> std::process::ExitCode {
    ftlkit::cli::main(ftlkit::register::<PageMap<hot_cold::HotCold>>)
}
