//! Knobs of a cell: turned while it is measured, and put back in any case.
//!
//! Knobs that only affect sockets which start to listen later are turned before the server starts,
//! all others after it. Each change is in the journal of its host before it is made, with a
//! deadline that is extended while the experiment lives: a watchdog on that host puts back what a
//! killed or disconnected process left behind.

mod access;
mod hands;
mod lease;

pub use access::{Rehearsed, way};
pub(crate) use hands::Ground;
pub use hands::Hands;

use lease::Lease;
use model::experiment::Tuned;
use model::root::Root;
use model::tuning::{Fate, Row, Scope, TakesEffect, TuneOrder, TuneOutcome, Wanted};
use plan::{Cell, Host, Server, Tune};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tune::{Act, Knob, Planned, Profile, Split, Wish};

/// How often to ask a host that does not respond to put back what was turned.
const AGAIN: Duration = Duration::from_secs(2);
/// How long to ask: by then its watchdog has done it.
const AGAIN_FOR: Duration = Duration::from_secs(75);

/// On how many hosts knobs may be turned at this moment.
static TURNED: AtomicU32 = AtomicU32::new(0);

/// Whether a host is changed at this moment, by a cell that puts it back at its end.
pub fn is_turned() -> bool {
    TURNED.load(Ordering::SeqCst) > 0
}

/// When a knob is turned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Before the server starts: it affects sockets and processes made afterwards.
    Before,
    /// While the server runs.
    Beside,
}

/// Whether a plan may turn the knobs of a cell, on whatever host; known before anything is started.
pub fn check(cell: &Cell) -> Result<(), String> {
    let is_running = matches!(cell.server, Server::Running { .. });
    cell.tune.iter().try_for_each(|tune| check_knobs(tune, is_running))
}

/// Whether this host has the device and the CPUs that a cell names for its knobs here, and takes
/// their values. What another host has is checked there.
pub fn check_here(cell: &Cell) -> Result<(), String> {
    for tune in cell.tune.iter().filter(|tune| tune.host.is_here()) {
        let host = tune::Host::look(Root::default());
        for moment in [When::Before, When::Beside] {
            if let Some(wanted) = wanted(tune, moment, None)? {
                let wish = Wish::resolve(&wanted, &host).map_err(|why| format!("tune: {why}"))?;
                tune::check_values(&host, &wish)?;
            }
        }
    }
    Ok(())
}

/// Whether these knobs may be set for a server that is already running, or that will be started.
fn check_knobs(tune: &Tune, is_running: bool) -> Result<(), String> {
    wish(tune)?;
    for word in tune.named() {
        let knob = knob_of(word)?;
        if knob.is_disruptive {
            return Err(format!(
                "tune: {} {} can cut connections, which a plan must not; by hand: ceiling tune \
                 apply --only {} --allow-disruptive",
                knob.id, knob.name, knob.name
            ));
        }
        if matches!(knob.act, Act::Advice { .. }) {
            return Err(format!("tune: {} {} cannot be changed by ceiling", knob.id, knob.name));
        }
        if knob.takes_effect == TakesEffect::Reboot {
            return Err(format!(
                "tune: {} {} takes effect only after a restart of the host",
                knob.id, knob.name
            ));
        }
        if is_running && when(knob.takes_effect) == When::Before {
            return Err(format!(
                "tune: {} {} takes effect only for a server started afterwards, and server.addr is \
                 already running; for example target = \"nethttp\"",
                knob.id, knob.name
            ));
        }
    }
    Ok(())
}

/// The knob that a word names, alone or together with one of its values.
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

/// The wish of a plan, without what depends on a host.
fn wish(tune: &Tune) -> Result<Wish, String> {
    let profile = match tune.profile.as_str() {
        "" => Profile::default(),
        name => Profile::named(name).map_err(|error| format!("tune.profile: {error}"))?,
    };
    let split = match tune.cpus.as_str() {
        "" => None,
        cpus => Some(Split::parse(cpus).map_err(|error| format!("tune.cpus: {error}"))?),
    };
    Ok(Wish { profile, split, ..Wish::default() })
}

/// What is wanted of a host at a moment; `None` when no knob is turned at that moment.
fn wanted(tune: &Tune, moment: When, server: Option<u32>) -> Result<Option<Wanted>, String> {
    let is_now = |word: &str| knob_of(word).map(|knob| when(knob.takes_effect) == moment);
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let mut wanted = Wanted {
        profile: given(&tune.profile),
        device: given(&tune.device),
        cpus: given(&tune.cpus),
        server_pid: server,
        ..Wanted::default()
    };
    for word in tune.only.iter().chain(&tune.ensure) {
        if is_now(word)? {
            wanted.only.push(word.clone());
        }
    }
    for (word, value) in &tune.values {
        if is_now(word)? {
            wanted.values.insert(word.clone(), value.clone());
        }
    }
    let is_empty = wanted.only.is_empty() && wanted.values.is_empty();
    Ok((!is_empty).then_some(wanted))
}

/// A transaction that was started.
struct Made {
    transaction: String,
    /// What it changed; empty when it failed.
    places: Vec<String>,
}

/// Knobs of one host that are turned.
pub struct Turned<'a> {
    tune: &'a Tune,
    stop: &'a AtomicBool,
    hands: Hands,
    lease: Option<Lease>,
    /// Whether it is one of [`TURNED`].
    is_counted: bool,
    made: Vec<Made>,
    rows: Vec<Row>,
    /// Why it is not known what was changed.
    unsure: Option<String>,
}

impl<'a> Turned<'a> {
    /// No knob is turned yet.
    pub fn new(tune: &'a Tune, hands: Hands, stop: &'a AtomicBool) -> Self {
        let (made, rows) = (Vec::new(), Vec::new());
        Self { tune, stop, hands, lease: None, is_counted: false, made, rows, unsure: None }
    }

    /// The host of the knobs.
    pub fn host(&self) -> &Host {
        &self.tune.host
    }

    /// Sets the knobs of this moment. `server` is a process of this host. After an error
    /// [`Self::put_back`] puts the rest back, and returns whether that worked.
    pub fn turn(&mut self, when: When, server: Option<u32>) -> Result<(), String> {
        let Some(wanted) = wanted(self.tune, when, server)? else { return Ok(()) };
        self.turn_all(wanted).map_err(|why| self.on_host(why))
    }

    fn turn_all(&mut self, wanted: Wanted) -> Result<(), String> {
        let planned = self.plan(&wanted)?;
        check_rows(&planned, self.tune)?;
        let (todo, already): (Vec<Row>, Vec<Row>) =
            planned.into_iter().partition(|row| row.fate == Fate::Proposed);
        self.rows.extend(already.into_iter().filter(|row| is_ensured(self.tune, row)));
        if todo.is_empty() {
            return Ok(());
        }
        let deadline_ns = Some(lease::LENGTH.as_nanos() as u64);
        let order = TuneOrder::Apply { wanted, disruptive: false, deadline_ns };
        if !std::mem::replace(&mut self.is_counted, true) {
            TURNED.fetch_add(1, Ordering::SeqCst);
        }
        let outcome = self.hands.order(order, Some(self.stop)).map_err(|error| {
            let why = format!("tuning failed: {error}");
            if error.is_lost() {
                self.unsure = Some(why.clone());
            }
            why
        })?;
        let TuneOutcome { transaction, mut rows, error, left, moved, .. } = outcome;
        if error.is_some() {
            rows.retain(|row| left > 0 && row.fate != Fate::Proposed);
        }
        if let Some(transaction) = transaction {
            let is_made = |row: &&Row| error.is_none() && row.fate == Fate::Applied;
            let places = rows.iter().filter(is_made).map(|row| row.place.clone()).collect();
            if error.is_none() {
                let lease = self.lease.get_or_insert_with(|| Lease::begin(self.hands.clone()));
                lease.add(&transaction);
            }
            self.made.push(Made { transaction, places });
            self.rows.extend(rows);
        }
        let Some(error) = error else { return Ok(()) };
        let why = format!("tuning failed: {error}");
        if moved > 0 {
            // The transaction is closed, and no revert can restore what it did not write.
            self.unsure = Some(why.clone());
        }
        Err(why)
    }

    fn plan(&self, wanted: &Wanted) -> Result<Vec<Row>, String> {
        let outcome = self.ask(TuneOrder::Plan { wanted: wanted.clone() })?;
        Ok(outcome.rows)
    }

    /// Gives an order that changes nothing.
    fn ask(&self, order: TuneOrder) -> Result<TuneOutcome, String> {
        let outcome = self.hands.order(order, None).map_err(|error| format!("tuning: {error}"))?;
        match outcome.error {
            Some(why) => Err(format!("tuning: {why}")),
            None => Ok(outcome),
        }
    }

    /// Adds the name of the host to a sentence about another host.
    fn on_host(&self, why: String) -> String {
        if self.tune.host.is_here() { why } else { format!("host {}: {why}", self.tune.host.name) }
    }

    /// Whether everything is still as it was turned, for each process that the server has now.
    pub fn holds(&self, server: Option<u32>) -> Result<(), String> {
        self.holds_all(server).map_err(|why| self.on_host(why))
    }

    fn holds_all(&self, server: Option<u32>) -> Result<(), String> {
        for made in &self.made {
            let transaction = Some(made.transaction.clone());
            let rows = self.ask(TuneOrder::Status { transaction });
            let rows = rows.map_err(|why| format!("tuning is not known to hold: {why}"))?.rows;
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

    /// A process that the server started since then inherits what its parent had at that time.
    fn holds_for_all(&self, server: Option<u32>) -> Result<(), String> {
        let of_processes = self.rows.iter().any(|row| row.scope == Scope::Process);
        if server.is_none() || !of_processes {
            return Ok(());
        }
        let mut rows = Vec::new();
        for moment in [When::Before, When::Beside] {
            let Some(wanted) = wanted(self.tune, moment, server)? else { continue };
            // If the server has ended, that is the error to report.
            rows.extend(self.plan(&wanted).unwrap_or_default());
        }
        let is_missed = |row: &&Row| row.scope == Scope::Process && row.fate == Fate::Proposed;
        match rows.iter().find(is_missed) {
            None => Ok(()),
            Some(row) => Err(format!(
                "tuning missed {}: it is {} instead of {}; the server started it later",
                row.place,
                row.now.as_deref().unwrap_or_default(),
                row.wanted.as_deref().unwrap_or_default()
            )),
        }
    }

    /// Puts everything back. Returns what became of each change, and an error if the host is not as
    /// it was.
    pub fn put_back(mut self) -> (Vec<Tuned>, Result<(), String>) {
        let result = self.back();
        let host = self.tune.host.name.clone();
        let rows = std::mem::take(&mut self.rows).into_iter();
        (rows.map(|row| Tuned { host: host.clone(), row }).collect(), result)
    }

    fn back(&mut self) -> Result<(), String> {
        let mut wrong: Vec<String> = self.unsure.take().into_iter().collect();
        while let Some(Made { transaction, places }) = self.made.pop() {
            match self.revert(&transaction) {
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
                Err(why) => wrong.push(format!("transaction {transaction}: {why}")),
            }
            let is_of_it =
                |row: &&mut Row| row.fate == Fate::Applied && places.contains(&row.place);
            let is_known = wrong.is_empty();
            for row in self.rows.iter_mut().filter(is_of_it).filter(|_| is_known) {
                let note = "it was put back before the cell ended".to_string();
                (row.now, row.fate, row.note) = (None, Fate::Reverted, note);
            }
        }
        // Until now it extended the deadlines of what is put back last.
        self.lease = None;
        if std::mem::take(&mut self.is_counted) {
            TURNED.fetch_sub(1, Ordering::SeqCst);
        }
        if wrong.is_empty() {
            return Ok(());
        }
        let host = match self.tune.host.is_here() {
            true => "the host".to_string(),
            false => format!("the host {}", self.tune.host.name),
        };
        Err(format!("{host} is not as it was before: {}", wrong.join("; ")))
    }

    /// Puts a transaction back, even if the host is out of reach for a while.
    fn revert(&self, transaction: &str) -> Result<Vec<Row>, String> {
        let begin = Instant::now();
        loop {
            let order = TuneOrder::Revert { transaction: Some(transaction.to_string()) };
            match self.hands.order(order, None) {
                Ok(TuneOutcome { rows, error: None, .. }) => return Ok(rows),
                // Everything was tried, and only its entry could not be closed.
                Ok(TuneOutcome { rows, error: Some(_), .. }) if !rows.is_empty() => {
                    return Ok(rows);
                }
                // Nothing was changed, or it was put back before and its transaction is no longer
                // kept.
                Ok(TuneOutcome { error: Some(why), .. }) => {
                    let transaction = Some(transaction.to_string());
                    let left = self.ask(TuneOrder::Status { transaction });
                    let is_over = left.is_ok_and(|left| left.rows.is_empty());
                    return if is_over { Ok(Vec::new()) } else { Err(why) };
                }
                Err(error) if error.is_unreachable() && begin.elapsed() < AGAIN_FOR => {
                    thread::sleep(AGAIN);
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

impl Drop for Turned<'_> {
    /// For a cell that ends in any other way.
    fn drop(&mut self) {
        if !self.made.is_empty() || self.is_counted {
            let _ = self.back();
        }
    }
}

/// What would be written on this host at a moment, as [`check_rows`] takes it.
fn planned(tune: &Tune, host: &tune::Host, moment: When) -> Result<Vec<Planned>, String> {
    let Some(wanted) = wanted(tune, moment, None)? else { return Ok(Vec::new()) };
    let planned = tune::planned(host, &Wish::resolve(&wanted, host)?)?;
    let rows: Vec<Row> = planned.iter().map(|one| one.row.clone()).collect();
    check_rows(&rows, tune)?;
    Ok(planned)
}

/// Whether the cell ensures the knob of a row.
fn is_ensured(tune: &Tune, row: &Row) -> bool {
    tune.ensure.iter().any(|word| knob_of(word).is_ok_and(|knob| knob.id == row.knob))
}

/// Whether each knob would change something, and everything wanted can be changed. Otherwise a cell
/// named after a knob would be measured as if that were turned, or the cells without it would have
/// it too. A knob that the cell only ensures may be as it should be already.
fn check_rows(rows: &[Row], tune: &Tune) -> Result<(), String> {
    let is_there = |of_knob: &[Row]| {
        is_ensured(tune, &of_knob[0]) && of_knob.iter().all(|row| row.fate == Fate::Already)
    };
    let row_words =
        |row: &Row| format!("tuning: {} {}: {} {}", row.knob, row.name, row.place, row.note);
    for of_knob in rows.chunk_by(|left, right| left.knob == right.knob) {
        if let Some(refused) = of_knob.iter().find(|row| row.fate == Fate::Refused) {
            return Err(row_words(refused));
        }
        if !of_knob.iter().any(|row| row.fate == Fate::Proposed) && !is_there(of_knob) {
            return Err(format!(
                "{}: nothing would change, and the name of the cell would be wrong; a state that \
                 the host may have already is for tune.ensure",
                row_words(&of_knob[0])
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
