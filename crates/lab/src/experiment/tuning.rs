//! Knobs of a cell: turned for as long as it is measured, and put back whatever happens.
//!
//! What works only for sockets that listen anew is turned before the server starts, everything else
//! after it. Each change is in the journal of `tune` before it is made, so that what a killed
//! process leaves behind is put back by `ceiling tune revert`.

mod access;
mod values;

pub use access::{Rehearsed, way};

use model::root::Root;
use model::tuning::{Fate, Row, Scope, TakesEffect};
use plan::{Cell, Server, Tune};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use tune::{
    Act, ApplyOptions, Disruption, Host, Journal, Knob, Planned, Profile, Split, TuneError,
};
use tune::{Which, Wish};

/// Whether knobs may be turned just now.
static IS_TURNED: AtomicBool = AtomicBool::new(false);

/// Whether the host is changed just now, by a cell that puts it back at its end.
pub fn is_turned() -> bool {
    IS_TURNED.load(Ordering::SeqCst)
}

/// When a knob is turned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Before the server starts: it affects sockets and processes made afterwards.
    Before,
    /// While the server runs.
    Beside,
}

/// Whether the knobs of a cell may be turned by a plan; known before anything is started.
pub fn check(cell: &Cell) -> Result<(), String> {
    let Some(tune) = &cell.tune else { return Ok(()) };
    check_knobs(tune, matches!(cell.server, Server::Running { .. }))?;
    if tune.values.is_empty() {
        return Ok(());
    }
    values::check(&Host::look(Root::default()), &wish(tune)?, tune)
}

/// Whether these knobs may be set for a server that runs already, or that is started.
fn check_knobs(tune: &Tune, is_running: bool) -> Result<(), String> {
    wish(tune)?;
    for word in tune.only.iter().chain(tune.values.keys()) {
        let knob = knob_of(word)?;
        if knob.is_disruptive {
            return Err(format!(
                "tune: {} {} can cut connections, which a plan must not; by hand: ceiling tune \
                 apply --only {} --allow-disruptive",
                knob.id, knob.name, knob.name
            ));
        }
        if matches!(knob.act, Act::Advice { .. }) {
            return Err(format!("tune: {} {} is not ceiling's to turn", knob.id, knob.name));
        }
        if knob.takes_effect == TakesEffect::Reboot {
            return Err(format!(
                "tune: {} {} works after a restart of the host",
                knob.id, knob.name
            ));
        }
        if is_running && when(knob.takes_effect) == When::Before {
            return Err(format!(
                "tune: {} {} works for a server that starts afterwards, and server.addr runs \
                 already; for example target = \"nethttp\"",
                knob.id, knob.name
            ));
        }
    }
    Ok(())
}

/// The knob of a word, or of a word with which of its values is meant.
fn knob_of(word: &str) -> Result<&'static Knob, String> {
    let name = word.split_once('/').map_or(word, |(name, _)| name);
    tune::find(name)
        .ok_or_else(|| format!("tune: there is no knob '{name}'; for example only = [\"rps\"]"))
}

fn when(takes_effect: TakesEffect) -> When {
    match takes_effect {
        TakesEffect::NewListen | TakesEffect::Restart | TakesEffect::Reboot => When::Before,
        TakesEffect::Now | TakesEffect::NewSockets => When::Beside,
    }
}

fn wish(tune: &Tune) -> Result<Wish, String> {
    let profile = match tune.profile.as_str() {
        "" => Profile::default(),
        name => Profile::parse(name).map_err(|error| format!("tune.profile: {error}"))?,
    };
    let split = match tune.cpus.as_str() {
        "" => None,
        cpus => Some(Split::parse(cpus).map_err(|error| format!("tune.cpus: {error}"))?),
    };
    let device = Some(tune.device.clone()).filter(|device| !device.is_empty());
    Ok(Wish { profile, device, split, only: tune.only.clone() })
}

/// The places of the knobs, and the journal.
#[derive(Debug, Clone)]
pub struct Ground {
    /// The host.
    pub root: Root,
    /// Folder of the journal.
    pub journal: PathBuf,
}

impl Default for Ground {
    /// This host and its journal.
    fn default() -> Self {
        Self { root: Root::default(), journal: tune::journal_folder() }
    }
}

/// A transaction that was begun.
struct Made {
    transaction: String,
    /// What it changed; nothing when it failed.
    places: Vec<String>,
}

/// Knobs that are turned.
pub struct Turned<'a> {
    tune: &'a Tune,
    cell: &'a str,
    stop: &'a AtomicBool,
    root: Root,
    journal: Journal,
    made: Vec<Made>,
    rows: Vec<Row>,
}

impl<'a> Turned<'a> {
    /// None yet.
    pub fn new(
        tune: &'a Tune,
        cell: &'a str,
        stop: &'a AtomicBool,
        ground: &Ground,
    ) -> Result<Self, String> {
        let journal = Journal::open(&ground.journal).map_err(|error| error.to_string())?;
        let (root, made, rows) = (ground.root.clone(), Vec::new(), Vec::new());
        Ok(Self { tune, cell, stop, root, journal, made, rows })
    }

    /// Sets the knobs of this moment. After an error [`Self::put_back`] puts the rest back, and
    /// returns whether it could.
    pub fn turn(&mut self, when: When, server: Option<u32>) -> Result<(), String> {
        let host = self.host(server)?;
        let planned = planned(self.tune, &host, when)?;
        if planned.is_empty() {
            return Ok(());
        }
        let note = format!("ceiling run, cell {}", self.cell);
        let options = ApplyOptions {
            disruption: Disruption::Refused,
            stop: Some(self.stop),
            note: &note,
            ..ApplyOptions::default()
        };
        IS_TURNED.store(true, Ordering::SeqCst);
        let applied = tune::apply(&host, &self.journal, &planned, &options, &mut |_| {});
        let (transaction, rows, done) = match applied {
            Ok(applied) => (applied.transaction, applied.rows, Ok(())),
            Err(error) => {
                let why = format!("tuning failed: {error}");
                let TuneError::RolledBack { transaction, mut rows, left, .. } = error else {
                    return Err(why);
                };
                rows.retain(|row| left > 0 && row.fate != Fate::Proposed);
                (transaction, rows, Err(why))
            }
        };
        let is_made = |row: &&Row| done.is_ok() && row.fate == Fate::Applied;
        let places = rows.iter().filter(is_made).map(|row| row.place.clone()).collect();
        self.made.push(Made { transaction, places });
        self.rows.extend(rows);
        done
    }

    /// The host with all processes of the server: workers of one that forks are not its first.
    fn host(&self, server: Option<u32>) -> Result<Host, String> {
        let mut host = Host::look(self.root.clone());
        if let Some(pid) = server {
            let tree = ::host::Tree::of(pid)
                .map_err(|error| format!("tuning: {}: {}", error.source, error.why))?;
            host.servers = tree.pids().to_vec();
        }
        Ok(host)
    }

    /// Whether all is still as it was turned, for each process that the server has by now.
    pub fn holds(&self, server: Option<u32>) -> Result<(), String> {
        let standing = tune::standing(&Host::look(self.root.clone()), &self.journal);
        let standing = standing.map_err(|error| format!("tuning is not known to hold: {error}"))?;
        for made in &self.made {
            let ours = standing.iter().filter(|one| one.transaction == made.transaction);
            let rows: Vec<&Row> = ours.flat_map(|one| &one.rows).collect();
            if let Some(row) = rows.iter().find(|row| row.fate != Fate::Applied) {
                return Err(format!("tuning drifted: {}: {}", row.place, row.note));
            }
            let is_gone = |place: &&String| !rows.iter().any(|row| row.place == **place);
            if let Some(place) = made.places.iter().find(is_gone) {
                return Err(format!("tuning drifted: {place}: it was put back meanwhile"));
            }
        }
        self.holds_for_all(server)
    }

    /// A process that the server started meanwhile inherits what its parent had then.
    fn holds_for_all(&self, server: Option<u32>) -> Result<(), String> {
        // If the server has ended, that is the error to report.
        let Some(host) = server.and_then(|pid| self.host(Some(pid)).ok()) else { return Ok(()) };
        let proposed = proposed(self.tune, &host)?;
        let is_missed = |one: &&Planned| one.row.scope == Scope::Process && one.change.is_some();
        match proposed.iter().flatten().find(is_missed) {
            None => Ok(()),
            Some(Planned { row, .. }) => Err(format!(
                "tuning missed {}: it is {}, and {} was meant; the server started it later",
                row.place,
                row.now.as_deref().unwrap_or_default(),
                row.wanted.as_deref().unwrap_or_default()
            )),
        }
    }

    /// Puts everything back. What became of each change; an error when the host is not as it was.
    pub fn put_back(mut self) -> (Vec<Row>, Result<(), String>) {
        let result = self.back();
        (std::mem::take(&mut self.rows), result)
    }

    fn back(&mut self) -> Result<(), String> {
        let host = Host::look(self.root.clone());
        let mut wrong = Vec::new();
        while let Some(Made { transaction, places }) = self.made.pop() {
            let which = Which::Transaction(transaction.clone());
            match tune::revert(&host, &self.journal, &which, &mut |_| {}) {
                Ok(rows) => {
                    for row in rows {
                        if !matches!(row.fate, Fate::Reverted | Fate::Gone) {
                            wrong.push(format!("{}: {}", row.place, row.note));
                        }
                        match self.rows.iter_mut().find(|one| one.place == row.place) {
                            Some(shown) => *shown = row,
                            None => self.rows.push(row),
                        }
                    }
                }
                // Nothing was changed, or it was put back before us and is no longer kept.
                Err(TuneError::Unknown { .. }) => {}
                Err(error) => wrong.push(format!("transaction {transaction}: {error}")),
            }
            let is_of_it =
                |row: &&mut Row| row.fate == Fate::Applied && places.contains(&row.place);
            for row in self.rows.iter_mut().filter(is_of_it) {
                let note = "it was put back before the cell ended".to_string();
                (row.now, row.fate, row.note) = (None, Fate::Reverted, note);
            }
        }
        IS_TURNED.store(false, Ordering::SeqCst);
        if wrong.is_empty() {
            return Ok(());
        }
        Err(format!("the host is not as it was before: {}", wrong.join("; ")))
    }
}

impl Drop for Turned<'_> {
    /// When a cell ends in any other way.
    fn drop(&mut self) {
        let _ = self.back();
    }
}

/// What would be written at a moment. A knob that would change nothing is an error: a cell that is
/// called after it would be measured as if it were turned.
fn planned(tune: &Tune, host: &Host, moment: When) -> Result<Vec<Planned>, String> {
    let mut planned = Vec::new();
    for of_knob in proposed(tune, host)? {
        planned.extend(turning(of_knob, moment)?);
    }
    Ok(planned)
}

/// Rows of each knob that is meant.
fn proposed(tune: &Tune, host: &Host) -> Result<Vec<Vec<Planned>>, String> {
    let wish = wish(tune)?;
    let mut all = Vec::new();
    for word in &tune.only {
        let id = knob_of(word)?.id;
        if tune.values.keys().any(|of| knob_of(of).is_ok_and(|knob| knob.id == id)) {
            continue;
        }
        let wish = Wish { only: vec![word.clone()], ..wish.clone() };
        all.push(tune::plan(host, &wish, None));
    }
    all.extend(values::proposed(tune, host, &wish)?);
    Ok(all)
}

/// Rows with a change of this moment; an error when one cannot be made, or when there is none.
fn turning(planned: Vec<Planned>, moment: When) -> Result<Vec<Planned>, String> {
    let of_moment = planned.first().is_some_and(|one| when(one.row.takes_effect) == moment);
    if !of_moment {
        return Ok(Vec::new());
    }
    let told = |row: &Row| format!("tuning: {} {}: {} {}", row.knob, row.name, row.place, row.note);
    if let Some(refused) = planned.iter().find(|one| one.row.fate == Fate::Refused) {
        return Err(told(&refused.row));
    }
    if !planned.iter().any(|one| one.change.is_some()) {
        let row = &planned[0].row;
        return Err(format!(
            "{}: nothing would change, and the cell would be named wrongly",
            told(row)
        ));
    }
    Ok(planned)
}

#[cfg(test)]
mod tests;
