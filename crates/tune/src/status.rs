//! Changes that are applied and not put back: whether they work, and whether the values are still
//! ours.

use crate::apply::effect;
use crate::children;
use crate::error::TuneError;
use crate::host::Host;
use crate::journal::{Begin, Journal, Recorded, Story};
use crate::knob::Effect;
use crate::namespace;
use crate::reach::{Elsewhere, Reach};
use crate::revert::{drifted, holder, left_ms};
use model::tuning::{Fate, Row};
use serde::Serialize;
use std::time::Duration;

/// A transaction that is not closed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InForce {
    /// Its name.
    pub transaction: String,
    /// What it was for.
    pub note: String,
    /// When it started, milliseconds since 1970.
    pub at_unix_ms: u64,
    /// Its network namespace.
    pub namespace: String,
    /// How long until it is put back; zero is overdue; none when it stays until the user reverts
    /// it.
    pub left_ms: Option<u64>,
    /// The process that puts it back when it ends, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_by: Option<u32>,
    /// Its changes as they are now.
    pub rows: Vec<Row>,
}

impl InForce {
    /// How long until it is put back.
    pub fn left(&self) -> Option<Duration> {
        self.left_ms.map(Duration::from_millis)
    }
}

/// Every transaction that is not closed, newest first. Changes nothing.
pub fn standing(host: &Host, journal: &Journal) -> Result<Vec<InForce>, TuneError> {
    let (stories, damaged) = journal.stories()?;
    if let Some(error) = damaged.into_iter().next() {
        return Err(error);
    }
    let foreign = namespace::foreign_sys(&host.root);
    let of = |story: &Story| InForce {
        transaction: story.id(),
        note: story.header.note.clone(),
        at_unix_ms: story.header.at_unix_ms,
        namespace: story.header.namespace.clone(),
        left_ms: left_ms(host, story),
        held_by: holder(host, story),
        rows: {
            let reach = Reach { host, header: &story.header, foreign: foreign.as_deref() };
            let holder = holder(host, story);
            story.open_changes().map(|change| row(&reach, change, holder)).collect()
        },
    };
    Ok(stories.iter().map(of).collect())
}

/// A row for each change that is applied and not put back.
pub fn status(host: &Host, journal: &Journal) -> Result<Vec<Row>, TuneError> {
    Ok(standing(host, journal)?.into_iter().flat_map(|standing| standing.rows).collect())
}

/// Rows whose value, or the kernel's effective value, is no longer the one that was written.
pub fn drift(host: &Host, journal: &Journal) -> Result<Vec<Row>, TuneError> {
    let mut rows = status(host, journal)?;
    rows.retain(|row| matches!(row.fate, Fate::Drifted | Fate::Gone | Fate::Failed));
    Ok(rows)
}

fn row(reach: &Reach<'_>, change: &Recorded, holder: Option<u32>) -> Row {
    let (begin, host) = (&change.begin, reach.host);
    if reach.is_earlier_boot() {
        let note = "made before the host was restarted; ceiling tune revert closes it";
        return begin.row(None, Fate::Gone, note.to_string());
    }
    if let Some(elsewhere) = reach.elsewhere(begin) {
        return absent(begin, elsewhere);
    }
    let present = match begin.place.read(host) {
        Ok(Some(present)) => present,
        Ok(None) => return absent(begin, reach.absence(&begin.place)),
        Err(error) => return begin.row(None, Fate::Failed, error.why()),
    };
    let now = Some(present.value.clone());
    if let Some(pid) = holder {
        let note = format!("an experiment of process {pid}, which puts it back when it ends");
        return begin.row(now, Fate::Applied, note);
    }
    if change.written.is_none() && begin.place.is_same(&present.value, &begin.before.value) {
        let note = "apply ended before it was written; ceiling tune revert closes it";
        return begin.row(now, Fate::Reverted, note.to_string());
    }
    if !change.is_ours(&present) {
        return begin.row(now, Fate::Drifted, drifted(begin, &present.value));
    }
    match effect(host, begin) {
        None => begin.row(now, Fate::Applied, children::noted(host, change).unwrap_or_default()),
        Some(Effect::Seen(what) | Effect::NotYet(what)) => begin.row(now, Fate::Applied, what),
        // The value stands, but the kernel does something else: an interrupt that goes elsewhere.
        Some(Effect::Missing(why)) => begin.row(now, Fate::Drifted, format!("no effect: {why}")),
    }
}

/// A change that is not read, or whose place is absent.
fn absent(begin: &Begin, why: Elsewhere) -> Row {
    match why {
        Elsewhere::Ended(why) => begin.row(None, Fate::Gone, why),
        Elsewhere::Hidden(why) => begin.row(None, Fate::Refused, why),
    }
}
