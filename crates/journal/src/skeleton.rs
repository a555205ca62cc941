//! What a new entry begins with: files that are valid as they are, and say what to write.

use crate::SCHEMA;
use crate::date::Date;
use crate::slug::Slug;
use toml::Value;

/// The question of an entry whose author did not write one yet.
pub const QUESTION: &str = "What is to be known after this experiment?";

/// The files of a new entry.
#[derive(Debug, Clone)]
pub struct Skeleton {
    title: String,
    question: String,
    plan: Option<String>,
}

impl Skeleton {
    /// That of an entry with this name.
    pub fn new(slug: &Slug) -> Self {
        let question = QUESTION.to_string();
        Self { title: slug.title(), question, plan: None }
    }

    /// With a title.
    pub fn title(self, title: &str) -> Self {
        Self { title: title.to_string(), ..self }
    }

    /// With a question.
    pub fn question(self, question: &str) -> Self {
        Self { question: question.to_string(), ..self }
    }

    /// With a plan, as it is written.
    pub fn with_plan(self, plan: &str) -> Self {
        Self { plan: Some(plan.to_string()), ..self }
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
        format!(
            r#"schema = "{SCHEMA}"
title = {title}
date = {date}
tags = []
status = "planned"        # planned, running, done or superseded
# superseded_by = "SLUG"  # with status = "superseded"
question = {question}
# answer = "One line, when it is known."
# lesson = "What to do differently from now on."

# Before the experiment: what you expect of the cells of plan.toml.
# [hypothesis]
# text = "The server has one thread, so more connections give no more."
# walls = {{ few = "C3", many = "S2" }}
# [[hypothesis.prediction]]
# condition = "cells.many.rate > 1.5 * cells.few.rate"

# After it: each finding has a condition, and `ceiling journal check` tells when it no longer holds.
# [[finding]]
# text = "Sixteen connections give more than one."
# condition = "contrasts.many.rate.ratio > 1.1 and cells.many.errors < 0.1%"
"#
        )
    }

    /// `plan.toml`.
    pub fn plan(&self) -> String {
        let question = Value::from(self.question.as_str());
        self.plan.clone().unwrap_or_else(|| {
            format!(
                r#"# docs/experiments.md says what a plan may hold.
schema = "ceiling.plan/1"
question = {question}

# A server that runs already; `ceiling journal run` needs --trust for it. A server that ceiling
# starts and ends is `target = "NAME"`, a name of targets/targets.toml.
[server]
addr = "127.0.0.1:8080"

[load]
command = "load"
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
        })
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
        let whole = skeleton.entry().replace("# superseded_by", "## superseded_by");
        let is_comment = |line: &str| line.starts_with("# ") && line.contains(['=', '[']);
        let whole: Vec<&str> =
            whole.lines().map(|line| if is_comment(line) { &line[2..] } else { line }).collect();
        let entry = Entry::parse(&whole.join("\n")).unwrap();
        assert_eq!(entry.findings.len(), 1);
        assert_eq!(entry.hypothesis.unwrap().predictions.len(), 1);
    }
}
