//! A run for continuous integration: JUnit XML, a summary in Markdown, and annotations.
//!
//! What this room is for: the same cases in three formats.
//! In: a run or an experiment, and how it ended. Out: text.
//! Never: an opinion of its own. A case fails exactly when the exit code says that something
//! failed.

pub mod annotations;
pub mod junit;
pub mod markdown;

use crate::sections::levels::phrases;
use crate::sections::{bound_line, is_expected};
use crate::wording::{failed_gates, point_phrase};
use model::across::{Decided, Outcome as Holds};
use model::claim::Claim;
use model::ending::{Ending, Strictness};
use model::experiment::{CellResult, Experiment, Fate};
use model::objective::Expectation;
use model::run::{Point, Record, Run};
use model::search::SearchRecord;
use model::units::NS_PER_S;

/// Why a run without a good response fails where nothing was expected.
const NOTHING_GOOD: &str = "no good response came";

/// What a command did, as cases.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// What was done: `ceiling load http://host/`.
    pub title: String,
    /// Its first two words with a dot between: `ceiling.load`.
    pub class: String,
    /// Start, RFC 3339; absent when it did not start.
    pub started_at: Option<String>,
    /// In printing order.
    pub cases: Vec<Case>,
}

/// One thing that passes or fails.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// A term, a level, a cell, or `the measurement`.
    pub name: String,
    /// Its outcome.
    pub outcome: CaseOutcome,
    /// Measured time, seconds.
    pub time_s: f64,
}

/// The outcome of a case.
#[derive(Debug, Clone, PartialEq)]
pub enum CaseOutcome {
    /// It passed, with what was found.
    Passed(String),
    /// There is no result, and none was required: why.
    Skipped(String),
    /// The result is not as expected: why.
    Failed(String),
    /// It was not measured, or the measurement is not valid: why.
    Error(String),
}

impl Report {
    /// A run. Its cases are its expectations, or without any, its levels.
    pub fn of_run(run: &Run, strictness: Strictness) -> Self {
        let record = &run.record;
        let word = record.trial.question.word();
        let time_s = measured_s(record);
        let ending = record.ending(strictness);
        let mut cases = vec![Case {
            name: "the measurement".to_string(),
            outcome: of_ending(record, ending, strictness),
            time_s,
        }];
        let measured = |outcome, name: &str| Case { name: name.to_string(), outcome, time_s };
        match &record.search {
            Some(search) => cases.push(measured(of_search(search), &search_name(record))),
            None if record.expectations.is_empty() => cases.extend(levels(record)),
            None => {
                let terms = record.expectations.iter();
                cases.extend(terms.map(|one| measured(of_expectation(one), &one.term)));
            }
        }
        Self {
            title: format!("ceiling {word} {}", record.target.url),
            class: format!("ceiling.{word}"),
            started_at: Some(record.started_at.clone()),
            cases,
        }
    }

    /// An experiment: its cells. `runs` has the run of each cell.
    pub fn of_experiment(of: &Experiment, runs: &[Option<Run>]) -> Self {
        let cell = |(cell, run): (&CellResult, &Option<Run>)| Case {
            name: cell.name.clone(),
            outcome: of_cell(cell, run.as_ref()),
            time_s: run.as_ref().map_or(0.0, |run| measured_s(&run.record)),
        };
        Self {
            title: format!("ceiling run {}", of.plan),
            class: "ceiling.run".to_string(),
            started_at: Some(of.started_at.clone()),
            cases: of.cells.iter().zip(runs).map(cell).collect(),
        }
    }

    /// Adds what went wrong after the measurement, such as an output that cannot be written.
    pub fn add_failure(&mut self, why: &str) {
        let outcome = CaseOutcome::Error(why.to_string());
        self.cases.push(Case { name: "the outputs".to_string(), outcome, time_s: 0.0 });
    }

    /// Adds the outcome of each bound of a change.
    pub fn add_bounds(&mut self, bounds: &[Decided]) {
        let case = |one: &Decided| Case {
            name: format!("no {}", one.bound),
            outcome: match one.outcome {
                Holds::Holds => CaseOutcome::Passed(bound_line(one)),
                Holds::Failed | Holds::Undecided => CaseOutcome::Failed(bound_line(one)),
            },
            time_s: 0.0,
        };
        self.cases.extend(bounds.iter().map(case));
    }

    /// A command that measured nothing, and why.
    pub fn of_failure(title: &str, why: &str) -> Self {
        let word = title.split(' ').nth(1).unwrap_or_default();
        let outcome = CaseOutcome::Error(why.to_string());
        Self {
            title: title.to_string(),
            class: format!("ceiling.{word}"),
            started_at: None,
            cases: vec![Case { name: "the measurement".to_string(), outcome, time_s: 0.0 }],
        }
    }
}

/// Measured time, seconds.
fn measured_s(of: &Record) -> f64 {
    let of_tool = of.tool.iter().map(|tool| {
        let (begin_ns, end_ns) = tool.window_ns;
        end_ns.saturating_sub(begin_ns) as f64 / NS_PER_S as f64
    });
    of.points.iter().map(|point| point.load.duration_s).chain(of_tool).sum()
}

fn of_ending(record: &Record, ending: Ending, strictness: Strictness) -> CaseOutcome {
    let is_strict = strictness == Strictness::EveryGate;
    match (ending, record.claim()) {
        (Ending::Good | Ending::Unmet, _) => CaseOutcome::Passed(record.verdict.name.clone()),
        (Ending::NothingGood, _) => CaseOutcome::Failed(NOTHING_GOOD.to_string()),
        (Ending::Interrupted, _) => CaseOutcome::Error("it was interrupted".to_string()),
        (Ending::Unreachable, _) => CaseOutcome::Error("the target did not respond".to_string()),
        (Ending::NoAnswer, _) => CaseOutcome::Error("the search has no result".to_string()),
        (Ending::NotValid, Claim::NotKnown(why)) => CaseOutcome::Error(why.to_string()),
        (Ending::NotValid, Claim::OfGenerator) => {
            let wall = &record.verdict.name;
            CaseOutcome::Error(format!("the generator was the wall: {wall}"))
        }
        (Ending::NotValid, Claim::Known) => {
            let whys = record.points.iter().flat_map(failed_gates).map(|gate| gate.why.clone());
            let whys: Vec<String> = whys.filter(|_| is_strict).take(5).collect();
            CaseOutcome::Error(format!("--strict: {}", whys.join("; ")))
        }
    }
}

fn of_expectation(one: &Expectation) -> CaseOutcome {
    let margin = one.margin().map_or(String::new(), |margin| format!(", {margin}"));
    match one.met {
        Some(true) => CaseOutcome::Passed(format!("{}{margin}", one.why)),
        Some(false) => CaseOutcome::Failed(format!("missed: {}{margin}", one.why)),
        None => CaseOutcome::Failed(format!("undecided: {}", one.why)),
    }
}

fn search_name(record: &Record) -> String {
    let objective = record.trial.expect.as_ref();
    objective.map_or("a rate holds".to_string(), |terms| format!("a rate holds {terms}"))
}

fn of_search(search: &SearchRecord) -> CaseOutcome {
    match search.answer.as_ref().map(|answer| answer.rate) {
        Some(Some(rate)) => CaseOutcome::Passed(crate::wording::per_second(rate)),
        Some(None) => CaseOutcome::Failed("no rate was shown to hold it".to_string()),
        None => CaseOutcome::Skipped("the search did not end".to_string()),
    }
}

/// The last visit of each level.
fn levels(record: &Record) -> Vec<Case> {
    let points = &record.points;
    let is_last =
        |at: &usize| points.get(at + 1).is_none_or(|next| next.attempt <= points[*at].attempt);
    let case = |point: &Point| Case {
        // One name in every run, however often a level was visited.
        name: point_phrase(&Point { attempt: 1, ..point.clone() }),
        outcome: match point.claim() {
            Claim::NotKnown(why) => CaseOutcome::Skipped(why.to_string()),
            Claim::OfGenerator => CaseOutcome::Skipped("the generator was the wall".to_string()),
            Claim::Known => CaseOutcome::Passed(phrases(point).join(", ")),
        },
        time_s: point.load.duration_s,
    };
    (0..points.len()).filter(is_last).map(|at| case(&points[at])).collect()
}

fn has_nothing_good(of: &Record) -> bool {
    of.ending(Strictness::OfFigure) == Ending::NothingGood
}

fn of_cell(cell: &CellResult, run: Option<&Run>) -> CaseOutcome {
    match (&cell.fate, run) {
        (Fate::Failed { why }, _) => CaseOutcome::Error(why.clone()),
        (Fate::NotReached, _) => CaseOutcome::Error("interrupted before it".to_string()),
        (Fate::Measured { .. }, None) => CaseOutcome::Skipped("its run is missing".to_string()),
        (Fate::Measured { .. }, Some(run)) => {
            let found = crate::wording::wall_phrase(&run.record.verdict);
            match (is_expected(cell, run), run.record.claim()) {
                // A warm-up visit counts in nothing.
                (Some(false), _) if cell.block != Some(0) => {
                    let walls: Vec<&str> = cell.expected.iter().map(|wall| wall.id()).collect();
                    CaseOutcome::Failed(format!("{found}; expected {}", walls.join(" or ")))
                }
                (None, _) if cell.block != Some(0) && has_nothing_good(&run.record) => {
                    CaseOutcome::Failed(NOTHING_GOOD.to_string())
                }
                (_, Claim::NotKnown(why)) => CaseOutcome::Skipped(why.to_string()),
                _ => CaseOutcome::Passed(found),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use model::figure::Figure;
    use model::standing::Standing;
    use model::verdict::{Gate, GateId};
    use model::visit::best_point;

    /// There are failures or errors exactly when the exit code is not zero.
    #[test]
    fn the_cases_of_every_fixture_agree_with_its_exit_code() {
        for (name, run) in fixtures::all() {
            for strictness in [Strictness::OfFigure, Strictness::EveryGate] {
                let cases = Report::of_run(&run, strictness).cases;
                let any = |is: fn(&CaseOutcome) -> bool| cases.iter().any(|one| is(&one.outcome));
                let failed = any(|outcome| matches!(outcome, CaseOutcome::Failed(_)));
                let error = any(|outcome| matches!(outcome, CaseOutcome::Error(_)));
                let ending = run.record.ending(strictness);
                match ending {
                    Ending::Good => assert!(!failed && !error, "{name}"),
                    Ending::Unmet | Ending::NothingGood => assert!(failed && !error, "{name}"),
                    _ => assert!(error, "{name} {ending:?}"),
                }
            }
        }
    }

    /// That nothing good came needs no rate, but `--strict` asks for every check.
    #[test]
    fn no_good_response_is_that_whether_the_rate_is_known_or_not() {
        let is_so = |run: &Run| run.record.ending(Strictness::OfFigure) == Ending::NothingGood;
        let runs = fixtures::all().into_iter().map(|(_, run)| run).filter(is_so);
        let mut runs: Vec<Run> = runs.collect();
        assert!(!runs.is_empty());
        for run in &mut runs {
            for point in &mut run.record.points {
                let unknown = Standing::NotKnown { why: "the bytes differ".to_string() };
                point.standing.add(Figure::Rate, unknown);
            }
            assert!(is_so(run));
            for point in &mut run.record.points {
                point.gates.iter_mut().for_each(|gate| gate.ok = Some(false));
            }
            assert!(is_so(run));
            assert_eq!(run.record.ending(Strictness::EveryGate), Ending::NotValid);
        }
    }

    /// Trials that miss break gates, so those of the others do not count.
    #[test]
    fn a_strict_search_needs_the_gates_of_its_result() {
        let mut run = fixtures::find_answer();
        let ending = |run: &Run| run.record.ending(Strictness::EveryGate);
        let broken = || Gate {
            id: GateId::CpuStates,
            ok: Some(false),
            measured: None,
            bound: String::new(),
            why: String::new(),
        };
        run.record.points[1].gates.push(broken());
        assert_eq!(ending(&run), Ending::Good);
        let (at, _) = best_point(&run.record).unwrap();
        run.record.points[at].gates.push(broken());
        assert_eq!(ending(&run), Ending::NotValid);
        assert_eq!(run.record.ending(Strictness::OfFigure), Ending::Good);
    }

    #[test]
    fn cells_of_an_experiment_are_cases() {
        let (experiment, runs) = fixtures::experiment();
        let report = Report::of_experiment(&experiment, &runs);
        assert_eq!(report.cases.len(), experiment.cells.len());
        let is_error = |case: &&Case| matches!(case.outcome, CaseOutcome::Error(_));
        let not_measured =
            experiment.cells.iter().filter(|cell| !matches!(cell.fate, Fate::Measured { .. }));
        assert_eq!(report.cases.iter().filter(is_error).count(), not_measured.count());
    }
}
