//! The files of a new entry: they are valid, and their comments say what to write.

use crate::SCHEMA;
use crate::date::Date;
use crate::slug::Slug;
use toml::Value;

/// The question of an entry whose author has not written one yet.
pub const QUESTION: &str = "What is to be known after this experiment?";

/// The files of a new entry.
#[derive(Debug, Clone)]
pub struct Skeleton {
    title: String,
    question: String,
    plan: Option<String>,
    /// Whose experiment it is, when it is not the user's own; it then has no plan.
    source: Option<String>,
}

impl Skeleton {
    /// The skeleton of an entry with this name.
    pub fn new(slug: &Slug) -> Self {
        let question = QUESTION.to_string();
        Self { title: slug.title(), question, plan: None, source: None }
    }

    /// With a title.
    pub fn title(self, title: &str) -> Self {
        Self { title: title.to_string(), ..self }
    }

    /// With a question.
    pub fn question(self, question: &str) -> Self {
        Self { question: question.to_string(), ..self }
    }

    /// With the text of a plan.
    pub fn with_plan(self, plan: &str) -> Self {
        Self { plan: Some(plan.to_string()), ..self }
    }

    /// For an experiment of others, which is not measured here and has no plan.
    pub fn of_others(self, source: &str) -> Self {
        Self { source: Some(source.to_string()), ..self }
    }

    /// `journal.toml` of a new journal.
    pub fn about() -> &'static str {
        "title = \"Journal\"\n\
         # description = \"What these experiments are about.\"\n\
         # url = \"https://example.org/journal/\"   # where the site is, for the feed\n"
    }

    /// `entry.toml`.
    pub fn entry(&self) -> String {
        let (date, title) = (Date::today(), Value::from(self.title.as_str()));
        let question = Value::from(self.question.as_str());
        let (status, source) = match &self.source {
            None => ("\"planned\"".to_string(), String::new()),
            Some(source) => {
                ("\"done\"   ".to_string(), format!("source = {}\n", Value::from(source.as_str())))
            }
        };
        format!(
            r#"schema = "{SCHEMA}"
title = {title}
date = {date}
tags = []
status = {status}        # planned, predicted, running, done or superseded
# superseded_by = "SLUG"  # with status = "superseded"
question = {question}
{source}# answer = "One line, when it is known."
# lesson = "What to do differently from now on."

# Before the experiment: what you expect of the cells of plan.toml.
# [hypothesis]
# text = "The server has one thread, so more connections give no more."
# walls = {{ few = "C3", many = "S2" }}
# [[hypothesis.prediction]]
# condition = "cells.many.rate > 1.5 * cells.few.rate"

# After it: each finding has a condition, and `ceiling journal check` says when it no longer holds.
# [[finding]]
# text = "Sixteen connections give more than one."
# condition = "contrasts.many.rate.ratio > 1.1 and cells.many.errors < 0.1%"
"#
        )
    }

    /// `plan.toml`; nothing for an experiment of others.
    pub fn plan(&self) -> Option<String> {
        let question = Value::from(self.question.as_str());
        let own = || {
            format!(
                r#"# docs/experiments.md describes the format of a plan.
schema = "ceiling.plan/1"
question = {question}

# A server that runs already; `ceiling journal run` needs --trust for it. A server that ceiling
# starts and ends is `target = "NAME"`, a name of targets/targets.toml.
[server]
addr = "127.0.0.1:8080"

[load]
command = "load"
# A path that the server has: a cell without a good response ends the run with exit code 3.
path = "/"
duration = "5s"

[[cell]]
name = "few"
load = {{ connections = 1 }}

[[cell]]
name = "many"
load = {{ connections = 16 }}

# Six visits of each cell give every figure an interval.
[design]
blocks = 6
baseline = "few"
"#
            )
        };
        self.source.is_none().then(|| self.plan.clone().unwrap_or_else(own))
    }

    /// `notes.md`.
    pub fn notes(&self) -> String {
        r"## Set-up

What is measured, on which hosts, and why so.

## Result

Write figures as references. They are filled from the data, with unit and interval, so that no
figure in this text can differ from what was measured: `\{{cells.many.rate}}`,
`\{{contrasts.many.rate.ratio}}`, `\{{cells.many.p99|ms|2}}`. A cell whose name has spaces is
written in quotes: `\{{cells.'16 connections'.rate}}`.

## What it means
"
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::about::About;
    use crate::entry::Entry;

    #[test]
    fn a_skeleton_is_valid_with_and_without_its_comments() {
        About::parse(Skeleton::about()).unwrap();
        let slug = Slug::parse("a").unwrap();
        let skeleton = Skeleton::new(&slug).title("A \"title\"").question("Why\n\\so?");
        let entry = Entry::parse(&skeleton.entry()).unwrap();
        assert_eq!((entry.title.as_str(), entry.question.as_str()), ("A \"title\"", "Why\n\\so?"));
        assert!(skeleton.plan().is_some());
        let foreign = skeleton.clone().of_others("A \"story\"");
        let entry = Entry::parse(&foreign.entry()).unwrap();
        assert_eq!((entry.source.as_deref(), foreign.plan()), (Some("A \"story\""), None));
        assert_eq!(entry.status.word(), "done");
        let whole = skeleton.entry().replace("# superseded_by", "## superseded_by");
        let is_comment = |line: &str| line.starts_with("# ") && line.contains(['=', '[']);
        let whole: Vec<&str> =
            whole.lines().map(|line| if is_comment(line) { &line[2..] } else { line }).collect();
        let entry = Entry::parse(&whole.join("\n")).unwrap();
        assert_eq!(entry.findings.len(), 1);
        assert_eq!(entry.hypothesis.unwrap().predictions.len(), 1);
    }
}
