//! The presets against the figures they were made after, and `docs/look-alikes.md` against both.
//!
//! `UPDATE_DOCS=1 cargo test -p ftlkit-trace --test trace presets` writes the tables of the
//! documentation anew.

use std::collections::VecDeque;
use std::fmt::Write;
use std::path::Path;

use trace::generate::{GeneratorSpec, Pattern, Preset, SpecError, cold_presets, generate, preset, presets};
use trace::units::Bytes;
use trace::{HostOp, Locality, Record, Statistics, TraceError};

use crate::figures::{folder, some_of};
use crate::locality::{WINDOW, recorded};

const KIB: f64 = 1024.0;

/// The columns of WAFTL's table III and of the thesis' table 5.1, counted here and not by the
/// crate, so that one mistake cannot hide in both.
#[derive(Default)]
struct Figures {
    requests: f64,
    writes: f64,
    bytes: f64,
    sequential: f64,
    end: Option<u64>,
    last_arrival_ns: f64,
    classes: [f64; 3],
    one_page_writes: f64,
    long_writes: f64,
    /// Bytes of the shortest and the longest write.
    write_range: Option<[u32; 2]>,
}

impl Figures {
    fn of(records: impl Iterator<Item = Record>) -> Self {
        let mut figures = Self::default();
        records.for_each(|record| figures.add(&record));
        figures
    }

    fn add(&mut self, record: &Record) {
        self.requests += 1.0;
        self.bytes += f64::from(record.length);
        self.sequential += f64::from(self.end == Some(record.offset));
        self.end = Some(record.end());
        self.last_arrival_ns = record.time_ns as f64;
        let class = if record.length <= 4096 { 0 } else { 1 + usize::from(record.length >= 16_384) };
        self.classes[class] += 1.0;
        if record.op == HostOp::Write {
            self.writes += 1.0;
            let [shortest, longest] = self.write_range.unwrap_or([record.length; 2]);
            self.write_range = Some([shortest.min(record.length), longest.max(record.length)]);
            self.one_page_writes += f64::from(record.offset / 2048 == (record.end() - 1) / 2048);
            self.long_writes += f64::from(record.length > 65_536);
        }
    }

    fn mean_request_kib(&self) -> f64 {
        self.bytes / self.requests / KIB
    }

    fn mean_gap_ms(&self) -> f64 {
        self.last_arrival_ns / (self.requests - 1.0) / 1e6
    }

    fn percent(&self, count: f64) -> f64 {
        100.0 * count / self.requests
    }

    fn percent_of_writes(&self, count: f64) -> f64 {
        100.0 * count / self.writes
    }
}

/// A figure within 3 %, a percentage within half a point.
fn assert_meets(preset: &Preset, seed: u64, what: &str, published: Option<f64>, ours: f64) {
    let Some(published) = published else { return };
    let allowed = if what.contains('%') { 0.5 } else { 0.03 * published };
    assert!((ours - published).abs() <= allowed, "{} seed {seed}: {what} {ours}, published {published}", preset.name);
}

#[test]
fn every_preset_meets_its_published_figures_for_several_seeds() {
    for preset in presets().iter().chain(cold_presets()) {
        for &seed in some_of(&[1, 2, 20_261_121], 1) {
            let figures = Figures::of(generate(&preset.spec(), seed).unwrap());
            let published = &preset.published;
            let check = |what, published, ours| assert_meets(preset, seed, what, published, ours);
            check("mean request, KiB", published.mean_request_kib, figures.mean_request_kib());
            check("writes, %", published.write_percent, figures.percent(figures.writes));
            check("sequential, %", published.sequential_percent, figures.percent(figures.sequential));
            check("mean gap, ms", published.mean_gap_ms, figures.mean_gap_ms());
            for class in 0..3 {
                let percent = published.size_class_percents.map(|percents| percents[class]);
                check(["small, %", "medium, %", "large, %"][class], percent, figures.percent(figures.classes[class]));
            }
            let one_page = figures.percent_of_writes(figures.one_page_writes);
            check("writes to one page, %", published.one_page_write_percent, one_page);
            if let Some(range) = published.write_range_kib {
                assert_eq!(figures.write_range.map(|range| range.map(|bytes| u64::from(bytes) / 1024)), Some(range));
            }
            let long = figures.percent_of_writes(figures.long_writes);
            check("writes over 64 KiB, %", published.over_64_kib_write_percent, long);
        }
    }
}

/// `trace info` shows what is counted here: the crate's own statistics agree to the last request.
#[test]
fn the_statistics_show_the_same_figures() {
    for preset in presets() {
        let spec = GeneratorSpec { requests: 50_000, ..preset.spec() };
        let figures = Figures::of(generate(&spec, 4).unwrap());
        let shown = Statistics::of(generate(&spec, 4).unwrap().map(Ok)).unwrap().total;
        let sizes = shown.sizes.expect("50 000 requests have sizes");
        for (what, shown, counted) in [
            ("mean request", shown.mean_size_kib, figures.mean_request_kib()),
            ("writes", shown.write_percent, figures.percent(figures.writes)),
            ("sequential", shown.sequential_percent, figures.percent(figures.sequential)),
            ("mean gap", shown.mean_gap_ms, figures.mean_gap_ms()),
            ("small", Some(sizes.small_percent), figures.percent(figures.classes[0])),
            ("medium", Some(sizes.medium_percent), figures.percent(figures.classes[1])),
            ("large", Some(sizes.large_percent), figures.percent(figures.classes[2])),
        ] {
            let shown = shown.unwrap_or(f64::NAN);
            assert!((shown - counted).abs() <= 1e-9 * counted, "{}: {what} {shown}, counted {counted}", preset.name);
        }
    }
}

/// What a publication prints must be in the table above all: no preset without figures, none
/// forgotten.
#[test]
fn the_presets_carry_the_papers_figures() {
    let names: Vec<&str> = presets().iter().chain(cold_presets()).map(|preset| preset.name).collect();
    let expected = "fin1 fin2 exchange devdiv91 devdiv seq_read seq_write tpcc spc1 hm_0 mds_0 prn_0 prxy_0 rsrch_0 stg_0 ts_0 web_0 pctrace iozone-4 iozone-80 spc1-cold hm_0-cold mds_0-cold prn_0-cold prxy_0-cold rsrch_0-cold stg_0-cold ts_0-cold web_0-cold";
    assert_eq!(names.join(" "), expected);
    for preset in presets().iter().chain(cold_presets()) {
        let figures = &preset.published;
        let says_something = figures.mean_request_kib.is_some() || figures.size_class_percents.is_some();
        assert!(says_something || preset.source.starts_with("A-SAST, IV"), "{}", preset.name);
        assert!(!preset.assumed_of_kind.is_empty(), "{} does not say what is assumed", preset.name);
        let sum: f64 = figures.size_class_percents.map_or(100.0, |percents| percents.iter().sum());
        assert!((sum - 100.0).abs() < 0.02, "{}: the classes add to {sum} %", preset.name);
    }
}

/// An LRU write buffer of 2 KiB pages.
struct Buffer {
    capacity: usize,
    used: usize,
    /// Last use of every page, 0 for never.
    last_use: Vec<u64>,
    /// Pages in order of use, with the use they were entered for; an entry is stale when the page
    /// was used again since.
    order: VecDeque<(u64, u64)>,
    clock: u64,
}

impl Buffer {
    fn new(pages: u64, capacity: usize) -> Self {
        Self { capacity, used: 0, last_use: vec![0; pages as usize], order: VecDeque::new(), clock: 0 }
    }

    /// Whether the page was there.
    fn write(&mut self, page: u64) -> bool {
        self.clock += 1;
        let hit = std::mem::replace(&mut self.last_use[page as usize], self.clock) != 0;
        self.order.push_back((page, self.clock));
        self.used += usize::from(!hit);
        while self.used > self.capacity {
            let (oldest, used_at) = self.order.pop_front().expect("a full buffer has entries");
            if self.last_use[oldest as usize] == used_at {
                self.last_use[oldest as usize] = 0;
                self.used -= 1;
            }
        }
        hit
    }
}

/// Page hits of a warm 64 MiB buffer, % of the pages of all requests, or without fitted places of
/// the pages of writes that are not large; the first half of the requests warms it.
fn buffer_hit_percent(preset: &Preset, seed: u64) -> f64 {
    let spec = &preset.spec();
    let mut buffer = Buffer::new(spec.span.0 / 2048, 32_768);
    let (mut hits, mut pages) = (0.0, 0.0);
    for (index, record) in generate(spec, seed).unwrap().enumerate() {
        if preset.places.is_none() && (record.op != HostOp::Write || record.length >= 16_384) {
            continue;
        }
        for page in record.offset / 2048..record.end().div_ceil(2048) {
            let hit = buffer.write(page);
            if index as u64 >= spec.requests / 2 {
                pages += 1.0;
                hits += f64::from(hit);
            }
        }
    }
    100.0 * hits / pages
}

#[test]
fn locality_follows_the_published_buffer_hits() {
    for preset in presets().iter().chain(cold_presets()) {
        let Some(published) = preset.published.buffer_hit_percent else { continue };
        let ours = buffer_hit_percent(preset, 1);
        assert!((ours - published).abs() < 1.5, "{}: {ours} % of the pages hit, published {published} %", preset.name);
    }
}

/// A preset whose places were fitted differs from the cold one in nothing but its places.
#[test]
fn sizes_shares_and_gaps_do_not_depend_on_places() {
    let find = |name: &str| cold_presets().iter().find(|preset| preset.name == name);
    for preset in presets().iter().filter(|preset| preset.places.is_some()) {
        let cold = find(&format!("{}-cold", preset.name)).expect("it has a cold one");
        assert_eq!((preset.published, preset.source), (cold.published, cold.source));
        let (spec, other) = (preset.spec(), cold.spec());
        assert_eq!((spec.span, spec.unit, spec.write_share), (other.span, other.unit, other.write_share));
        assert_eq!(spec.arrivals, other.arrivals);
        let Pattern::Mixed(parts) = &spec.pattern else { panic!("{spec:?}") };
        assert!(parts.len() <= 2, "popular places, and large requests to cold ones: {parts:?}");
    }
}

/// Recorded windows, and the columns of those that have no format.
const FINANCIAL: (&str, Option<&str>) = ("financial1_first10k.ssdsim.ascii", None);
const SERVER: [(&str, Option<&str>); 2] =
    [("msr-hm0-window-105.trace", Some(WINDOW)), ("msr-hm0-window-1370.trace", Some(WINDOW))];

/// Places that were fitted are nearer to the recorded windows than those that were assumed: less
/// than half as far off in logical blocks and pages rewritten.
#[test]
fn fitted_places_are_nearer_to_recorded_windows_than_assumed_ones() {
    let Some(_) = folder() else { return };
    for (name, windows) in [("spc1", &[FINANCIAL][..]), ("hm_0", &SERVER)] {
        for (file, columns) in windows {
            let window = locality(recorded(file, *columns).unwrap().into_iter().map(Ok));
            let [fitted, cold] = [name.to_owned(), format!("{name}-cold")].map(|name| {
                let spec = preset(&name).unwrap();
                // The window begins somewhere in its trace; so does this, but with nothing before
                // it.
                let mut left = window.0;
                let records = generate(&spec, 2).unwrap().take_while(|record| {
                    left -= u64::from(record.op == HostOp::Write);
                    left > 0
                });
                let made = locality(records.map(Ok));
                let blocks = |(_, locality): &(u64, Locality)| locality.windows.last().unwrap().logical_blocks;
                let rewritten = |(_, locality): &(u64, Locality)| locality.windows.last().unwrap().rewritten_percent;
                let off = (blocks(&made) / blocks(&window)).ln().abs();
                (off, (rewritten(&made) - rewritten(&window)).abs())
            });
            println!("{name}, {file}: ln blocks and points rewritten off by {fitted:?}, cold {cold:?}");
            assert!(fitted.0 < 0.5 * cold.0 && fitted.1 < 0.5 * cold.1, "{name}, {file}: {fitted:?}, cold {cold:?}");
        }
    }
}

/// Writes, and where they go.
fn locality(records: impl Iterator<Item = Result<Record, TraceError>>) -> (u64, Locality) {
    let statistics = Statistics::of(records).unwrap();
    (statistics.total.writes, statistics.locality.unwrap())
}

#[test]
fn a_preset_can_be_moved_to_another_device_size() {
    for preset in presets() {
        let smaller =
            GeneratorSpec { requests: 20_000, span: Bytes(256 << 20), start: Bytes(1 << 30), ..preset.spec() };
        let figures = Figures::of(generate(&smaller, 1).unwrap().inspect(|record| {
            assert!(record.offset >= 1 << 30 && record.end() <= (1 << 30) + (256 << 20), "{}: {record:?}", preset.name);
        }));
        assert!((figures.requests - 20_000.0).abs() < 0.5);
    }
}

#[test]
fn a_preset_survives_its_text() {
    for preset in presets() {
        let toml = toml::to_string(&preset.spec()).unwrap();
        assert_eq!(toml::from_str::<GeneratorSpec>(&toml).unwrap(), preset.spec(), "{toml}");
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest_and_all() {
    let known: Vec<_> = presets().iter().map(|preset| preset.name).collect();
    for (name, nearest) in
        [("fin3", "fin1"), ("HM-0", "hm_0"), ("seqread", "seq_read"), ("devdv", "devdiv"), ("", "fin1")]
    {
        let error = preset(name).unwrap_err();
        assert_eq!(error, SpecError::UnknownPreset { name: name.to_owned(), closest: nearest, known: known.clone() });
        let text = error.to_string();
        assert!(
            text.contains(&format!("`{name}`; did you mean `{nearest}`?")) && text.ends_with("iozone-4, iozone-80."),
            "{text}"
        );
    }
    assert_eq!(preset("fin1").unwrap(), presets()[0].spec());
}

/// `published / ours`, or ours where nothing is published.
fn cell(published: Option<f64>, ours: f64, decimals: usize) -> String {
    published.map_or_else(String::new, |figure| format!("{figure:.decimals$} / ")) + &format!("{ours:.decimals$}")
}

fn tables() -> String {
    let mut figures_table = String::from(
        "| preset | span GiB | mean KiB | write % | sequential % | gap ms | small % | medium % | large % | buffer hits % |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for preset in presets() {
        let (spec, published) = (preset.spec(), &preset.published);
        let figures = Figures::of(generate(&spec, 1).unwrap());
        let class = |index: usize| {
            cell(
                published.size_class_percents.map(|percents| percents[index]),
                figures.percent(figures.classes[index]),
                2,
            )
        };
        let columns = [
            format!("`{}`", preset.name),
            (spec.span.0 >> 30).to_string(),
            cell(published.mean_request_kib, figures.mean_request_kib(), 2),
            cell(published.write_percent, figures.percent(figures.writes), 1),
            cell(published.sequential_percent, figures.percent(figures.sequential), 2),
            cell(published.mean_gap_ms, figures.mean_gap_ms(), if figures.mean_gap_ms() < 1.0 { 4 } else { 3 }),
            class(0),
            class(1),
            class(2),
            published
                .buffer_hit_percent
                .map_or("–".to_owned(), |_| cell(published.buffer_hit_percent, buffer_hit_percent(preset, 1), 1)),
        ];
        writeln!(figures_table, "| {} |", columns.join(" | ")).unwrap();
    }
    format!("\n{figures_table}\n{}\n", locality_table())
}

/// Locality of the writes in windows of 16 384 pages, of the first 100 000 requests.
fn locality_table() -> String {
    let mut table = String::from(
        "| preset | rewritten % | top 1 % get % | logical blocks | writes in runs % | their pages % |\n|---|---|---|---|---|---|\n",
    );
    for preset in presets() {
        let spec = GeneratorSpec { requests: 100_000, ..preset.spec() };
        let shown = Statistics::of(generate(&spec, 1).unwrap().map(Ok)).unwrap().locality.expect("it writes");
        let window = shown.windows[2];
        writeln!(
            table,
            "| `{}` | {:.1} | {:.1} | {:.0} | {:.1} | {:.1} |",
            preset.name,
            window.rewritten_percent,
            window.top_percent,
            window.logical_blocks,
            window.run_write_percent,
            window.run_page_percent
        )
        .unwrap();
    }
    table
}

#[test]
fn the_documentation_shows_these_figures() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/look-alikes.md");
    let text = std::fs::read_to_string(&path).expect("docs/look-alikes.md");
    let (before, rest) = text.split_once("<!-- presets -->\n").expect("the mark where the tables begin");
    let (shown, after) = rest.split_once("<!-- end of presets -->").expect("the mark where the tables end");
    let tables = tables();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let updated = format!("{before}<!-- presets -->\n{tables}<!-- end of presets -->{after}");
        std::fs::write(&path, updated).expect("docs/look-alikes.md is writable");
    } else {
        assert!(
            shown == tables,
            "docs/look-alikes.md is out of date: run UPDATE_DOCS=1 cargo test -p ftlkit-trace --test trace presets\n{tables}"
        );
    }
}
