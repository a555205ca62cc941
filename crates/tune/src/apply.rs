//! Applies changes: each is journalled before it is made and read back after, and all are undone
//! when one fails.

use crate::clock;
use crate::error::TuneError;
use crate::host::Host;
use crate::journal::{Begin, Entry, Header, Journal, Lock, Open, Recorded, Story, VERSION};
use crate::knob::{Act, Effect, Sign};
use crate::knobs::find;
use crate::link;
use crate::namespace;
use crate::place::{DriverSetting, Place, Seen, group};
use crate::plan::{Change, Planned};
use crate::revert::{self, Absent, shown};
use model::order::OrderBy as _;
use model::tuning::{Fate, Row, Scope};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a disruptive change stays unless the user keeps it.
pub const DEADLINE: Duration = Duration::from_secs(30);
/// The longest deadline that is accepted.
pub const DEADLINE_MAX: Duration = Duration::from_secs(60);

/// Whether changes are allowed that can cut connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Disruption {
    /// They are left out, and a row reports that.
    #[default]
    Refused,
    /// They are made, under a watchdog.
    Allowed,
}

/// Starts a watchdog for a transaction and returns once it is watching. See [`crate::guard`].
pub type Watch<'a> = &'a dyn Fn(&str) -> Result<(), String>;

/// How to apply.
#[derive(Clone, Copy, Default)]
pub struct ApplyOptions<'a> {
    /// Whether changes are allowed that can cut connections.
    pub disruption: Disruption,
    /// When everything is put back unless [`crate::keep`] is called. Not given: [`DEADLINE`] when a
    /// change can cut connections, otherwise none.
    pub deadline: Option<Duration>,
    /// Starts the watchdog; needed for any deadline.
    pub watch: Option<Watch<'a>>,
    /// Set by a caller to end early: everything is put back.
    pub stop: Option<&'a AtomicBool>,
    /// The purpose; kept in the journal.
    pub note: &'a str,
}

/// The result of an apply.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// The name by which `revert` puts it back.
    pub transaction: String,
    /// Every planned change, with what became of it.
    pub rows: Vec<Row>,
}

/// Makes the changes of a plan, all or none, except disruptive ones that are not allowed.
/// Transactions whose deadline has passed are put back first. Each row is reported as it happens.
pub fn apply(
    host: &Host,
    journal: &Journal,
    planned: &[Planned],
    options: &ApplyOptions<'_>,
    tell: &mut dyn FnMut(&Row),
) -> Result<Applied, TuneError> {
    let lock = ready(host, journal, tell)?;
    let (rows, todo) = look(host, journal, planned, options)?;
    let deadline = deadline(&todo, options)?;
    let header = header(host, deadline, options.note);
    let open = journal.begin(&lock, &header)?;
    let mut under = Under { host, options, open, rows, deadline: header.deadline_boot_ms, tell };
    let done = under.watch().and_then(|()| under.write(&todo)).and_then(|()| under.judge(&todo));
    let Under { mut open, mut rows, tell, .. } = under;
    let transaction = open.story.id();
    if let Err(why) = done {
        // A place that we have just written to and that is gone now is not as it was before.
        let (back, recorded) = revert::put_back_all(host, &mut open, Absent::Stays, tell);
        let is_left = |row: &&Row| row.fate != Fate::Reverted;
        let left: BTreeSet<String> =
            back.iter().filter(is_left).map(|row| row.place.clone()).collect();
        for row in back {
            match rows.iter_mut().find(|shown| shown.place == row.place && was_begun(shown)) {
                // A failed change is still reported as failed even when its place is as it was.
                Some(shown) if shown.fate == Fate::Failed && row.fate == Fate::Reverted => {
                    shown.now = row.now;
                }
                Some(shown) => *shown = Row { prediction: shown.prediction.take(), ..row },
                None => rows.push(row),
            }
        }
        let others = todo.iter().filter(|todo| !left.contains(&todo.change.place.show()));
        let moved: Vec<_> = others.filter_map(|todo| not_as_seen(host, todo)).collect();
        for (index, now, note) in &moved {
            let row = &mut rows[*index];
            (row.now, row.fate, row.note) = (now.clone(), Fate::Failed, note.clone());
            tell(row);
        }
        let why = match recorded.and(revert::close(journal, &lock, open)) {
            Ok(()) => why,
            Err(error) => format!("{why}; its entry in the journal cannot be closed: {error}"),
        };
        let (left, moved) = (left.len(), moved.len());
        return Err(TuneError::RolledBack { transaction, rows, why, left, moved });
    }
    if open.story.changes.is_empty() {
        revert::close(journal, &lock, open)?;
    }
    Ok(Applied { transaction, rows })
}

/// The row, the value and the note of a place that is not as it was at the first look, after
/// everything in the journal was put back. A process that has ended has no value to restore.
fn not_as_seen(host: &Host, todo: &Todo<'_>) -> Option<(usize, Option<String>, String)> {
    let Todo { index, change: Change { place, .. }, seen, .. } = todo;
    let moved = "another program did that, or a change of this plan; no revert can restore it: set \
                 it by hand, and apply one at a time, with --only";
    let (now, what) = match place.read_back(host) {
        Ok(Some(now)) if place.are_alike(host, &now.value, &seen.value) => return None,
        Ok(Some(now)) => {
            let what = format!("is '{}' now that everything is put back: {moved}", now.value);
            (Some(now.value), what)
        }
        Ok(None) if place.process().is_some() => return None,
        Ok(None) => (None, format!("is gone now that everything is put back: {moved}")),
        Err(error) => {
            (None, format!("cannot be read now: {}; no revert can restore it", error.why()))
        }
    };
    Some((*index, now, format!("it was '{}' at the first look and {what}", seen.value)))
}

fn was_begun(row: &Row) -> bool {
    matches!(row.fate, Fate::Applied | Fate::Failed)
}

/// The lock, taken once overdue changes are put back and leftovers removed.
fn ready(host: &Host, journal: &Journal, tell: &mut dyn FnMut(&Row)) -> Result<Lock, TuneError> {
    if !host.is_made_up() && !rustix::process::geteuid().is_root() {
        return Err(TuneError::NotRoot);
    }
    let lock = journal.lock()?;
    let swept = journal.sweep(&lock);
    revert::overdue(host, journal, &lock, tell)?;
    swept.map(|()| lock)
}

/// A change that will be made, and which row it is.
struct Todo<'a> {
    index: usize,
    row: &'a Row,
    change: &'a Change,
    /// The value found in the first pass, before anything was written.
    seen: Seen,
}

/// Looks at every place before anything is written. Returns all rows with a change, and the changes
/// to make.
fn look<'a>(
    host: &Host,
    journal: &Journal,
    planned: &'a [Planned],
    options: &ApplyOptions<'_>,
) -> Result<(Vec<Row>, Vec<Todo<'a>>), TuneError> {
    let (stories, damaged) = journal.stories()?;
    if let Some(error) = damaged.into_iter().next() {
        return Err(error);
    }
    let foreign = namespace::foreign_sys(&host.root);
    let (mut rows, mut todo, mut is_refused) = (Vec::new(), Vec::new(), false);
    let mut taken = BTreeSet::new();
    for Planned { row, change } in planned {
        let Some(change) = change else { continue };
        let index = rows.len();
        let mut add = |now: Option<String>, fate: Fate, note: String| {
            rows.push(Row { now, fate, note, ..row.clone() });
        };
        if row.is_disruptive && options.disruption == Disruption::Refused {
            let note = "it can cut connections; --allow-disruptive allows it, under a watchdog";
            add(row.now.clone(), Fate::Refused, note.to_string());
            continue;
        }
        let twice = !taken.insert(&change.place);
        match stand(host, change, &stories, foreign.as_deref()) {
            _ if twice => {
                is_refused = true;
                add(row.now.clone(), Fate::Refused, "the plan sets it twice".to_string());
            }
            Stand::Free(now) if is_set(change, &now) => {
                add(Some(now.value), Fate::Already, String::new());
            }
            Stand::Free(now) => {
                add(Some(now.value.clone()), Fate::Proposed, String::new());
                todo.push(Todo { index, row, change, seen: now });
            }
            Stand::Not(fate, why) => {
                is_refused = true;
                add(None, fate, why);
            }
        }
    }
    todo.order_by_key(|todo| stage(&todo.change.place));
    if is_refused { Err(TuneError::Refused { rows }) } else { Ok((rows, todo)) }
}

fn is_set(change: &Change, now: &Seen) -> bool {
    change.place.is_same(&now.value, &change.place.settles_to(&change.wanted))
}

/// When a change is made; changes of the same stage stay in the order of the plan. They are put
/// back in the reverse order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// A daemon that would move the values below, and timers, are paused first, so they are resumed
    /// last, after everything else is put back.
    Daemons,
    /// Drivers restart their queues for some of these, and then set interrupts, steering and tables
    /// up again.
    Restarts,
    Others,
    /// Where interrupts go, which a restart would undo.
    Pins,
}

fn stage(place: &Place) -> Stage {
    match place {
        Place::Daemon { .. } | Place::Timer { .. } => Stage::Daemons,
        Place::Ethtool { setting: DriverSetting::Indirection, .. } => Stage::Others,
        Place::Ethtool { .. } => Stage::Restarts,
        Place::File { path, .. } if path.starts_with("/proc/irq/") => Stage::Pins,
        _ => Stage::Others,
    }
}

/// Whether a place can be changed now.
enum Stand {
    Free(Seen),
    Not(Fate, String),
}

fn stand(host: &Host, change: &Change, stories: &[Story], foreign: Option<&str>) -> Stand {
    let place = &change.place;
    let taken = stories.iter().find(|story| {
        // A file of a namespace is another file in each, except those of the whole host, which all
        // share.
        let is_another = |open: &Recorded| {
            let is_shared = open.begin.scope == Scope::Host && place.device().is_none();
            place.is_of_network_namespace()
                && !is_shared
                && story.header.namespace != host.namespace
        };
        let is_same = |open: &Recorded| open.begin.place.overlaps(host, place) && !is_another(open);
        story.open_changes().any(is_same)
    });
    if let Some(story) = taken {
        let id = story.id();
        let why = match revert::holder(host, story) {
            Some(pid) => format!(
                "an experiment of process {pid} is changing it now (transaction {id}), and puts \
                 it back when it ends"
            ),
            None => format!(
                "transaction {id} has changed it already; first: ceiling tune revert \
                 --transaction {id}"
            ),
        };
        return Stand::Not(Fate::Refused, why);
    }
    if let Err(why) = place.check_sound() {
        return Stand::Not(Fate::Refused, why);
    }
    if let Some(why) = foreign.filter(|_| place.is_in_sys_of_devices()) {
        return Stand::Not(Fate::Refused, why.to_string());
    }
    match place.read(host) {
        Err(error) => Stand::Not(Fate::Refused, error.to_string()),
        Ok(None) => Stand::Not(Fate::Gone, "it existed when the plan was made".to_string()),
        Ok(Some(now)) => match place.check_writable(host) {
            Err(error) => Stand::Not(Fate::Refused, error.to_string()),
            Ok(()) => Stand::Free(now),
        },
    }
}

/// The deadline of the changes; none when nothing needs one.
fn deadline(todo: &[Todo<'_>], options: &ApplyOptions<'_>) -> Result<Option<Duration>, TuneError> {
    let is_disruptive = todo.iter().any(|todo| todo.row.is_disruptive);
    let deadline = options.deadline.or(is_disruptive.then_some(DEADLINE));
    let deadline = deadline.filter(|_| !todo.is_empty());
    let refuse = |why: &str| Err(TuneError::Guard { why: why.to_string() });
    match deadline {
        Some(deadline) if deadline > DEADLINE_MAX => {
            refuse("a deadline is 60 s at most; for example --deadline 30s")
        }
        Some(deadline) if deadline.is_zero() => {
            refuse("a deadline of zero leaves no time to keep it; for example --deadline 30s")
        }
        Some(_) if options.watch.is_none() => refuse("the watchdog cannot be started"),
        deadline => Ok(deadline),
    }
}

pub(crate) fn header(host: &Host, deadline: Option<Duration>, note: &str) -> Header {
    Header {
        version: VERSION,
        transaction: 0,
        boot_id: host.boot_id.clone(),
        namespace: host.namespace.clone(),
        pid_namespace: host.pid_namespace.clone(),
        group_namespace: host.group_namespace.clone(),
        at_unix_ms: clock::unix_ms(),
        program: format!("ceiling {}", env!("CARGO_PKG_VERSION")),
        pid: std::process::id(),
        held_since_ticks: None,
        deadline_boot_ms: deadline.map(|left| clock::boot_ms() + left.as_millis() as u64),
        note: note.to_string(),
    }
}

/// A transaction under way.
struct Under<'a, 'b> {
    host: &'a Host,
    options: &'a ApplyOptions<'a>,
    open: Open,
    rows: Vec<Row>,
    deadline: Option<u64>,
    tell: &'b mut dyn FnMut(&Row),
}

impl Under<'_, '_> {
    /// Starts the watchdog, before anything that needs it is written.
    fn watch(&self) -> Result<(), String> {
        let (Some(_), Some(watch)) = (self.deadline, self.options.watch) else { return Ok(()) };
        watch(&self.open.story.id()).map_err(|why| format!("the watchdog does not start: {why}"))
    }

    fn write(&mut self, todo: &[Todo<'_>]) -> Result<(), String> {
        for Todo { index, row, change, seen } in todo {
            if self.options.stop.is_some_and(|stop| stop.load(Ordering::SeqCst)) {
                return Err("interrupted".to_string());
            }
            if self.deadline.is_some_and(|deadline| clock::boot_ms() >= deadline) {
                return Err("the deadline passed before all was done".to_string());
            }
            let (now, done) = self.change(row, change, seen);
            let shown = &mut self.rows[*index];
            shown.now = now.or(shown.now.take());
            (shown.fate, shown.note) = match &done {
                Ok(note) => (Fate::Applied, note.clone()),
                Err(why) => (Fate::Failed, why.clone()),
            };
            (self.tell)(shown);
            done.map_err(|why| format!("{}: {why}", change.place.show()))?;
        }
        Ok(())
    }

    /// Makes one change: journals it, writes it, reads it back. Returns what it reads as, and a
    /// note.
    fn change(
        &mut self,
        row: &Row,
        change: &Change,
        seen: &Seen,
    ) -> (Option<String>, Result<String, String>) {
        let place = &change.place;
        let before = match place.read(self.host) {
            Ok(Some(before)) if place.is_same(&before.value, &seen.value) => before,
            Ok(Some(now)) => return (Some(now.value.clone()), Err(moved(seen, &now))),
            Ok(None) => return (None, Err("it is gone".to_string())),
            Err(error) => return (None, Err(error.why())),
        };
        let settles_to = place.settles_to(&change.wanted);
        let was = before.value.clone();
        let seq = self.open.story.changes.len();
        let begun = begin(self.host, seq, row, change, before.clone()).and_then(|begin| {
            self.open.append(Entry::Begin(begin)).map_err(|error| error.to_string())
        });
        if let Err(why) = begun {
            return (Some(was), Err(why));
        }
        if let Err(error) = place.write(self.host, &change.wanted, &before) {
            return (Some(was), Err(error.why()));
        }
        let seen = match place.read_back(self.host) {
            Ok(Some(seen)) => seen,
            Ok(None) => return (None, Err("it is gone since it was written".to_string())),
            Err(error) => return (None, Err(error.why())),
        };
        let now = Some(seen.value.clone());
        let is_meant = place.is_same(&seen.value, &settles_to);
        if let Err(error) = self.open.append(Entry::Written { seq, seen: seen.clone() }) {
            return (now, Err(error.to_string()));
        }
        if !is_meant {
            let why = format!("it reads back as '{}', not as '{settles_to}'", seen.value);
            return (now, Err(why));
        }
        (now, Ok(format!("was {}", shown(&was))))
    }

    /// Whether the values are still as written, and whether the changes work beyond their values.
    /// All changes are made by now.
    fn judge(&mut self, todo: &[Todo<'_>]) -> Result<(), String> {
        let mut failed = Vec::new();
        for (todo, recorded) in todo.iter().zip(&self.open.story.changes) {
            let row = &mut self.rows[todo.index];
            if let Some((now, why)) = lost(self.host, recorded) {
                (row.now, row.fate, row.note) = (now, Fate::Failed, why.clone());
                (self.tell)(row);
                failed.push(format!("{}: {why}", row.place));
                continue;
            }
            match effect(self.host, &recorded.begin) {
                None => {}
                Some(Effect::Seen(what) | Effect::NotYet(what)) => {
                    row.note = format!("{}; {what}", row.note);
                }
                Some(Effect::Missing(why)) => {
                    (row.fate, row.note) = (Fate::Failed, why.clone());
                    (self.tell)(row);
                    failed.push(format!("{}: {why}", row.place));
                }
            }
        }
        if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
    }
}

/// What a place has in place of the value that was written and read back, and why that matters;
/// nothing when the value stands.
fn lost(host: &Host, recorded: &Recorded) -> Option<(Option<String>, String)> {
    let later = "a later change of this plan or another program did that; apply one at a time, \
                 with --only";
    match recorded.begin.place.read_back(host) {
        Ok(Some(now)) if recorded.is_ours(&now) => None,
        Ok(Some(now)) => {
            let why = format!("it was written and is '{}' now: {later}", now.value);
            Some((Some(now.value), why))
        }
        Ok(None) => Some((None, format!("it was written and is gone now: {later}"))),
        Err(error) => Some((None, error.why())),
    }
}

/// Only the value from before this transaction may be put back; a value that changed since the
/// first look is not that value.
fn moved(seen: &Seen, now: &Seen) -> String {
    format!(
        "it was '{}' at the first look and is '{}' now: another program set it, or an \
         earlier change of this plan moved it; in that case apply one at a time, with --only",
        seen.value, now.value
    )
}

/// The announcement of a change. A device or a control group that cannot be looked up could not be
/// told from another one of its name when the change is put back, so that is an error.
fn begin(
    host: &Host,
    seq: usize,
    row: &Row,
    change: &Change,
    before: Seen,
) -> Result<Begin, String> {
    let index = |name: &str| {
        link::index(&host.root, name).map_err(|why| format!("{name} is not known: {why}"))
    };
    let device_index = change.place.device().map(index).transpose()?.flatten();
    let inode = |folder: &Path| {
        group::inode(host, folder)
            .map_err(|why| format!("{} is not known: {why}", folder.display()))
    };
    let group_inode = change.place.group_of_file().map(inode).transpose()?.flatten();
    Ok(Begin {
        seq,
        knob: row.knob.clone(),
        name: row.name.clone(),
        scope: row.scope,
        takes_effect: row.takes_effect,
        is_disruptive: row.is_disruptive,
        risk: row.risk.clone(),
        place: change.place.clone(),
        settles_to: change.place.settles_to(&change.wanted),
        wanted: change.wanted.clone(),
        before,
        sign: sign_of(&row.knob).and_then(|sign| (sign.read)(host, &change.place)),
        device_index,
        group_inode,
        at_boot_ms: Some(clock::boot_ms()),
    })
}

fn sign_of(knob: &str) -> Option<Sign> {
    match find(knob)?.act {
        Act::Settable { sign, .. } => sign,
        Act::Advice { .. } => None,
    }
}

/// What the sign of a change shows now. Nothing when its knob has no sign, or the sign could not be
/// read.
pub(crate) fn effect(host: &Host, begin: &Begin) -> Option<Effect> {
    let sign = sign_of(&begin.knob)?;
    let before = begin.sign.as_ref()?;
    let now = (sign.read)(host, &begin.place)?;
    Some((sign.judge)(before, &now, &begin.wanted))
}

/// Places of a plan, for a caller that lists the touched files.
pub fn places(planned: &[Planned]) -> impl Iterator<Item = &Place> {
    planned.iter().filter_map(|planned| Some(&planned.change.as_ref()?.place))
}
