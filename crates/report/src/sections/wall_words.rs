//! A verdict in words, for banners.

use crate::page::Tone;
use crate::wording::{reason_phrase, sentence, side_phrase, wall_name, wall_phrase, with_names};
use model::verdict::{Confidence, Named, Verdict};
use model::wall::Side;

pub(super) fn tone_of(verdict: &Verdict) -> Tone {
    match (verdict.wall, verdict.confidence) {
        (Named::Wall(_), Confidence::Suspected | Confidence::Unknown) => Tone::Caution,
        (Named::Wall(_), _) => Tone::Good,
        (Named::None, _) => Tone::Neutral,
        (Named::Unknown, _) => Tone::Caution,
    }
}

/// The wall, what shows it best, and what moves it: a sentence for each.
pub(super) fn wall_sentences(verdict: &Verdict) -> Vec<String> {
    let mut sentences = vec![wall_sentence(verdict)];
    if let Some(fix) = verdict.fix() {
        sentences.push(sentence(&reason_phrase(verdict)));
        sentences.push(format!("Fix: {fix}."));
    }
    sentences
}

/// The wall, as a sentence.
pub(super) fn wall_sentence(verdict: &Verdict) -> String {
    match verdict.wall {
        Named::Wall(_) if !verdict.also.is_empty() => {
            let walls = if verdict.also.len() == 1 { "both" } else { "all" };
            // Walls on two sides have no common side; that is not an unknown side.
            let side = match verdict.side {
                Side::Unknown => String::new(),
                side => format!(", {}", side_phrase(side)),
            };
            let sure = verdict.confidence.word();
            format!("Wall: {} ({sure}: {walls} at their limit){side}.", wall_name(verdict))
        }
        Named::Wall(_) => {
            format!("Wall: {}, {}.", wall_phrase(verdict), side_phrase(verdict.side))
        }
        Named::None => with_names(&sentence(without_stop(&verdict.name))),
        Named::Unknown => {
            format!("The wall is unknown: {}.", with_names(without_stop(&verdict.name)))
        }
    }
}

/// A sentence used in place of the name of a wall, without its full stop.
fn without_stop(name: &str) -> &str {
    name.trim_end_matches('.')
}
