//! All figures of a journal, looked up by path from the scope of one entry.
//!
//! A result is read when a path first leads into it, and then cached.

use crate::figures::{Named, ResultFigures, of_record};
use crate::folder::EntryFolder;
use crate::language::{Basis, Figures, Path, Quantity, Value};
use crate::slug::Slug;
use model::audit::{Audit, Claim, Outcome};
use model::experiment::Experiment;
use model::maps::IntoMap;
use model::run::Record;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Most names that an error lists.
const NAMED_MAX: usize = 8;

/// All figures of a journal.
#[derive(Debug)]
pub struct World<'a> {
    entries: &'a [EntryFolder],
    results: Mutex<BTreeMap<(Slug, String), CachedResult>>,
    /// Figures that replace those of an added run.
    runs: Mutex<BTreeMap<(Slug, String), Named>>,
}

/// A cached result, or why it could not be read.
type CachedResult = Result<Arc<ReadResult>, String>;

/// A result that was read.
#[derive(Debug)]
pub struct ReadResult {
    /// Its document.
    pub experiment: Experiment,
    /// Its figures.
    pub figures: ResultFigures,
}

/// The figures in the scope of one entry.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    world: &'a World<'a>,
    entry: &'a EntryFolder,
    /// A result that replaces the chosen one of the entry.
    result: Option<(&'a EntryFolder, &'a str)>,
}

impl<'a> World<'a> {
    /// The figures of these entries.
    pub fn of(entries: &'a [EntryFolder]) -> Self {
        Self { entries, results: Mutex::default(), runs: Mutex::default() }
    }

    /// The scope of one of the entries.
    pub fn within(&'a self, entry: &'a EntryFolder) -> Scope<'a> {
        Scope { world: self, entry, result: None }
    }

    /// The entry with this name.
    pub fn entry(&self, slug: &Slug) -> Option<&'a EntryFolder> {
        self.entries.iter().find(|one| one.slug == *slug)
    }

    /// Replaces the figures of a result.
    pub fn put(
        &self,
        entry: &EntryFolder,
        id: &str,
        experiment: Experiment,
        records: &[Option<Record>],
    ) {
        let figures = ResultFigures::of(&experiment, records);
        let read = Ok(Arc::new(ReadResult { experiment, figures }));
        let mut kept = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert((entry.slug.clone(), id.to_string()), read);
    }

    /// Replaces the figures of an added run.
    pub fn put_run(&self, entry: &EntryFolder, name: &str, record: &Record) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.insert((entry.slug.clone(), name.to_string()), of_record(record));
    }

    /// A result of an entry.
    pub fn result(&self, entry: &EntryFolder, id: &str) -> CachedResult {
        let key = (entry.slug.clone(), id.to_string());
        let kept = || self.results.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept().get(&key) {
            return known.clone();
        }
        let read = entry.result(id).map_err(|error| error.to_string()).map(|data| {
            let figures = ResultFigures::of(&data.experiment, &data.records);
            Arc::new(ReadResult { experiment: data.experiment, figures })
        });
        kept().insert(key, read.clone());
        read
    }
}

impl<'a> Scope<'a> {
    /// This scope, with `cells` and `contrasts` of another result.
    pub fn over(self, entry: &'a EntryFolder, result: &'a str) -> Self {
        Self { result: Some((entry, result)), ..self }
    }

    /// The result that a path leads into: its entry and its name.
    pub fn result_of(&self, path: &Path) -> Option<(Slug, String)> {
        let (scope, names) = self.enter(&path.names()).ok()?;
        match names.first()?.as_str() {
            "cells" | "contrasts" => {
                let (entry, id) = scope.place().ok()?;
                Some((entry.slug.clone(), id))
            }
            "results" => Some((scope.entry.slug.clone(), names.get(1)?.clone())),
            _ => None,
        }
    }

    /// The added run that a path leads to: its entry and its name.
    pub fn run_of(&self, path: &Path) -> Option<(Slug, String)> {
        let (scope, names) = self.enter(&path.names()).ok()?;
        match &names[..] {
            [root, name, ..] if root == "runs" => Some((scope.entry.slug.clone(), name.clone())),
            _ => None,
        }
    }

    /// Follows `entries.SLUG`.
    fn enter(&self, names: &[&str]) -> Result<(Self, Vec<String>), String> {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        match names {
            ["entries", slug, rest @ ..] if rest.first() != Some(&"entries") => {
                let entries = self.world.entries;
                let found = entries.iter().find(|one| one.slug.as_str() == *slug);
                let entry = found.ok_or_else(|| {
                    let names = entries.iter().map(|one| one.slug.as_str());
                    none("entry", slug, names)
                })?;
                Ok((self.world.within(entry), owned(rest)))
            }
            names => Ok((*self, owned(names))),
        }
    }

    /// The result of `cells` and `contrasts`.
    fn place(&self) -> Result<(&'a EntryFolder, String), String> {
        if let Some((entry, result)) = self.result {
            return Ok((entry, result.to_string()));
        }
        let chosen = self.entry.chosen().map_err(|error| error.to_string())?;
        let slug = &self.entry.slug;
        let id = chosen.ok_or_else(|| {
            format!("the entry '{slug}' has no result yet; ceiling journal run {slug} creates one")
        })?;
        Ok((self.entry, id))
    }

    fn in_result(entry: &EntryFolder, world: &World<'_>, id: &str, names: &[&str]) -> Found {
        let result = world.result(entry, id)?;
        let figures = &result.figures;
        match names {
            ["cells", cell, name @ ..] if !name.is_empty() => {
                let all = figures.cells.keys().map(String::as_str);
                let cell = figures.cells.get(*cell).ok_or_else(|| none("cell", cell, all))?;
                named(cell, &name.join("."))
            }
            ["contrasts", cell, figure @ .., name] if !figure.is_empty() => {
                let all = figures.contrasts.keys().map(String::as_str);
                let of = figures.contrasts.get(*cell).ok_or_else(|| none("contrast", cell, all))?;
                let (figure, all) = (figure.join("."), of.keys().map(String::as_str));
                named(of.get(&figure).ok_or_else(|| none("figure", &figure, all))?, name)
            }
            _ => Err("a path is cells.NAME.FIGURE or contrasts.NAME.FIGURE.ratio; for example \
                      cells.free.rate"
                .to_string()),
        }
    }

    fn of_run(&self, name: &str, figure: &str) -> Found {
        let runs = self.entry.runs().map_err(|error| error.to_string())?;
        if !runs.iter().any(|run| run == name) {
            return Err(none("run", name, runs.iter().map(String::as_str)));
        }
        let replaced = self.world.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(figures) = replaced.get(&(self.entry.slug.clone(), name.to_string())) {
            return named(figures, figure);
        }
        let record = self.entry.run(name).map_err(|error| error.to_string())?;
        named(&of_record(&record), figure)
    }

    fn of_foreign(&self, name: &str, claim: &str) -> Found {
        let all = self.entry.foreign().map_err(|error| error.to_string())?;
        if !all.iter().any(|one| one == name) {
            return Err(none("foreign result", name, all.iter().map(String::as_str)));
        }
        let audit = self.entry.audit(name).map_err(|error| error.to_string())?;
        claimed(&audit, claim)
    }
}

type Found = Result<Value, String>;

impl Figures for Scope<'_> {
    fn find(&self, path: &Path) -> Found {
        let (scope, names) = self.enter(&path.names())?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        match &names[..] {
            ["cells" | "contrasts", ..] => {
                let (entry, id) = scope.place()?;
                Self::in_result(entry, scope.world, &id, &names)
            }
            ["results", id, rest @ ..] => {
                let all = scope.entry.results().map_err(|error| error.to_string())?;
                match all.iter().any(|one| one == id) {
                    true => Self::in_result(scope.entry, scope.world, id, rest),
                    false => Err(none("result", id, all.iter().map(String::as_str))),
                }
            }
            ["runs", name, figure @ ..] if !figure.is_empty() => {
                scope.of_run(name, &figure.join("."))
            }
            ["foreign", name, claim @ ..] if !claim.is_empty() => {
                scope.of_foreign(name, &claim.join("."))
            }
            _ => Err("it is not a path to a figure; for example cells.free.rate, runs.NAME.p99, \
                      foreign.NAME.rate, results.ID.cells.free.rate or \
                      entries.SLUG.cells.free.rate"
                .to_string()),
        }
    }
}

fn named(of: &Named, name: &str) -> Found {
    of.get(name).cloned().ok_or_else(|| none("figure", name, of.keys().map(String::as_str)))
}

/// A figure that another tool printed, or the outcome of its audit (`CLAIM.outcome`).
fn claimed(audit: &Audit, wanted: &str) -> Found {
    let of_accounts = audit.accounts.iter().flat_map(|account| {
        account.claims.iter().map(|claim| {
            let prefix =
                if account.name.is_empty() { String::new() } else { format!("{}.", account.name) };
            (format!("{prefix}{}", claim.name), claim)
        })
    });
    let all: Vec<(String, &Claim)> = of_accounts.collect();
    let find = |name: &str| all.iter().find(|(known, _)| known == name).map(|(_, claim)| *claim);
    if let Some(claim) = find(wanted) {
        let figure = &claim.figure;
        let ends = (figure.low, figure.high);
        return Ok(Value::Quantity(Quantity::between(
            figure.value,
            ends,
            claim.unit,
            Basis::Printed,
        )));
    }
    if let Some(claim) = wanted.strip_suffix(".outcome").and_then(find) {
        let word = match claim.outcome {
            Outcome::Holds => "holds",
            Outcome::Undecided => "undecided",
            Outcome::Impossible => "impossible",
        };
        return Ok(Value::Word([(word.to_string(), 1)].into_map()));
    }
    Err(none("claim", wanted, all.iter().map(|(name, _)| name.as_str())))
}

/// The error for an unknown name; it lists the known ones.
fn none<'a>(what: &str, asked: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let shown = names.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match names.is_empty() {
        true => format!("there is no {what} '{asked}', and none at all"),
        false => format!("there is no {what} '{asked}'; there is {shown}{more}"),
    }
}
