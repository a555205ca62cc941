//! What to try next: the best candidate first, then what is not known, then what cannot matter.

use crate::page::{Banner, Block, Column, Mark, Page, Steps, Table, Tone};
use crate::wording::{named_wall, plural};
use model::advice::{Advice, Candidate};
use model::step::Step;
use model::tuning::Prediction;
use model::verdict::Named;

/// The page of `ceiling advise`.
pub fn advice(advice: &Advice) -> Page {
    let mut blocks = vec![Block::Banner(banner(advice))];
    if !advice.worth.is_empty() {
        blocks.push(Block::Heading("Worth trying".to_string()));
        blocks.push(Block::Table(worth(&advice.worth)));
        blocks.push(commands(&advice.worth));
    }
    if !advice.unknown.is_empty() {
        blocks.push(Block::Heading("Not known".to_string()));
        blocks.push(Block::Table(unknown(&advice.unknown)));
        blocks.push(commands(&advice.unknown));
    }
    if !advice.not_now.is_empty() {
        blocks.push(Block::Heading("Not worth trying now".to_string()));
        blocks.push(Block::Table(not_now(&advice.not_now)));
    }
    Page {
        title: format!("ceiling advise {}", advice.run),
        subtitle: format!(
            "{}; effects are changes of the rate, predicted, not measured",
            plural(total(advice) as u64, "knob")
        ),
        blocks,
    }
}

fn total(advice: &Advice) -> usize {
    advice.worth.len() + advice.unknown.len() + advice.not_now.len()
}

fn banner(advice: &Advice) -> Banner {
    let signals = &advice.signals;
    let wall = match signals.wall {
        Some(Named::Wall(wall)) => named_wall(wall),
        Some(Named::None) => "none was reached".to_string(),
        Some(Named::Unknown) | None => "not known".to_string(),
    };
    let is_named = matches!(signals.wall, Some(Named::Wall(_)));
    let sure = signals.confidence.filter(|_| is_named);
    let sure = sure.map_or(String::new(), |sure| format!(", {}", sure.word()));
    let lines = vec![format!("Wall of the run: {wall}{sure}.")];
    if let Some(why) = &advice.nothing_because {
        let text = format!("NOTHING IS PROPOSED: {why}.");
        return Banner { tone: Tone::Caution, text, lines };
    }
    match advice.worth.first() {
        Some(best) => Banner {
            tone: Tone::Good,
            text: format!("TRY {} FIRST: {}.", best.title(), effect(&best.prediction)),
            lines,
        },
        None if advice.unknown.is_empty() => Banner {
            tone: Tone::Neutral,
            text: "NO KNOB IS PREDICTED TO MOVE THE RATE OF THIS RUN.".to_string(),
            lines,
        },
        None => Banner {
            tone: Tone::Caution,
            text: format!(
                "NOTHING IS KNOWN TO HELP: of {} of {} knobs the run measured too little.",
                advice.unknown.len(),
                total(advice)
            ),
            lines,
        },
    }
}

/// An interval of a relative change.
pub(super) fn effect(prediction: &Prediction) -> String {
    match (prediction.low, prediction.high) {
        (Some(low), Some(high)) => format!("{} to {}", percent(low), percent(high)),
        (Some(low), None) => format!("{} to the next wall", percent(low)),
        _ => "not known".to_string(),
    }
}

/// A relative change, with its sign.
pub(super) fn percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

fn worth(candidates: &[Candidate]) -> Table {
    let columns = ["knob", "effect", "because", "risk"].map(Column::words);
    let mut table = Table::new(columns.into());
    for one in candidates {
        let Prediction { arithmetic, .. } = &one.prediction;
        let risk = if one.is_disruptive { "can cut connections; " } else { "" };
        let cells = vec![
            one.title(),
            effect(&one.prediction),
            arithmetic.clone(),
            format!("{risk}{}", one.risk),
        ];
        table.push(Mark::None, cells);
    }
    table
}

fn unknown(candidates: &[Candidate]) -> Table {
    with_reasons(candidates, ["knob", "not known", "it matters with"])
}

fn not_now(candidates: &[Candidate]) -> Table {
    with_reasons(candidates, ["knob", "because", "would matter with"])
}

fn with_reasons(candidates: &[Candidate], columns: [&str; 3]) -> Table {
    let mut table = Table::new(columns.map(Column::words).into());
    for one in candidates {
        let Prediction { arithmetic, reconsider, .. } = &one.prediction;
        table.push(Mark::None, vec![one.title(), arithmetic.clone(), reconsider.clone()]);
    }
    table
}

/// The commands, without duplicates.
fn commands(candidates: &[Candidate]) -> Block {
    let mut steps: Vec<Step> = Vec::new();
    for step in candidates.iter().filter_map(|one| one.next.as_ref()) {
        if !steps.contains(step) {
            steps.push(step.clone());
        }
    }
    Block::Steps(Steps { lead: String::new(), steps })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::advice::{By, SCHEMA};
    use model::tuning::{Scope, Signals, TakesEffect};
    use model::verdict::Confidence;
    use model::wall::WallId;

    fn candidate(knob: &str, name: &str, prediction: Prediction, next: &str) -> Candidate {
        Candidate {
            knob: knob.to_string(),
            name: name.to_string(),
            about: String::new(),
            by: By::Ceiling,
            scope: Scope::Device,
            takes_effect: TakesEffect::Now,
            is_disruptive: knob == "T3",
            risk: "more CPU per packet".to_string(),
            prediction,
            next: Some(next.into()),
        }
    }

    fn made_up() -> Advice {
        let steering = "CPU 0 is 99 % busy, 95 % in softirq; the mean of 2 CPUs is 64 %: at most \
                        0.99 / 0.64 - 1";
        let when = "one CPU of the server over 95 % busy, over 80 % of it softirq";
        let rps = Prediction::bounded(-0.35, Some(0.547), steering.to_string(), when);
        let queues = Prediction::bounded(-0.02, None, steering.to_string(), when);
        let none = Prediction::no_effect(0.012, "0 drops at the ring".to_string(), "drops above 0");
        let nobody =
            Prediction::unknown("not measured: the clock of CPUs".to_string(), "below 0.9");
        Advice {
            schema: SCHEMA.to_string(),
            run: "20260101T120000-0000002a".to_string(),
            signals: Signals {
                wall: Some(Named::Wall(WallId::K4)),
                confidence: Some(Confidence::Probable),
                ..Signals::default()
            },
            worth: vec![
                candidate("T3", "queues", queues, "ceiling tune plan --only queues"),
                candidate("T5", "rps", rps, "ceiling advise run --knob rps --plan rps.toml"),
            ],
            unknown: vec![
                candidate("T51", "governor", nobody.clone(), "ceiling load http://h/ -d 20s"),
                candidate("T52", "c-states", nobody, "ceiling load http://h/ -d 20s"),
            ],
            not_now: vec![candidate("T17", "ring", none, "")],
            nothing_because: None,
        }
    }

    #[test]
    fn advice_reads_like_this() {
        let text = crate::text_advice(&made_up(), crate::Style::PLAIN);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(text.matches("-d 20s").count(), 1, "a command stands once");
        insta::assert_snapshot!("advice", text);
    }

    #[test]
    fn without_a_candidate_it_says_so_first() {
        let first = |of: &Advice| match &advice(of).blocks[0] {
            Block::Banner(banner) => banner.text.clone(),
            other => panic!("{other:?}"),
        };
        let why = Some("the wall of the run is not known".to_string());
        let groundless = Advice { worth: Vec::new(), nothing_because: why, ..made_up() };
        assert_eq!(first(&groundless), "NOTHING IS PROPOSED: the wall of the run is not known.");
        let mut nothing = made_up();
        nothing.worth.clear();
        assert!(first(&nothing).starts_with("NOTHING IS KNOWN TO HELP: of 2 of 3"));
        nothing.unknown.clear();
        assert!(first(&nothing).starts_with("NO KNOB IS PREDICTED"));
    }
}
