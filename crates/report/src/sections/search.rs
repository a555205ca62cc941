//! The highest rate that holds an objective: the answer, and the trials behind it.

use crate::page::{Banner, Block, Column, Mark, Table, Tone};
use crate::wording::{or_dash, per_second, percent, plural, wall_phrase};
use model::objective::ObjectiveStanding;
use model::run::Run;
use model::search::{Answer, Ended, SearchCheck, SearchTrial, Trust};
use model::units::show_ns;
use model::verdict::{CeilingKind, Confidence, Named};

/// The answer in one sentence, and the facts behind it.
pub(super) fn banner(run: &Run, answer: &Answer) -> Banner {
    let objective = run.record.trial.expect.as_ref().map(ToString::to_string).unwrap_or_default();
    let text = match (answer.rate, answer.kind) {
        (Some(rate), CeilingKind::Ceiling) => {
            format!("{} HOLDS {objective}{}", per_second(rate), misses_phrase(answer))
        }
        (Some(rate), CeilingKind::AtLeast) => {
            format!("AT LEAST {} HOLDS {objective}", per_second(rate))
        }
        (None, _) => format!("NO RATE WAS SHOWN TO HOLD {objective}"),
    };
    let mut lines = vec![ended_sentence(run, answer)];
    lines.extend(check_sentence(answer.below.as_ref(), "below"));
    lines.extend(check_sentence(answer.above.as_ref(), "above"));
    lines.extend(answer.notes.iter().map(|note| format!("Note: {note}.")));
    if let Named::Wall(_) = run.record.verdict.wall {
        lines.push(format!("At the last trial the wall was {}.", wall_phrase(&run.record.verdict)));
    }
    Banner { tone: tone_of(answer), text, lines }
}

fn misses_phrase(answer: &Answer) -> String {
    let at = answer.misses_at.map(per_second);
    let width = answer.width.map(|width| format!(", {} % apart", percent(100.0 * width)));
    at.map_or_else(String::new, |at| format!("; {at} misses{}", width.unwrap_or_default()))
}

fn tone_of(answer: &Answer) -> Tone {
    match (answer.ended, answer.confidence) {
        _ if answer.rate.is_none() => Tone::Bad,
        (Ended::ClientLimited, _) => Tone::Bad,
        (_, Confidence::Confirmed) => Tone::Good,
        (_, Confidence::Probable) => Tone::Neutral,
        _ => Tone::Caution,
    }
}

fn ended_sentence(run: &Run, answer: &Answer) -> String {
    let trials = run.record.search.as_ref().map_or(0, |search| search.trials.len());
    let why = match answer.ended {
        Ended::Narrowed => "the interval is as narrow as requested",
        Ended::BudgetSpent => "the budget was spent",
        Ended::HighestHolds => "the highest rate allowed holds",
        Ended::LowestMisses => "the lowest rate allowed misses",
        Ended::ClientLimited => "the generator could not keep up before the target gave way",
        Ended::Undecidable => "a rate could not be decided",
    };
    let sure = answer.confidence.word();
    format!("Confidence: {sure}. Ended after {}: {why}.", plural(trials as u64, "trial"))
}

fn check_sentence(check: Option<&SearchCheck>, side: &str) -> Option<String> {
    let SearchCheck { rate, agrees, runs } = check?;
    let (wanted, other) = if side == "below" { ("holds", "misses") } else { ("misses", "holds") };
    let rate = per_second(*rate);
    let found = match agrees {
        Some(true) => format!("{rate} {wanted}, as it must"),
        Some(false) => format!("{rate} {other}, which contradicts the answer"),
        None => format!("{rate} was not decided"),
    };
    Some(format!("Confirmation {side}: {found} ({}).", plural(u64::from(*runs), "run")))
}

/// Every trial in the order it was run.
pub fn table(run: &Run) -> Vec<Block> {
    let Some(search) = &run.record.search else { return Vec::new() };
    if search.trials.is_empty() {
        return Vec::new();
    }
    let mut columns = vec![Column::numbers("trial"), Column::numbers("rate")];
    columns.extend([Column::numbers("length"), Column::words("for"), Column::words("objective")]);
    columns.push(Column::words("because").rank(1));
    let mut table = Table::new(columns);
    for (index, trial) in search.trials.iter().enumerate() {
        let (mark, word) = standing(trial);
        table.push(
            mark,
            vec![
                (index + 1).to_string(),
                per_second(trial.rate),
                show_ns(trial.duration_s * 1e9),
                trial.purpose.word().to_string(),
                word.to_string(),
                or_dash(because(run, index), |why| why),
            ],
        );
    }
    vec![Block::Table(table)]
}

pub(crate) fn standing(trial: &SearchTrial) -> (Mark, &'static str) {
    match (trial.standing, trial.trust) {
        (_, Trust::Invalid) => (Mark::Broken, "not valid"),
        (ObjectiveStanding::Met, Trust::ClientLate) => (Mark::None, "met, client late"),
        (ObjectiveStanding::Met, Trust::Sound) => (Mark::None, "met"),
        (ObjectiveStanding::Missed, Trust::ClientLate) => (Mark::Caution, "missed, client late"),
        (ObjectiveStanding::Missed, Trust::Sound) => (Mark::None, "missed"),
        (ObjectiveStanding::Undecided, _) => (Mark::Caution, "undecided"),
    }
}

/// The term that decides a trial: the first missed one, else the first undecided one.
fn because(run: &Run, index: usize) -> Option<String> {
    let terms = &run.record.points.get(index)?.expectations;
    let missed = terms.iter().find(|term| term.met == Some(false));
    let deciding = missed.or_else(|| terms.iter().find(|term| term.met.is_none()))?;
    Some(format!("{}: {}", deciding.term, deciding.why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::page::Block;

    fn answer_lines(run: &Run) -> Vec<String> {
        let answer = run.record.search.as_ref().and_then(|search| search.answer.as_ref()).unwrap();
        let Banner { text, lines, .. } = banner(run, answer);
        [vec![text], lines].concat()
    }

    /// Time that was spent without a decided trial says nothing about the server.
    #[test]
    fn a_search_claims_a_miss_only_when_a_trial_missed() {
        use model::claim::Claim;
        use model::search::Ended;
        let mut run = fixtures::find_answer();
        let search = run.record.search.as_mut().unwrap();
        let answer = search.answer.as_mut().unwrap();
        (answer.rate, answer.misses_at, answer.ended) = (None, None, Ended::BudgetSpent);
        let mut claim = |standing: ObjectiveStanding, trust: Trust| {
            let trials = &mut run.record.search.as_mut().unwrap().trials;
            trials.iter_mut().for_each(|one| (one.standing, one.trust) = (standing, trust));
            run.record.claim()
        };
        assert_eq!(claim(ObjectiveStanding::Missed, Trust::Sound), Claim::Known);
        for (standing, trust) in [
            (ObjectiveStanding::Undecided, Trust::Sound),
            (ObjectiveStanding::Missed, Trust::ClientLate),
        ] {
            assert!(matches!(claim(standing, trust), Claim::NotKnown(_)), "{standing:?}");
        }
    }

    #[test]
    fn the_answer_comes_first_with_what_it_rests_on() {
        let run = fixtures::find_answer();
        let expected = [
            "48.0k/s HOLDS p99<2ms; 48.9k/s misses, 1.9 % apart",
            "Confidence: confirmed. Ended after 4 trials: the interval is as narrow as requested.",
            "Confirmation below: 45.6k/s holds, as it must (1 run).",
            "Confirmation above: 51.3k/s misses, as it must (1 run).",
        ];
        assert_eq!(answer_lines(&run)[..4], expected);
        let first = crate::sections::page_of(&run, crate::Detail::Everything).blocks.remove(0);
        let Block::Banner(first) = first else { panic!("{first:?}") };
        assert_eq!(first.text, expected[0]);
    }

    #[test]
    fn an_answer_that_is_open_says_so() {
        let mut run = fixtures::find_answer();
        let answer = run.record.search.as_mut().and_then(|search| search.answer.as_mut()).unwrap();
        (answer.kind, answer.ended) = (CeilingKind::AtLeast, Ended::ClientLimited);
        assert_eq!(answer_lines(&run)[0], "AT LEAST 48.0k/s HOLDS p99<2ms");
        assert!(answer_lines(&run)[1].contains("the generator could not keep up"));
        let answer = run.record.search.as_mut().and_then(|search| search.answer.as_mut()).unwrap();
        answer.rate = None;
        assert_eq!(answer_lines(&run)[0], "NO RATE WAS SHOWN TO HOLD p99<2ms");
    }

    #[test]
    fn trials_stand_in_order_with_what_decided_them() {
        let Some(Block::Table(table)) = table(&fixtures::find_answer()).pop() else {
            panic!("there is a table");
        };
        let rows: Vec<_> = table.rows.iter().map(|row| row.cells.join(" | ")).collect();
        assert_eq!(rows[0], "1 | 24.0k/s | 600ms | grow | met | -");
        assert_eq!(
            rows[1],
            "2 | 48.9k/s | 3.00s | narrow | missed, client late | p99<2ms: measured 2.60ms"
        );
        assert_eq!(rows[2], "3 | 48.0k/s | 3.00s | verify | not valid | -");
        assert_eq!(table.rows[2].mark, Mark::Broken);
    }
}
