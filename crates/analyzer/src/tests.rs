//! The chapter's examples, and the equations over random runs.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn analyzer(parameters: Parameters) -> Analyzer {
    Analyzer::new(parameters).expect("in their ranges")
}

fn file(id: u64, name: &str) -> File<'_> {
    File { id, name, read_only: false }
}

/// A type's figures of the interval that ended last.
fn of<'a>(analyzer: &'a Analyzer, name: &str) -> &'a TypeReport {
    let types = &analyzer.last().expect("an interval has ended").types;
    types.iter().find(|report| report.file_type.to_string() == name).expect("a type that was seen")
}

fn rewrite(analyzer: &mut Analyzer, file: &File<'_>, times: u64) {
    (0..times).for_each(|_| {
        analyzer.tell(Event::Rewrite, file);
    });
}

#[test]
fn the_chapter_s_example_of_five_types_has_degrees_by_their_order() {
    let mut analyzer = analyzer(Parameters { degrees: 5, ..Parameters::default() });
    let names = ["t.t0", "t.t1", "t.t2", "t.t3", "t.t4"];
    let files = || (0..).zip(names).map(|(id, name)| file(id, name));
    files().for_each(|file| {
        analyzer.tell(Event::Create, &file);
    });
    analyzer.end_interval();
    assert_eq!(files().map(|file| analyzer.label(&file).expect("seen").degree).collect::<Vec<_>>(), [0; 5]);
    files().for_each(|file| rewrite(&mut analyzer, &file, 10 + file.id));
    let ended = analyzer.end_interval();
    assert_eq!((ended.n, ended.theta), (1, 5));
    let labels: Vec<_> = files().map(|file| analyzer.label(&file).expect("seen")).collect();
    assert_eq!(labels.iter().map(|label| label.degree).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(labels.iter().map(|label| label.file_type).collect::<Vec<_>>(), [3, 4, 5, 6, 7]);
}

#[test]
fn a_video_is_written_but_not_rewritten_and_a_text_that_is_opened_again_is() {
    let mut analyzer = analyzer(Parameters::default());
    let (video, text) = (file(1, "a.mkv"), file(2, "a.txt"));
    for file in [video, text] {
        analyzer.tell(Event::Create, &file);
        (0..100).for_each(|_| {
            analyzer.tell(Event::Append, &file);
        });
    }
    analyzer.end_interval();
    assert_eq!((of(&analyzer, ".mkv").rewrites, of(&analyzer, ".txt").rewrites), (0, 0));
    analyzer.tell(Event::Open, &text);
    (0..3).for_each(|_| {
        analyzer.tell(Event::Append, &text);
    });
    rewrite(&mut analyzer, &text, 4);
    (0..50).for_each(|_| {
        analyzer.tell(Event::Append, &video);
    });
    analyzer.end_interval();
    let (video, text) = (of(&analyzer, ".mkv"), of(&analyzer, ".txt"));
    assert_eq!((video.rewrites, text.rewrites, text.phi, text.f_next), (0, 7, 7.0, 3.5));
    assert!(text.degree > video.degree);
}

#[test]
fn f_is_the_moving_average_of_equation_7_9_written_out() {
    let alpha = 0.25;
    let mut analyzer = analyzer(Parameters { alpha, ..Parameters::default() });
    let log = file(1, "a.log");
    analyzer.tell(Event::Create, &log);
    analyzer.end_interval();
    let phi = [8, 0, 3, 12, 5];
    for rewrites in phi {
        rewrite(&mut analyzer, &log, rewrites);
        analyzer.end_interval();
    }
    let terms = phi.iter().rev().zip(0..).map(|(&phi, i)| (1.0 - alpha).powi(i) * alpha * phi as f64);
    let (found, written_out) = (of(&analyzer, ".log").f_next, terms.sum::<f64>());
    assert!((found - written_out).abs() < 1e-12, "{found} against {written_out}");
}

#[test]
fn a_type_that_grows_or_shrinks_by_more_than_beta_is_an_outlier_of_degree_t() {
    let names: Vec<String> = (0..40).map(|id| format!("{id}.o")).collect();
    let object = |id: usize| file(id as u64, &names[id]);
    let mut analyzer = analyzer(Parameters::default());
    (0..20).for_each(|id| {
        analyzer.tell(Event::Create, &object(id));
    });
    analyzer.tell(Event::Create, &file(99, "a.c"));
    analyzer.end_interval();
    assert!(!of(&analyzer, ".o").outlier, "before the first interval nothing was there");
    let mut grow = |from: usize, to: usize, event: Event| {
        (from..to).for_each(|id| {
            analyzer.tell(event, &object(id));
        });
        analyzer.end_interval();
        let report = of(&analyzer, ".o");
        (report.s, report.outlier, report.degree)
    };
    assert_eq!(grow(20, 22, Event::Create), (0.1, false, 0), "β itself is no outlier");
    assert_eq!(grow(22, 25, Event::Create), (3.0 / 22.0, true, 10));
    assert_eq!(grow(0, 3, Event::Delete), (-0.12, true, 10));
    assert_eq!(grow(25, 25, Event::Create), (0.0, false, 0));
    analyzer.tell(Event::Create, &file(100, "a.new"));
    analyzer.end_interval();
    let new = of(&analyzer, ".new");
    assert_eq!((new.s, new.outlier, new.degree), (f64::INFINITY, true, 10));
}

#[test]
fn read_only_files_are_a_type_of_degree_0_that_is_not_sorted() {
    let mut analyzer = analyzer(Parameters::default());
    let (a, b) = (file(1, "a.c"), file(2, "b.h"));
    for file in [a, b] {
        analyzer.tell(Event::Create, &file);
    }
    analyzer.end_interval();
    let read_only = File { read_only: true, ..a };
    analyzer.tell(Event::SetReadOnly, &read_only);
    rewrite(&mut analyzer, &b, 5);
    let ended = analyzer.end_interval();
    assert_eq!((ended.theta, ended.types[0].active_next), (1, 1));
    assert_eq!((of(&analyzer, ".c").active_next, of(&analyzer, ".c").degree), (0, 0));
    assert_eq!(analyzer.label(&read_only), Some(Label { file_type: 1, degree: 0 }));
    assert_eq!(analyzer.file_type(1), Some(&FileType::ReadOnly));
    assert_eq!((analyzer.file_type(0), analyzer.file_type(9)), (None, None));
}

#[test]
fn a_file_that_is_renamed_leaves_its_type_and_one_deleted_unseen_counts_as_accessed() {
    let mut analyzer = analyzer(Parameters::default());
    analyzer.tell(Event::Create, &file(1, "download.part"));
    analyzer.tell(Event::Rename, &file(1, "download.iso"));
    analyzer.tell(Event::Rename, &file(1, "other.iso"));
    analyzer.tell(Event::Delete, &file(2, "unseen.iso"));
    analyzer.end_interval();
    let counts = |name: &str| {
        let report = of(&analyzer, name);
        (report.accessed, report.deleted, report.active_next)
    };
    assert_eq!((counts(".part"), counts(".iso")), ((1, 1, 0), (2, 1, 1)));
}

#[test]
fn an_interval_ends_with_its_last_write_request_and_other_events_are_none() {
    let mut analyzer = analyzer(Parameters { interval: 3, ..Parameters::default() });
    let a = file(1, "a.c");
    let events = [Event::Create, Event::Append, Event::Open, Event::Rewrite, Event::Open, Event::Append];
    let ends: Vec<_> = events.iter().map(|&event| analyzer.tell(event, &a).map(|ended| ended.n)).collect();
    assert_eq!(ends, [None, None, None, None, None, Some(0)]);
}

#[test]
fn a_parameter_out_of_its_range_is_named_with_its_range_and_its_default() {
    let of = Parameters::default;
    for (parameters, words) in [
        (Parameters { alpha: 1.5, ..of() }, "alpha = 1.5 is not from 0 to 1; leave it out for 0.5"),
        (Parameters { alpha: f64::NAN, ..of() }, "alpha = NaN"),
        (Parameters { beta: -0.1, ..of() }, "beta = -0.1 is not a share of 0 or more"),
        (Parameters { beta: f64::INFINITY, ..of() }, "beta = inf"),
        (Parameters { degrees: 0, ..of() }, "degrees = 0 is not from 1 to 254"),
        (Parameters { degrees: 255, ..of() }, "degrees = 255"),
        (Parameters { interval: 0, ..of() }, "interval = 0 is not 1 write request or more"),
    ] {
        let error = Analyzer::new(parameters).expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// Some events on few files of few types, so that they meet.
fn events() -> impl Strategy<Value = Vec<(Event, u64, usize, bool)>> {
    let event = proptest::sample::select(Event::ALL.to_vec());
    proptest::collection::vec((event, 0..12_u64, 0..NAMES.len(), proptest::bool::weighted(0.1)), 1..400)
}

const NAMES: [&str; 5] = ["x.a", "x.b", "x.c", "none", "x.d"];

fn parameters() -> impl Strategy<Value = Parameters> {
    let alpha = prop_oneof![Just(0.0), Just(1.0), 0.0..1.0];
    (alpha, 0.0..0.5, 1..20_u8, 1..40_u64).prop_map(|(alpha, beta, degrees, interval)| Parameters {
        alpha,
        beta,
        degrees,
        interval,
    })
}

/// Every interval of a run; the name and mode of a file follow what was told of it last.
fn run(parameters: Parameters, events: &[(Event, u64, usize, bool)]) -> Vec<Interval> {
    let mut analyzer = analyzer(parameters);
    let mut files: BTreeMap<u64, (usize, bool)> = BTreeMap::new();
    let mut ended = Vec::new();
    for &(event, id, name, read_only) in events {
        let renames = matches!(event, Event::Create | Event::Rename) || !files.contains_key(&id);
        let before = *files.entry(id).or_insert((name, false));
        let name = if renames { name } else { before.0 };
        let read_only = if event == Event::SetReadOnly { read_only } else { before.1 && event != Event::Create };
        files.insert(id, (name, read_only));
        let file = File { id, name: NAMES[name], read_only };
        ended.extend(analyzer.tell(event, &file).cloned());
        if event == Event::Delete {
            files.remove(&id);
        }
    }
    ended.push(analyzer.end_interval().clone());
    ended
}

proptest! {
    #[test]
    fn the_equations_hold_in_every_interval(parameters in parameters(), events in events()) {
        let intervals = run(parameters, &events);
        for (interval, next) in intervals.iter().zip(intervals.iter().skip(1)) {
            for (found, later) in interval.types.iter().zip(&next.types) {
                prop_assert_eq!(found.active_next, later.active);
                prop_assert!((found.f_next - later.f).abs() < f64::EPSILON);
            }
        }
        for interval in &intervals {
            let sorted: Vec<_> = interval.types[1..].iter().filter(|report| report.active_next > 0).collect();
            prop_assert_eq!(interval.theta, sorted.len());
            for found in &interval.types {
                // 7.2 and 7.3, 7.7, 7.4, 7.8, 7.5
                prop_assert_eq!(found.active_next + found.deleted, found.active + found.accessed);
                if found.active > 0 {
                    prop_assert!((found.phi * found.active as f64 - found.rewrites as f64).abs() < 1e-9);
                    let increment = found.active_next as f64 - found.active as f64;
                    prop_assert!((found.s * found.active as f64 - increment).abs() < 1e-9);
                }
                let between = found.phi.min(found.f)..=found.phi.max(found.f);
                prop_assert!(between.contains(&found.f_next) || (found.phi - found.f).abs() < 1e-9);
                let outlier = interval.n > 0 && found.s.abs() > parameters.beta;
                prop_assert_eq!(found.outlier, outlier && found.file_type != FileType::ReadOnly);
                // T is for outliers alone, and 0 for read-only files, for types that rest and for
                // all in the first interval.
                prop_assert!(found.degree <= parameters.degrees);
                prop_assert!(found.degree < parameters.degrees || found.outlier);
                if interval.n == 0 || found.active_next == 0 || found.file_type == FileType::ReadOnly {
                    prop_assert_eq!(found.degree, 0);
                }
            }
            // 7.11: degrees follow f, and P of Θ is never above what stands below.
            let calm = sorted.iter().filter(|report| !report.outlier && interval.n > 0);
            for found in calm.clone() {
                let below = sorted.iter().filter(|other| other.f_next < found.f_next).count();
                prop_assert_eq!(usize::from(found.degree), below * usize::from(parameters.degrees) / sorted.len());
            }
        }
    }

    #[test]
    fn alpha_0_forgets_the_present_and_alpha_1_the_past(events in events()) {
        let of = |alpha| Parameters { alpha, interval: 20, ..Parameters::default() };
        for found in run(of(0.0), &events).iter().flat_map(|interval| &interval.types) {
            prop_assert!(found.f_next.abs() < f64::EPSILON);
        }
        for found in run(of(1.0), &events).iter().flat_map(|interval| &interval.types) {
            prop_assert!((found.f_next - found.phi).abs() < f64::EPSILON);
        }
    }

    #[test]
    fn what_a_file_is_told_to_be_is_what_it_counts_as(events in events()) {
        let mut analyzer = analyzer(Parameters::default());
        let mut files: BTreeMap<u64, usize> = BTreeMap::new();
        for &(event, id, name, _) in &events {
            let name = match event {
                Event::Create | Event::Rename => name,
                _ => files.get(&id).copied().unwrap_or(name),
            };
            files.insert(id, name);
            analyzer.tell(event, &file(id, NAMES[name]));
            if event == Event::Delete {
                files.remove(&id);
            }
        }
        let ended = analyzer.end_interval();
        for found in &ended.types {
            let of_type = |&&name: &&usize| FileType::of(NAMES[name], false) == found.file_type;
            prop_assert_eq!(found.active_next, files.values().filter(of_type).count() as u64);
        }
    }
}
