//! A study from text to results: checked, surveyed, then all runs side by side.
//!
//! Runs share nothing but the control, so the threads that carry them can only change how long a
//! study takes. Results come in the order of the study; so does the error, if there is one: a run
//! that fails stops the ones after it, never those before it. A wall clock is looked at here and in
//! `run`, to say how long each run and its measured part took.

use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use ftl::registry;
use rayon::prelude::*;

use crate::control::{Control, Order};
use crate::error::{Fault, FtlBug, Halt, SetupError, SimError, Stage};
use crate::host::clock::refuse_asking;
use crate::host::experiment::{Experiment, Plan};
use crate::host::precondition::effort;
use crate::host::run::run;
use crate::observe::log::Log;
use crate::result::{Results, RunResult, WorkloadFacts};
use crate::setup::study::Study;
use crate::setup::values::Precondition;

/// Version of ftlkit, as results carry it.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs a study. When it is cancelled through `control`, the results hold the runs that were
/// finished.
///
/// # Errors
/// What the user can mend, or a bug of a translation layer; see [`SimError::is_bug`].
pub fn run_study(study: &Study, control: &Control) -> Result<Results, SimError> {
    run_study_logged(study, control, None)
}

/// Runs a study and writes a row for every request into a Parquet file at `log`, if there is one. A
/// study that is cancelled leaves no file.
///
/// # Errors
/// As [`run_study`], or the file cannot be written.
pub fn run_study_logged(study: &Study, control: &Control, log: Option<&Path>) -> Result<Results, SimError> {
    let mut experiment = match prepare(study, control) {
        Ok(experiment) => experiment,
        Err(SetupError::Input(error)) => return Err(error),
        Err(SetupError::Stopped) => return Ok(nothing(study)),
    };
    if log.is_some() {
        experiment.log_requests()?;
    }
    let log = log.map(Log::new).transpose()?;
    announce(&experiment, control);
    let first_failed = AtomicUsize::new(usize::MAX);
    let outcomes: Vec<_> = experiment
        .plans
        .par_iter()
        .with_max_len(1)
        .enumerate()
        .map(|(index, plan)| {
            run_one(&experiment, plan, log.as_ref(), control, Order { index, first_failed: &first_failed })
        })
        .collect();
    let mut runs = Vec::with_capacity(outcomes.len());
    for (outcome, plan) in outcomes.into_iter().zip(&experiment.plans) {
        match outcome {
            Ok(result) => runs.push(result),
            Err(Halt::Stopped) => {}
            Err(Halt::Input(error)) => return Err(error),
            Err(Halt::AskedOfTime(what)) => return Err(refuse_asking(plan, what)),
            Err(Halt::Fault(stage, fault)) => return Err(blame(&experiment, plan, stage, fault)),
        }
    }
    if let Some(log) = log.filter(|_| runs.len() == experiment.plans.len()) {
        log.finish(runs.len(), experiment.knows_waiting())?;
    }
    Ok(Results {
        ftlkit: VERSION,
        study: experiment.resolved().to_json(),
        cancelled: runs.len() < experiment.plans.len(),
        workload: experiment.survey.facts.clone(),
        precondition_chosen: Some(experiment.precondition_chosen.clone()),
        device: Some(experiment.device_facts()),
        write_rate: Some(experiment.write_rate()),
        runs,
    })
}

/// Checks a study as [`run_study`] would, its workload included, and returns it with every key
/// filled in.
pub fn check_study(study: &Study, control: &Control) -> Result<Study, SimError> {
    match prepare(study, control) {
        Ok(experiment) => Ok(experiment.resolved()),
        Err(SetupError::Input(error)) => Err(error),
        Err(SetupError::Stopped) => {
            Err(SimError::study("the check was stopped before the workload was read to its end"))
        }
    }
}

fn prepare(study: &Study, control: &Control) -> Result<Experiment, SetupError> {
    control.announce([("workload".to_owned(), study.workload.requests.unwrap_or(0))]);
    Experiment::check(study, control)
}

/// The results of a study that was stopped before it began.
fn nothing(study: &Study) -> Results {
    Results {
        ftlkit: VERSION,
        study: study.to_json(),
        cancelled: true,
        workload: WorkloadFacts::default(),
        precondition_chosen: None,
        device: None,
        write_rate: None,
        runs: Vec::new(),
    }
}

/// The lines of progress of the runs, behind that of the workload: for each a line of its
/// preparation, where there is one, and a line of its own.
fn announce(experiment: &Experiment, control: &Control) {
    let requests = experiment.survey.facts.requests;
    let preparation = effort(experiment);
    let prepares = experiment.precondition != Precondition::None;
    let lines = experiment.plans.iter().flat_map(|plan| {
        let before = prepares.then(|| (format!("{} (precondition)", plan.label), preparation));
        before.into_iter().chain([(plan.label.clone(), requests)])
    });
    control.announce([("workload".to_owned(), requests)].into_iter().chain(lines));
    control.complete(0);
}

fn run_one(
    experiment: &Experiment,
    plan: &Plan,
    log: Option<&Log>,
    control: &Control,
    order: Order,
) -> Result<RunResult, Halt> {
    let begun = Instant::now();
    let prepares = experiment.precondition != Precondition::None;
    let measuring = if prepares { 2 * order.index + 2 } else { order.index + 1 };
    // Without preparation its reporter has nothing to report.
    let preparing = control.reporter(measuring - usize::from(prepares), order);
    let part = |log: &Log| log.part(order.index, &plan.label, experiment.knows_waiting());
    let outcome = match log.map(part).transpose() {
        Ok(part) => run(experiment, plan, part, &preparing, &control.reporter(measuring, order)),
        Err(error) => Err(Halt::Input(error)),
    };
    if matches!(outcome, Err(Halt::Fault(..) | Halt::Input(_) | Halt::AskedOfTime(_))) {
        order.fail();
    }
    outcome.map(|result| RunResult { wall_s: begun.elapsed().as_secs_f64(), ..result })
}

/// The error that a fault of a translation layer is to its user.
fn blame(experiment: &Experiment, plan: &Plan, stage: Stage, fault: Fault) -> SimError {
    if fault.is_end_of_life() {
        return SimError::WornOut(format!(
            "ftl \"{}\": the device wore out in {stage}, before anything could be measured: {fault}. Raise device.endurance, or \
             prepare the device less (run.precondition)",
            plan.label
        ));
    }
    let is_own = fault.is_of_own_code() || registry::is_registered_mapping(&plan.stack);
    let bug = Box::new(FtlBug {
        label: plan.label.clone(),
        ftl: plan.stack.names(),
        seed: experiment.seed,
        geometry: experiment.device.geometry.to_string(),
        stage,
        fault,
    });
    if is_own { SimError::Own(bug) } else { SimError::Bug(bug) }
}
