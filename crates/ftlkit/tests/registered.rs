//! Parts that are registered from outside are found, simulated and tortured like built-in ones.

use ftlkit::check::torture::{Options, Torture, TrialStats};
use ftlkit::flash::Lpn;
use ftlkit::ftl::api::layout::WearScheme;
use ftlkit::ftl::api::wear::{Purpose, WearPolicy};
use ftlkit::ftl::engines::page_map::machine::PageMap;
use ftlkit::ftl::engines::page_map::policy::{PageMapScheme, StreamPolicy};
use ftlkit::ftl::engines::page_map::space::Stream;
use ftlkit::ftl::schemes::page::Page;
use ftlkit::ftl::wear::dynamic::Dynamic;
use ftlkit::ftl::{ConfigError, Entry, Layout, PartKind, Request, Scheme, Values, registry};
use ftlkit::sim::{Control, Results, parse_toml, run_study};

/// A mapping like `page` under a name of its own; `STREAMS` streams for what the host writes.
struct Like<const STREAMS: usize>;

const NAMES: [&str; 3] = ["taken", "one-stream", "two-streams"];

impl<const STREAMS: usize> PageMapScheme for Like<STREAMS> {
    const ENTRY: Entry = Entry { name: NAMES[STREAMS], ..<PageMap<Page> as Scheme>::ENTRY };

    type Policy = Self;

    fn policy(_layout: &Layout, _values: &Values) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl<const STREAMS: usize> StreamPolicy for Like<STREAMS> {
    fn streams(&self) -> &'static [Purpose] {
        &[Purpose::Data, Purpose::Data, Purpose::Collected][2 - STREAMS..]
    }

    fn write_stream(&mut self, _request: &Request, lpn: Lpn) -> Stream {
        lpn.index() % STREAMS
    }

    fn collected_stream(&self, _from: Stream) -> Stream {
        STREAMS
    }
}

/// `dynamic` under another name.
#[derive(Debug)]
struct Mine(Dynamic);

impl WearScheme for Mine {
    const ENTRY: Entry = Entry { name: "my-wear", ..Dynamic::ENTRY };

    fn new(layout: &Layout, values: &Values) -> Self {
        Self(Dynamic::new(layout, values))
    }
}

impl WearPolicy for Mine {
    fn order(&self) -> ftlkit::ftl::api::wear::Order {
        self.0.order()
    }

    fn tables(&self) -> Vec<(&'static str, u64)> {
        self.0.tables()
    }
}

fn results(stacks: &[&str]) -> Results {
    let tables: Vec<_> = stacks.iter().map(|stack| format!("[[ftl]]\nname = \"{stack}\"\n")).collect();
    let tables = tables.concat();
    let text = format!(
        "[device]\npreset = \"slc-small\"\nchannels = 2\ncapacity = \"16MiB\"\n[workload]\npreset = \"hm_0\"\nrequests = 20000\n\
         addresses = \"wrap\"\n[run]\nprecondition = \"fill\"\nverify = true\n[host]\nloop = \"closed\"\n{tables}"
    );
    let study = parse_toml(&text, "mine.toml").expect("a study");
    run_study(&study, &Control::new()).expect("a run")
}

/// One test for all, since a process has one list.
#[test]
fn registered_parts_run_everywhere_under_their_names() {
    let unknown = registry::resolve(&"one-stream".parse().expect("a spelling")).expect_err("not yet").to_string();
    assert!(unknown.contains("unknown FTL one-stream"), "{unknown}");

    ftlkit::register::<PageMap<Like<1>>>().expect("a new name");
    ftlkit::register::<PageMap<Like<2>>>().expect("a new name");
    ftlkit::register_wear_policy::<Mine>().expect("a new name");

    let names: Vec<_> = registry::mappings().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names[names.len() - 2..], ["one-stream", "two-streams"]);
    assert_eq!(registry::entries(PartKind::WearPolicy).last().map(|entry| entry.name), Some("my-wear"));

    let twice = ftlkit::register::<PageMap<Like<1>>>().expect_err("taken").to_string();
    assert!(twice.contains("one-stream") && twice.contains("choose another"), "{twice}");
    let builtin = ftlkit::register::<PageMap<Page>>().expect_err("taken").to_string();
    assert!(builtin.contains("page: there is a mapping of this name"), "{builtin}");

    let runs = results(&["page", "one-stream", "two-streams", "page+dynamic", "one-stream+my-wear"]).runs;
    let hash: Vec<_> = runs.iter().map(|run| run.event_hash.clone()).collect();
    assert_eq!(hash[0], hash[1], "one stream for all that the host writes is page");
    assert_ne!(hash[0], hash[2]);
    assert_eq!(hash[3], hash[4], "my-wear is dynamic");
    assert_ne!(hash[0], hash[3], "the run is long enough for wear to decide");

    let tried = tortured("two-streams", None);
    assert!(tried.flash_operations > 1_000, "{tried:?}");

    // What is slow, as Python is, can be given shorter trials.
    let shorter = tortured("two-streams", Some(20_000));
    assert!(shorter.shortened > 0 && shorter.flash_operations <= 24 * 20_000, "{shorter:?}");
    assert!(shorter.recoveries > 0 && shorter.recoveries < tried.recoveries / 2, "{shorter:?} {tried:?}");
    let is_registered = |stack: &str| registry::is_registered(&stack.parse().expect("a spelling"));
    assert_eq!(["page", "two-streams", "page+my-wear", "page+dynamic"].map(is_registered), [false, true, true, false]);
}

/// What 24 trials of a stack amount to, each of which may take this many flash operations.
fn tortured(stack: &str, operations_of_registered: Option<u64>) -> TrialStats {
    let stacks = vec![stack.parse().expect("a spelling")];
    let options = Options { stacks, seed: 5, operations_of_registered, ..Options::default() };
    let mut torture = Torture::new(options).expect("it can be tortured");
    for _ in 0..24 {
        let trial = torture.next_trial().expect("a trial");
        let result = trial.run();
        torture.record(&trial, result, 1);
    }
    let report = &torture.reports()[0];
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    report.tried.clone()
}
