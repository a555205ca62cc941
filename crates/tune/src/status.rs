//! What is applied and not put back, whether it works, and whether it is still what was written.

use crate::apply::effect;
use crate::cpus::CpuSet;
use crate::error::TuneError;
use crate::host::Host;
use crate::journal::{Journal, Recorded, Story};
use crate::knob::Effect;
use crate::namespace;
use crate::place::Place;
use crate::revert::{drifted, left_ms};
use model::tuning::{Fate, Row, Scope};
use serde::Serialize;
use std::time::Duration;

/// A transaction that is not closed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    /// Its name.
    pub transaction: String,
    /// What it was for.
    pub note: String,
    /// When it began, milliseconds since 1970.
    pub at_unix_ms: u64,
    /// Its network namespace.
    pub namespace: String,
    /// How long until it is put back; zero is overdue; nothing when it stays until somebody
    /// reverts it.
    pub left_ms: Option<u64>,
    /// Its changes as they are now.
    pub rows: Vec<Row>,
}

impl Standing {
    /// How long until it is put back.
    pub fn left(&self) -> Option<Duration> {
        self.left_ms.map(Duration::from_millis)
    }
}

/// Every transaction that is not closed, newest first. Changes nothing.
pub fn standing(host: &Host, journal: &Journal) -> Result<Vec<Standing>, TuneError> {
    let (stories, damaged) = journal.stories()?;
    if let Some(error) = damaged.into_iter().next() {
        return Err(error);
    }
    let foreign = namespace::foreign_sys(host);
    let of = |story: &Story| Standing {
        transaction: story.id(),
        note: story.header.note.clone(),
        at_unix_ms: story.header.at_unix_ms,
        namespace: story.header.namespace.clone(),
        left_ms: left_ms(host, story),
        rows: story
            .open_changes()
            .map(|change| row(host, story, change, foreign.as_deref()))
            .collect(),
    };
    Ok(stories.iter().map(of).collect())
}

/// A row for each change that is applied and not put back.
pub fn status(host: &Host, journal: &Journal) -> Result<Vec<Row>, TuneError> {
    Ok(standing(host, journal)?.into_iter().flat_map(|standing| standing.rows).collect())
}

/// Rows whose value, or what the kernel makes of it, is no longer what was written.
pub fn drift(host: &Host, journal: &Journal) -> Result<Vec<Row>, TuneError> {
    let mut rows = status(host, journal)?;
    rows.retain(|row| matches!(row.fate, Fate::Drifted | Fate::Gone | Fate::Failed));
    Ok(rows)
}

fn row(host: &Host, story: &Story, change: &Recorded, foreign: Option<&str>) -> Row {
    let begin = &change.begin;
    if story.header.boot_id != host.boot_id {
        let note = "made before the host was started again; ceiling tune revert closes it";
        return begin.row(None, Fate::Gone, note.to_string());
    }
    let is_bound = matches!(begin.scope, Scope::Namespace | Scope::Device);
    if is_bound && story.header.namespace != host.namespace {
        let namespace = &story.header.namespace;
        let note = format!("it is in network namespace {namespace}, and not looked at from here");
        return begin.row(None, Fate::Refused, note);
    }
    if let Some(why) = foreign.filter(|_| begin.place.is_in_sys_of_devices()) {
        return begin.row(None, Fate::Refused, why.to_string());
    }
    let present = match begin.place.read(host) {
        Ok(Some(present)) => present,
        Ok(None) => return begin.row(None, Fate::Gone, "what it belonged to is gone".to_string()),
        Err(error) => return begin.row(None, Fate::Failed, error.why()),
    };
    let now = Some(present.value.clone());
    if change.written.is_none() && present.value == begin.before.value {
        let note = "apply ended before it was written; ceiling tune revert closes it";
        return begin.row(now, Fate::Reverted, note.to_string());
    }
    if !change.is_ours(&present) {
        return begin.row(now, Fate::Drifted, drifted(begin, &present.value));
    }
    if let Some(why) = astray(host, &begin.place, &begin.settles_to) {
        return begin.row(now, Fate::Drifted, why);
    }
    let note = match effect(host, begin) {
        None => String::new(),
        Some(Effect::Seen(what) | Effect::NotYet(what)) => what,
        Some(Effect::Missing(why)) => format!("no effect: {why}"),
    };
    begin.row(now, Fate::Applied, note)
}

/// Where an interrupt really goes, when that is not where it should. The kernel takes a mask and
/// then chooses; managed interrupts and vectors that ran out go elsewhere without a word.
fn astray(host: &Host, place: &Place, wanted: &str) -> Option<String> {
    let path = place.path()?;
    let folder = path.strip_prefix("/proc/irq/")?.split_once('/')?.0;
    let text = host.text(&format!("/proc/irq/{folder}/effective_affinity_list"))?;
    let effective = CpuSet::parse_list(&text).ok().filter(|cpus| !cpus.is_empty())?;
    let wanted = CpuSet::parse_list(wanted).ok()?;
    let outside = effective.without(&wanted);
    (!outside.is_empty()).then(|| {
        format!("it may go to CPUs {}, and it goes to {}", wanted.list(), effective.list())
    })
}
