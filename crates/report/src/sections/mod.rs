//! The sections of a page, one file each, and their reading order.
//!
//! A section is a function from a run to blocks. The registry lists each with its heading and the
//! depths of detail at which it is drawn. A section without blocks is left out with its heading.

pub mod summary;

mod advice;
pub use advice::advice;
mod audit;
pub use audit::audit;
mod checkup;
pub use checkup::checkup;
mod inventory;
pub use inventory::inventory;
mod calibration;
pub use calibration::{calibration, predictions};
mod across;
mod beside;
mod compare;
pub use across::{across, bound_line};
pub use beside::beside;
pub use compare::compare;

mod experiment;
pub use experiment::{experiment, experiment_briefly};
pub use visited::{figures, is_expected};

pub mod expectations;

pub mod search;

pub mod levels;

pub mod responses;
pub mod samples;

mod analysis;
mod conclusion;
pub(crate) use conclusion::conclusion;
pub use conclusion::decided;
pub mod confirmation;
mod connecting;
mod contrasts;
pub mod evidence;
pub mod gates;
mod order;

pub mod curves;
pub mod tail;
pub mod timeline;

pub mod latency;

mod events;
mod openings;
pub mod security;
pub mod traffic;
pub(crate) mod turnover;
pub(crate) mod users;
mod visited;
mod visits;
mod wall_words;
mod walls;

mod both_hosts;
mod counters;
pub mod cpu;
pub mod network;

mod fleet;

mod flame;
pub(crate) mod kernel;
pub mod profile;

pub mod notices;

mod endpoints;
pub mod machine;
pub mod tool;

pub mod tuning;

pub mod definitions;

use crate::page::{Block, Folded, Page};
use crate::wording::{failed_gates, plural};
use model::run::Run;

/// How much of a run is drawn. Text starts with the brief result at every depth; the sections
/// follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// The result in less than a screen.
    Summary,
    /// `-L`: the same with all percentiles.
    Latency,
    /// `-v`: the evidence of the verdict, tables of everything that was counted, charts.
    Evidence,
    /// `-vv`: also the gates that hold, the walls that were not tested, and the setup.
    Setup,
    /// Everything: the contents of the HTML file.
    Everything,
}

/// A section in the registry.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// Heading; consecutive sections with the same heading share it.
    pub heading: &'static str,
    /// Depths at which it is drawn, from the first to the second.
    pub depths: (Detail, Detail),
    /// Draws it.
    pub draw: fn(&Run) -> Vec<Block>,
}

const FROM_LATENCY: (Detail, Detail) = (Detail::Latency, Detail::Everything);
const FROM_EVIDENCE: (Detail, Detail) = (Detail::Evidence, Detail::Everything);
const FROM_SETUP: (Detail, Detail) = (Detail::Setup, Detail::Everything);
const ONLY_EVIDENCE: (Detail, Detail) = (Detail::Evidence, Detail::Evidence);
const OF_TEXT: (Detail, Detail) = (Detail::Evidence, Detail::Setup);
const FULLY: (Detail, Detail) = (Detail::Everything, Detail::Everything);

/// Every section in reading order.
pub const REGISTRY: &[Section] = &[
    Section { heading: "", depths: FULLY, draw: summary::summary },
    Section { heading: "", depths: OF_TEXT, draw: summary::setting },
    Section { heading: "What the tool reported", depths: FROM_EVIDENCE, draw: tool::reported },
    Section { heading: "Expectations", depths: FROM_EVIDENCE, draw: expectations::table },
    Section { heading: "Search", depths: FROM_EVIDENCE, draw: search::table },
    Section { heading: "Events", depths: FROM_EVIDENCE, draw: events::table },
    Section { heading: "Levels", depths: FROM_EVIDENCE, draw: levels::levels },
    Section { heading: "Agents", depths: FROM_EVIDENCE, draw: fleet::agents },
    Section { heading: "Agents", depths: FROM_SETUP, draw: fleet::hosts },
    Section { heading: "Turnover", depths: FROM_EVIDENCE, draw: turnover::turnover },
    Section { heading: "Users", depths: FROM_EVIDENCE, draw: users::users },
    Section { heading: "Responses", depths: FROM_EVIDENCE, draw: responses::remarks },
    Section { heading: "Responses", depths: OF_TEXT, draw: responses::of_best_point },
    Section { heading: "Responses", depths: FULLY, draw: responses::of_all_points },
    Section { heading: "Responses", depths: FROM_EVIDENCE, draw: samples::samples },
    Section { heading: "Curves", depths: FULLY, draw: curves::curves },
    Section { heading: "Evidence", depths: FROM_EVIDENCE, draw: evidence::evidence },
    Section { heading: "Evidence", depths: FROM_SETUP, draw: evidence::by_point },
    Section { heading: "Evidence", depths: FROM_SETUP, draw: evidence::not_tested },
    Section { heading: "Confirmation", depths: FROM_EVIDENCE, draw: confirmation::table },
    Section { heading: "Next", depths: FROM_EVIDENCE, draw: evidence::next },
    Section { heading: "Validity", depths: ONLY_EVIDENCE, draw: gates::broken },
    Section { heading: "Validity", depths: FROM_SETUP, draw: gates::summary },
    Section { heading: "Validity", depths: FROM_EVIDENCE, draw: tool::gates },
    Section { heading: "Validity", depths: ONLY_EVIDENCE, draw: traffic::trouble },
    Section { heading: "Validity", depths: FULLY, draw: gates::all },
    Section { heading: "Over time", depths: FROM_EVIDENCE, draw: events::charts },
    Section { heading: "Over time", depths: FROM_EVIDENCE, draw: timeline::points },
    Section { heading: "Over time", depths: FULLY, draw: tail::over_time },
    Section { heading: "Over time", depths: FULLY, draw: openings::charts },
    Section { heading: "Over time", depths: FULLY, draw: timeline::traffic },
    Section { heading: "Over time", depths: FULLY, draw: timeline::whole_run },
    Section { heading: "Both hosts", depths: FULLY, draw: both_hosts::section },
    Section { heading: "Latency", depths: FROM_LATENCY, draw: latency::percentiles },
    Section { heading: "Latency", depths: FULLY, draw: latency::distribution },
    Section { heading: "Traffic", depths: FROM_SETUP, draw: traffic::tables },
    Section { heading: "CPU", depths: FROM_EVIDENCE, draw: cpu::table },
    Section { heading: "Profile", depths: OF_TEXT, draw: profile::brief },
    Section { heading: "Profile", depths: FULLY, draw: profile::full },
    Section { heading: "Inside the kernel", depths: OF_TEXT, draw: kernel::brief },
    Section { heading: "Inside the kernel", depths: FULLY, draw: kernel::full },
    Section { heading: "Network", depths: FULLY, draw: network::tables },
    Section { heading: "Counters", depths: FULLY, draw: counters::tables },
    Section { heading: "Notices", depths: FROM_EVIDENCE, draw: notices::notices },
    Section { heading: "Setup", depths: FROM_SETUP, draw: machine::facts },
    Section { heading: "Setup", depths: FROM_SETUP, draw: machine::processes },
    Section { heading: "Setup", depths: FULLY, draw: machine::reference },
    Section { heading: "Definitions", depths: FULLY, draw: definitions::definitions },
];

/// The page of a run.
pub fn page_of(run: &Run, detail: Detail) -> Page {
    let mut blocks = Vec::new();
    let mut heading = "";
    for section in REGISTRY {
        let (from, to) = section.depths;
        if detail < from || detail > to {
            continue;
        }
        let drawn = (section.draw)(run);
        if drawn.is_empty() {
            continue;
        }
        if section.heading != heading {
            heading = section.heading;
            blocks.push(Block::Heading(heading.to_string()));
        }
        blocks.extend(drawn);
    }
    let is_page = detail == Detail::Everything;
    titled(run, if is_page { folded(run, blocks) } else { blocks })
}

/// Headings whose blocks are folded on the page: readers look there when they miss something above.
const FOLDED: [&str; 9] = [
    "Validity",
    "Both hosts",
    "Latency",
    "Traffic",
    "CPU",
    "Network",
    "Counters",
    "Setup",
    "Definitions",
];

/// The blocks with those below the headings of [`FOLDED`] in one each. Checks that do not hold stay
/// in sight.
fn folded(run: &Run, blocks: Vec<Block>) -> Vec<Block> {
    let is_broken = run.record.points.iter().any(|point| failed_gates(point).next().is_some());
    let mut shown: Vec<Block> = Vec::new();
    let mut fold: Option<Folded> = None;
    for block in blocks {
        match (block, &mut fold) {
            (Block::Heading(heading), _) => {
                shown.extend(fold.take().map(Block::Folded));
                let is_folded = FOLDED.contains(&heading.as_str());
                if is_folded && !(is_broken && heading == "Validity") {
                    fold = Some(Folded {
                        id: format!("in-{}", heading.to_lowercase().replace(' ', "-")),
                        title: "Show".to_string(),
                        summary: String::new(),
                        blocks: Vec::new(),
                    });
                }
                shown.push(Block::Heading(heading));
            }
            (block, Some(fold)) => fold.blocks.push(block),
            (block, None) => shown.push(block),
        }
    }
    shown.extend(fold.map(Block::Folded));
    for block in &mut shown {
        if let Block::Folded(folded) = block
            && folded.summary.is_empty()
        {
            folded.summary = contents(&folded.blocks);
        }
    }
    shown
}

/// `12 charts, 3 tables`.
fn contents(blocks: &[Block]) -> String {
    let (mut charts, mut tables) = (0, 0);
    for block in crate::page::flat(blocks) {
        match block {
            Block::Chart(_) | Block::Grid(_) | Block::Dots(_) | Block::Flame(_) => charts += 1,
            Block::Table(_) | Block::Facts(_) => tables += 1,
            _ => {}
        }
    }
    let counted = [(charts, "chart"), (tables, "table")].into_iter().filter(|(of, _)| *of > 0);
    let counted: Vec<_> = counted.map(|(of, noun)| plural(of, noun)).collect();
    if counted.is_empty() { "the text".to_string() } else { counted.join(", ") }
}

/// The sections of a run that is still under way: what is certain before it ends.
const SO_FAR: &[fn(&Run) -> Vec<Block>] = &[
    summary::summary,
    expectations::table,
    levels::levels,
    turnover::turnover,
    evidence::evidence,
    gates::broken,
];

/// The page of a run so far, without headings.
pub fn so_far(run: &Run) -> Page {
    titled(run, SO_FAR.iter().flat_map(|draw| draw(run)).collect())
}

/// What the probes read on both hosts, and nothing else.
pub fn hosts_page(run: &Run) -> Page {
    let blocks = both_hosts::section(run);
    if blocks.is_empty() {
        let why = "There are no readings: a record without its run directory has none, nor does a \
                   run that ended before its first level. Give the run directory.";
        return titled(run, vec![Block::Text(why.to_string())]);
    }
    titled(run, blocks)
}

fn titled(run: &Run, blocks: Vec<Block>) -> Page {
    let record = &run.record;
    let question = record.trial.question.word();
    Page {
        title: format!("ceiling {question} {}", record.target.url),
        subtitle: format!("{}, ceiling {}, run {}", record.started_at, record.version, record.id),
        blocks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use std::collections::BTreeSet;

    #[test]
    fn a_heading_stands_once() {
        let mut seen = BTreeSet::new();
        for neighbours in REGISTRY.chunk_by(|left, right| left.heading == right.heading) {
            assert!(seen.insert(neighbours[0].heading), "{}", neighbours[0].heading);
        }
    }

    #[test]
    fn the_verdict_is_said_first() {
        let first = |run: &Run| match &page_of(run, Detail::Everything).blocks[0] {
            Block::Banner(banner) => banner.text.clone(),
            other => panic!("{other:?}"),
        };
        let said = [
            (fixtures::ramp_quota(), "CEILING 48.3k/s (48.1k to 48.4k at 95 % over 4 visits)"),
            (
                fixtures::ramp_generator(),
                "NOT A SERVER MEASUREMENT: the generator is the wall: one client thread (C2).",
            ),
            (fixtures::ramp_no_wall(), "AT LEAST 25.0k/s (24.9k to 25.1k inside this run)"),
            (
                fixtures::ramp_invalid(),
                "NOT A VALID MEASUREMENT: the rate is not known: littles_law: rate x mean latency \
                 = 912.0 for 456.0 in flight.",
            ),
            (
                fixtures::target_lost(),
                "THE TARGET STOPPED RESPONDING before the first of 8 levels was measured.",
            ),
        ];
        for (run, sentence) in said {
            assert_eq!(first(&run), sentence);
        }
    }

    #[test]
    fn walls_that_limit_together_are_said_once_and_without_a_side() {
        let Block::Banner(banner) =
            page_of(&fixtures::co_limited(), Detail::Everything).blocks.remove(0)
        else {
            panic!("the verdict comes first");
        };
        let said = "Wall: server CPUs (S1) together with one client thread (C2) (co-limited: both \
                    at their limit).";
        assert_eq!(banner.lines[0], said);
        assert!(banner.lines[2].ends_with("; use more threads (-t)."), "{:?}", banner.lines);
    }

    #[test]
    fn charts_hold_one_value_for_each_position() {
        for (name, run) in fixtures::all() {
            let mut ids = BTreeSet::new();
            for chart in page_of(&run, Detail::Everything).charts() {
                assert!(chart.selected < chart.views.len(), "{name}: {}", chart.id);
                for view in &chart.views {
                    assert!(view.series.iter().all(|series| series.y.len() == view.x.len()));
                    assert!(view.x_marks.is_empty() || view.x_marks.len() == view.x.len());
                    assert!(view.x.is_sorted(), "{name}: {}", chart.id);
                }
                assert!(ids.insert(chart.id.clone()), "{name}: ids are anchors");
            }
        }
    }
}
