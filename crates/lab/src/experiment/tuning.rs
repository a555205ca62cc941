//! Knobs of a cell: turned for as long as it is measured, and put back whatever happens.
//!
//! What works only for sockets that listen anew is turned before the server starts, everything else
//! after it. Each change is in the journal of `tune` before it is made, so that what a killed
//! process leaves behind is put back by `ceiling tune revert`.

use model::root::Root;
use model::tuning::{Fate, Row, TakesEffect};
use plan::{Cell, Server, Tune};
use std::sync::atomic::{AtomicBool, Ordering};
use tune::{Act, Change, Disruption, Host, Journal, Options, Planned, Profile, Split, Which, Wish};

/// Whether knobs may be turned just now.
static IS_TURNED: AtomicBool = AtomicBool::new(false);

/// Whether the host is changed just now, by a cell that puts it back at its end.
pub fn is_turned() -> bool {
    IS_TURNED.load(Ordering::SeqCst)
}

/// When a knob is turned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Before the server starts: it works for those who listen or start afterwards.
    Before,
    /// While the server runs.
    Beside,
}

/// Whether the knobs of a cell may be turned by a plan; known before anything is started.
pub fn check(cell: &Cell) -> Result<(), String> {
    let Some(tune) = &cell.tune else { return Ok(()) };
    wish(tune)?;
    for word in tune.only.iter().chain(tune.values.keys()) {
        let Some(knob) = tune::find(word) else {
            return Err(format!("tune: there is no knob '{word}'; for example only = [\"rps\"]"));
        };
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
        let is_running = matches!(cell.server, Server::Running { .. });
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

/// Knobs that are turned.
pub struct Turned<'a> {
    tune: &'a Tune,
    cell: &'a str,
    stop: &'a AtomicBool,
    journal: Journal,
    transactions: Vec<String>,
    rows: Vec<Row>,
}

impl<'a> Turned<'a> {
    /// None yet.
    pub fn new(tune: &'a Tune, cell: &'a str, stop: &'a AtomicBool) -> Result<Self, String> {
        let journal = Journal::open(&tune::journal_folder());
        let journal = journal.map_err(|error| error.to_string())?;
        Ok(Self { tune, cell, stop, journal, transactions: Vec::new(), rows: Vec::new() })
    }

    /// Turns those that belong to this moment. An error leaves the host as it was found.
    pub fn turn(&mut self, when: When, server: Option<u32>) -> Result<(), String> {
        let host = host(server);
        let planned = self.planned(&host, when)?;
        if planned.is_empty() {
            return Ok(());
        }
        let note = format!("ceiling run, cell {}", self.cell);
        let options = Options {
            disruption: Disruption::Refused,
            stop: Some(self.stop),
            note: &note,
            ..Options::default()
        };
        IS_TURNED.store(true, Ordering::SeqCst);
        let applied = tune::apply(&host, &self.journal, &planned, &options, &mut |_| {});
        let applied = applied.map_err(|error| format!("tuning failed: {error}"))?;
        self.transactions.push(applied.transaction);
        self.rows.extend(applied.rows);
        Ok(())
    }

    /// What would be written. A knob that would change nothing is an error: a cell that is called
    /// after it would be measured as if it were turned.
    fn planned(&self, host: &Host, moment: When) -> Result<Vec<Planned>, String> {
        let wish = wish(self.tune)?;
        let mut planned = Vec::new();
        for word in &self.tune.only {
            if self.tune.values.contains_key(word) {
                continue;
            }
            let wish = Wish { only: vec![word.clone()], ..wish.clone() };
            planned.extend(turning(tune::plan(host, &wish, None), moment)?);
        }
        for (word, value) in &self.tune.values {
            planned.extend(turning(explicit(host, &wish, word, value)?, moment)?);
        }
        Ok(planned)
    }

    /// Whether all is still as it was turned.
    pub fn holds(&self) -> Result<(), String> {
        let standing = tune::standing(&host(None), &self.journal);
        let standing = standing.map_err(|error| format!("tuning is not known to hold: {error}"))?;
        let ours = standing.iter().filter(|one| self.transactions.contains(&one.transaction));
        let gone = ours.flat_map(|one| &one.rows).find(|row| row.fate != Fate::Applied);
        match gone {
            Some(row) => Err(format!("tuning drifted: {}: {}", row.place, row.note)),
            None => Ok(()),
        }
    }

    /// Puts everything back. What became of each change; an error when the host is not as it was.
    pub fn put_back(mut self) -> (Vec<Row>, Result<(), String>) {
        let result = self.back();
        (std::mem::take(&mut self.rows), result)
    }

    fn back(&mut self) -> Result<(), String> {
        let host = host(None);
        let mut wrong = Vec::new();
        while let Some(transaction) = self.transactions.pop() {
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
                // It changed nothing, or somebody put it back before us.
                Err(tune::TuneError::Unknown { .. }) => {}
                Err(error) => wrong.push(format!("transaction {transaction}: {error}")),
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

fn host(server: Option<u32>) -> Host {
    Host { servers: server.into_iter().collect(), ..Host::look(Root::default()) }
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

/// A value as it stands, at every place of a knob.
fn explicit(host: &Host, wish: &Wish, word: &str, value: &str) -> Result<Vec<Planned>, String> {
    let wish = Wish { only: vec![word.to_string()], ..wish.clone() };
    let mut planned = tune::plan(host, &wish, None);
    let Some(Act::Settable { places, .. }) = tune::find(word).map(|knob| &knob.act) else {
        return Err(format!("tune: there is no knob '{word}'"));
    };
    for place in places(host, &wish) {
        let shown = place.show();
        let Some(one) = planned.iter_mut().find(|one| one.row.place == shown) else { continue };
        let seen = match place.read(host) {
            Ok(Some(seen)) => seen,
            Ok(None) => continue,
            Err(error) => return Err(format!("tuning: {error}")),
        };
        let is_so = place.settles_to(value) == seen.value;
        one.row.wanted = Some(value.to_string());
        (one.row.fate, one.row.note) =
            (if is_so { Fate::Already } else { Fate::Proposed }, String::new());
        one.change = (!is_so).then(|| Change { place, wanted: value.to_string(), seen });
    }
    Ok(planned)
}
