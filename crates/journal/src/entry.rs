//! `entry.toml`: the question of an experiment, the expectations, and the findings.

use crate::SCHEMA;
use crate::date::Date;
use crate::language::Condition;
use crate::slug::Slug;
use crate::text::{check_line, parse};
use model::wall::WallId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most characters of a line, and most bytes of a text of several lines.
const LINE_MAX: usize = 300;
const TEXT_MAX: usize = 20_000;
/// Most tags, findings and predictions.
const MANY_MAX: usize = 200;

/// One entry.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Its title.
    pub title: String,
    /// Its day.
    pub date: Date,
    /// Words that group entries.
    pub tags: Vec<String>,
    /// The state of the experiment.
    #[serde(flatten)]
    pub status: Status,
    /// The question.
    pub question: String,
    /// The answer, in one line; nothing until it is known.
    pub answer: Option<String>,
    /// What to do differently from now on.
    pub lesson: Option<String>,
    /// Whose experiment it is, in words; nothing for the user's own.
    pub source: Option<String>,
    /// The entries that take up its question, in this order: lists have them behind it.
    pub followed_by: Vec<Slug>,
    /// The chosen result; by default the newest.
    pub result: Option<String>,
    /// What was expected before the experiment.
    pub hypothesis: Option<Hypothesis>,
    /// What was found.
    pub findings: Vec<Finding>,
}

/// The state of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum Status {
    /// It has not been measured yet.
    Planned,
    /// Its figures are predicted, for hosts that were not at hand, and it has not been measured.
    Predicted,
    /// It is being measured, or was when `ceiling journal run` ended early.
    Running,
    /// It was measured.
    Done,
    /// Another entry replaces it.
    Superseded {
        /// The name of that entry, which may be missing.
        #[serde(rename = "superseded_by")]
        by: Slug,
    },
}

impl Status {
    /// The word of the file.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Predicted => "predicted",
            Self::Running => "running",
            Self::Done => "done",
            Self::Superseded { .. } => "superseded",
        }
    }
}

/// What was expected before the experiment.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Hypothesis {
    /// In words.
    pub text: Option<String>,
    /// The expected wall of cells, by the name of the cell.
    pub walls: BTreeMap<String, WallId>,
    /// What the figures would be.
    pub predictions: Vec<Prediction>,
}

/// A prediction of a figure. A wrong prediction is a result, not an error of the entry.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// In words; without them, the condition is shown alone.
    pub text: Option<String>,
    /// What should hold.
    pub condition: Condition,
}

/// What was found: a sentence, and what must hold for it to be true.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The sentence.
    pub text: String,
    /// What must hold.
    pub condition: Condition,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryText {
    schema: String,
    title: String,
    date: Date,
    #[serde(default)]
    tags: Vec<String>,
    status: String,
    superseded_by: Option<String>,
    question: String,
    answer: Option<String>,
    lesson: Option<String>,
    source: Option<String>,
    #[serde(default)]
    followed_by: Vec<String>,
    result: Option<String>,
    hypothesis: Option<HypothesisText>,
    #[serde(default)]
    finding: Vec<FindingText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HypothesisText {
    text: Option<String>,
    #[serde(default)]
    walls: BTreeMap<String, String>,
    #[serde(default)]
    prediction: Vec<PredictionText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PredictionText {
    text: Option<String>,
    condition: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FindingText {
    text: String,
    condition: String,
}

impl Entry {
    /// Reads `entry.toml`. The error is one line: what is wrong, what is accepted, an example.
    pub fn parse(text: &str) -> Result<Self, String> {
        let raw: EntryText = parse(text)?;
        if raw.schema != SCHEMA {
            return Err(format!(
                "schema is '{}' where '{SCHEMA}' is accepted; for example schema = \"{SCHEMA}\"",
                raw.schema
            ));
        }
        check(&raw)?;
        let status = status(&raw)?;
        let slug = |text: &String| Slug::parse(text).map_err(|why| format!("followed_by: {why}"));
        let followed_by = raw.followed_by.iter().map(slug).collect::<Result<_, _>>()?;
        let finding = |(at, one): (usize, FindingText)| {
            let place = |why| format!("finding {}: {why}", at + 1);
            check_text("text", Some(&one.text)).map_err(place)?;
            let condition = Condition::parse(&one.condition).map_err(place)?;
            Ok::<_, String>(Finding { text: one.text, condition })
        };
        Ok(Self {
            title: raw.title,
            date: raw.date,
            tags: raw.tags,
            status,
            question: raw.question,
            answer: raw.answer,
            lesson: raw.lesson,
            source: raw.source,
            followed_by,
            result: raw.result,
            hypothesis: raw.hypothesis.map(hypothesis).transpose()?,
            findings: raw.finding.into_iter().enumerate().map(finding).collect::<Result<_, _>>()?,
        })
    }
}

fn check(raw: &EntryText) -> Result<(), String> {
    check_line("title", &raw.title, LINE_MAX)?;
    check_text("question", Some(&raw.question))?;
    if let Some(answer) = &raw.answer {
        check_line("answer", answer, LINE_MAX)?;
    }
    check_text("lesson", raw.lesson.as_deref())?;
    check_text("source", raw.source.as_deref())?;
    raw.tags.iter().try_for_each(|tag| check_tag(tag))?;
    if let Some(result) = &raw.result {
        check_id(result)?;
    }
    let predictions = raw.hypothesis.as_ref().map_or(0, |one| one.prediction.len());
    let counts = [raw.tags.len(), raw.followed_by.len(), raw.finding.len(), predictions];
    match counts.into_iter().max() {
        Some(count) if count > MANY_MAX => {
            Err(format!("it has more than {MANY_MAX} tags, followers, findings or predictions"))
        }
        _ => Ok(()),
    }
}

fn status(raw: &EntryText) -> Result<Status, String> {
    let by = raw.superseded_by.as_deref();
    match (raw.status.as_str(), by) {
        ("planned", None) => Ok(Status::Planned),
        ("predicted", None) => match &raw.hypothesis {
            Some(hypothesis) if !hypothesis.prediction.is_empty() => Ok(Status::Predicted),
            _ => Err("status is predicted, and there is no prediction; for example \
                      [[hypothesis.prediction]] with condition = \"cells.many.rate > 4M\""
                .to_string()),
        },
        ("running", None) => Ok(Status::Running),
        ("done", None) => Ok(Status::Done),
        ("superseded", Some(by)) => {
            let by = Slug::parse(by).map_err(|why| format!("superseded_by: {why}"))?;
            Ok(Status::Superseded { by })
        }
        ("superseded", None) => Err("status is superseded, and superseded_by does not say by \
                                     which entry; for example superseded_by = \"gzip-again\""
            .to_string()),
        ("planned" | "predicted" | "running" | "done", Some(_)) => Err(format!(
            "superseded_by belongs to status = \"superseded\", and status is \"{}\"",
            raw.status
        )),
        (other, _) => Err(format!(
            "status '{other}' is not one of planned, predicted, running, done and superseded; for \
             example status = \"planned\""
        )),
    }
}

fn hypothesis(raw: HypothesisText) -> Result<Hypothesis, String> {
    check_text("hypothesis.text", raw.text.as_deref())?;
    let mut walls = BTreeMap::new();
    for (cell, id) in raw.walls {
        let wall = WallId::parse(&id).ok_or_else(|| {
            format!(
                "hypothesis.walls: '{id}' of cell '{cell}' is not a wall \
                 (docs/reference/walls.md); for example walls = {{ {cell:?} = \"S1\" }}"
            )
        })?;
        walls.insert(cell, wall);
    }
    let prediction = |(at, one): (usize, PredictionText)| {
        let place = |why| format!("prediction {}: {why}", at + 1);
        check_text("text", one.text.as_deref()).map_err(place)?;
        let condition = Condition::parse(&one.condition).map_err(place)?;
        Ok::<_, String>(Prediction { text: one.text, condition })
    };
    Ok(Hypothesis {
        text: raw.text,
        walls,
        predictions: raw
            .prediction
            .into_iter()
            .enumerate()
            .map(prediction)
            .collect::<Result<_, _>>()?,
    })
}

/// A text of several lines.
fn check_text(key: &str, text: Option<&str>) -> Result<(), String> {
    match text {
        Some(text) if text.trim().is_empty() => {
            Err(format!("{key} is empty; leave it out, or fill it"))
        }
        Some(text) if text.len() > TEXT_MAX => {
            Err(format!("{key} has more than {TEXT_MAX} bytes; notes.md is for long texts"))
        }
        _ => Ok(()),
    }
}

fn check_tag(tag: &str) -> Result<(), String> {
    let is_plain = |letter: char| letter.is_alphanumeric() || " -_.+/".contains(letter);
    let fits = (1..=40).contains(&tag.chars().count());
    match fits && tag.trim() == tag && tag.chars().all(is_plain) {
        true => Ok(()),
        false => Err(format!(
            "tag '{tag}' is not a word of 1 to 40 characters; for example tags = [\"http\"]"
        )),
    }
}

/// The name of a result, which starts with its time.
fn check_id(id: &str) -> Result<(), String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    match (1..=200).contains(&id.len()) && !id.starts_with('.') && id.bytes().all(is_plain) {
        true => Ok(()),
        false => Err(format!(
            "result '{id}' is not the name of a folder in results/; for example result = \
             \"20260101T120000-gzip\""
        )),
    }
}

#[cfg(test)]
mod tests;
