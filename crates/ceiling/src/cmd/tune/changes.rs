//! `ceiling tune apply`, `status`, `revert` and `keep`.

use super::journal::JournalOption;
use super::wish::Deadline;
use super::wish::WishOptions;
use super::{far, print};
use crate::exit::{Code, Failure};
use crate::screen::{style, to_stdout};
use crate::signals::patient_flag;
use clap::Args;
use lab::ThisHost;
use model::root::Root;
use model::tuning::{Fate, Row, TuneOrder, TuneOutcome};
use plan::Colour;
use plan::ProbeOptions;
use plan::values::{Note, Transaction};
use report::sections::tuning;
use report::text::draw;
use serde_json::json;
use stage::orders::{start_watchdog, which};
use std::time::Duration;
use tune::{Applied, ApplyOptions, DEADLINE, Disruption, Host, Journal, TuneError};

/// Makes every change that the plan with the same options proposes, or none: if one fails, or on
/// Ctrl-C, the earlier changes are put back in reverse order. Nothing is made permanent.
///
/// Changes that can cut connections are left out unless --allow-disruptive is given. Then a
/// watchdog process puts everything back at the deadline unless `ceiling tune keep` is run in time,
/// even if this terminal or the whole network is lost.
///
/// Exit codes: 0 good; 1 failed, and everything is as it was before; 2 usage (not root, or no such
/// knob); 3 failed, and something could not be put back.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ceiling tune apply --only rps,rfs --device eth0
  ceiling tune apply --profile throughput --allow-disruptive --deadline 30s")]
pub struct Apply {
    #[command(flatten)]
    wish: WishOptions,

    /// Also make changes that can cut connections, under a watchdog
    #[arg(long)]
    allow_disruptive: bool,

    /// Put everything back after this time, up to 60s, unless it is kept [default: 30s with a
    /// change that can cut connections, else never]
    #[arg(long, value_name = "T")]
    deadline: Option<Deadline>,

    /// Why the changes are made; kept in the journal
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    note: Note,

    #[command(flatten)]
    journal: JournalOption,

    #[command(flatten)]
    probe: ProbeOptions,

    /// Print one JSON document instead of lines
    #[arg(long)]
    json: bool,
}

/// Reads every value that ceiling changed and did not put back. Changes nothing.
///
/// Exit codes: 0 good, also when nothing is changed; 2 usage; 3 something is no longer what was
/// written, or its deadline has passed.
#[derive(Debug, Args)]
pub struct Status {
    #[command(flatten)]
    journal: JournalOption,

    #[command(flatten)]
    probe: ProbeOptions,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    colour: Colour,
}

/// Puts values back, the newest first, each only if it is still what ceiling wrote: a value that
/// something else has changed since is reported and left alone. Also works after a crash or a
/// reboot.
///
/// Exit codes: 0 everything is as it was before; 1 internal; 2 usage; 3 something was left.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ceiling tune revert
  ceiling tune revert --transaction 17")]
pub struct Revert {
    /// Only this transaction
    #[arg(long, value_name = "N")]
    transaction: Option<Transaction>,

    #[command(flatten)]
    journal: JournalOption,

    #[command(flatten)]
    probe: ProbeOptions,

    /// Print one JSON document instead of lines
    #[arg(long)]
    json: bool,
}

/// Stops the watchdog of a transaction: its changes stay until `ceiling tune revert`.
///
/// Exit codes: 0 good; 1 it is too late; 2 usage.
#[derive(Debug, Args)]
pub struct Keep {
    /// Only this transaction [default: all that have a deadline]
    #[arg(long, value_name = "N")]
    transaction: Option<Transaction>,

    #[command(flatten)]
    journal: JournalOption,

    #[command(flatten)]
    probe: ProbeOptions,
}

pub fn apply(command: &Apply) -> Result<Code, Failure> {
    // Set before anything is read: from here on, a signal leads to an orderly end.
    let stop = patient_flag()?;
    let order = TuneOrder::Apply {
        wanted: command.wish.wanted(),
        disruptive: command.allow_disruptive,
        deadline_ns: command.deadline.as_ref().map(|left| left.as_nanos() as u64),
    };
    if let Some(response) = far::order(&command.probe, order)? {
        return far_apply(command, response);
    }
    let (host, wish) = command.wish.resolve()?;
    let journal = command.journal.open()?;
    let planned = tune::plan(&host, &wish, None);
    let allowed = command.allow_disruptive;
    let start = |transaction: &str| start_watchdog(transaction, journal.folder());
    let options = ApplyOptions {
        disruption: if allowed { Disruption::Allowed } else { Disruption::Refused },
        deadline: command.deadline.as_ref().map(|left| left.0),
        watch: Some(&start),
        stop: Some(&stop),
        note: &command.note,
    };
    let mut tell = teller(command.json);
    let done = tune::apply(&host, &journal, &planned, &options, &mut tell);
    if command.json {
        print_outcome(&done)?;
    }
    match done {
        Ok(applied) => finish(command, &journal, &applied),
        Err(error) => {
            if let (TuneError::Refused { rows }, false) = (&error, command.json) {
                rows.iter().filter(|row| row.fate != Fate::Proposed).for_each(tell);
            }
            Err(error.into())
        }
    }
}

/// Prints a line for each row as it happens; nothing if a document is printed at the end.
fn teller(is_silent: bool) -> impl FnMut(&Row) {
    move |row: &Row| {
        if !is_silent {
            // A closed stdout must not stop the changes half-way.
            let _ = to_stdout(&format!("{}\n", tuning::line(row)));
        }
    }
}

fn print_outcome(done: &Result<Applied, TuneError>) -> Result<Code, Failure> {
    let (transaction, rows, error) = match done {
        Ok(Applied { transaction, rows }) => (Some(transaction), rows, None),
        Err(error @ TuneError::RolledBack { transaction, rows, .. }) => {
            (Some(transaction), rows, Some(error.to_string()))
        }
        Err(error @ TuneError::Refused { rows }) => (None, rows, Some(error.to_string())),
        Err(_) => return Ok(Code::Good),
    };
    print(&json!({
        "schema": "ceiling.tune/1", "transaction": transaction, "rows": rows, "error": error,
    }))
}

fn finish(command: &Apply, journal: &Journal, applied: &Applied) -> Result<Code, Failure> {
    let rows = &applied.rows;
    let of = |fate: Fate| rows.iter().filter(move |row| row.fate == fate);
    let (made, id) = (of(Fate::Applied).count(), &applied.transaction);
    let all_refused = !rows.is_empty() && of(Fate::Refused).count() == rows.len();
    if !command.json {
        of(Fate::Refused).for_each(teller(false));
        to_stdout(&match made {
            0 => "nothing to change\n".to_string(),
            made => summary(command, &journal.folder().display().to_string(), made, id, rows),
        })?;
    }
    Ok(if all_refused { Code::Usage } else { Code::Good })
}

/// Reports the outcome of an apply on a probe's host.
fn far_apply(command: &Apply, response: TuneOutcome) -> Result<Code, Failure> {
    if command.json {
        print(&json!({
            "schema": "ceiling.tune/1", "transaction": response.transaction, "rows": response.rows,
            "error": response.error, "left": response.left,
        }))?;
    } else {
        response.rows.iter().for_each(teller(false));
    }
    if let Some(failure) = far::failure(&response) {
        return Err(failure);
    }
    let TuneOutcome { transaction, rows, .. } = response;
    let made = rows.iter().filter(|row| row.fate == Fate::Applied).count();
    if made == 0 {
        to_stdout(if command.json { "" } else { "nothing to change\n" })?;
        let all_refused = !rows.is_empty() && rows.iter().all(|row| row.fate == Fate::Refused);
        return Ok(if all_refused { Code::Usage } else { Code::Good });
    }
    if !command.json {
        let id = transaction.unwrap_or_default();
        to_stdout(&summary(command, "the probe's host", made, &id, &rows))?;
    }
    Ok(Code::Good)
}

/// What was changed, its visible effects, and how to put it back.
fn summary(command: &Apply, journal: &str, made: usize, id: &str, rows: &[Row]) -> String {
    let mut effects: Vec<String> = Vec::new();
    for row in rows.iter().filter(|row| row.fate == Fate::Applied) {
        let Some((_, effect)) = row.note.split_once("; ") else { continue };
        let effect = format!("  effect of {} {}: {effect}\n", row.knob, row.name);
        if !effects.contains(&effect) {
            effects.push(effect);
        }
    }
    let is_watched = rows.iter().any(|row| row.fate == Fate::Applied && row.is_disruptive);
    let left = command.deadline.as_ref().map(|left| left.0).or(is_watched.then_some(DEADLINE));
    let watched = left.map(|left| {
        format!(
            "put back in {} s unless you run: ceiling tune keep --transaction {id}\n",
            left.as_secs()
        )
    });
    let hint = if command.probe.choice(&ThisHost).is_ok_and(|far| far.is_none()) {
        command.journal.hint()
    } else {
        String::new()
    };
    format!(
        "{}transaction {id}: {made} changed, journal in {journal}\nto put it back: ceiling tune \
         revert --transaction {id}\n{}{hint}",
        effects.concat(),
        watched.unwrap_or_default()
    )
}

pub fn status(command: &Status) -> Result<Code, Failure> {
    if let Some(response) = far::order(&command.probe, TuneOrder::Status { transaction: None })? {
        return far_status(command, far::all_well(response)?);
    }
    let host = Host::look(Root::default());
    let standing = tune::standing(&host, &command.journal.open()?)?;
    let is_overdue = standing.iter().any(|one| one.left_ms == Some(0));
    let is_off = |row: &Row| matches!(row.fate, Fate::Drifted | Fate::Gone | Fate::Failed);
    let has_drifted = standing.iter().any(|one| one.rows.iter().any(is_off));
    if command.json {
        print(&json!({ "schema": "ceiling.tune/1", "transactions": standing }))?;
    } else {
        let shown = standing.into_iter().map(|one| (heading(&one), one.rows)).collect::<Vec<_>>();
        to_stdout(&draw(&tuning::standing(&shown), style(&command.colour)))?;
    }
    Ok(if has_drifted || is_overdue { Code::Unmet } else { Code::Good })
}

fn far_status(command: &Status, response: TuneOutcome) -> Result<Code, Failure> {
    let TuneOutcome { rows, is_overdue, .. } = response;
    let is_off = |row: &Row| matches!(row.fate, Fate::Drifted | Fate::Gone | Fate::Failed);
    let code = if is_overdue || rows.iter().any(is_off) { Code::Unmet } else { Code::Good };
    if command.json {
        print(&json!({ "schema": "ceiling.tune/1", "rows": rows, "is_overdue": is_overdue }))?;
        return Ok(code);
    }
    let heading = if is_overdue { "The probe's host, OVERDUE" } else { "The probe's host" };
    let shown = if rows.is_empty() { vec![] } else { vec![(heading.into(), rows)] };
    to_stdout(&draw(&tuning::standing(&shown), style(&command.colour)))?;
    Ok(code)
}

fn heading(one: &tune::InForce) -> String {
    let at = jiff::Timestamp::from_millisecond(one.at_unix_ms as i64).unwrap_or_default();
    let left = match one.left() {
        None => String::new(),
        Some(Duration::ZERO) => {
            ", OVERDUE: its watchdog is gone; ceiling tune revert puts it back".to_string()
        }
        Some(left) => format!(", put back in {} s unless it is kept", left.as_secs()),
    };
    let note = if one.note.is_empty() { String::new() } else { format!(" ({})", one.note) };
    format!("Transaction {}{note}, {}{left}", one.transaction, at.strftime("%Y-%m-%d %H:%M:%SZ"))
}

pub fn revert(command: &Revert) -> Result<Code, Failure> {
    // Reverting is short, and a signal must not stop it half-way.
    let _patient = patient_flag()?;
    let mut tell = teller(command.json);
    let order =
        TuneOrder::Revert { transaction: command.transaction.as_ref().map(|id| id.0.clone()) };
    let rows = match far::order(&command.probe, order)? {
        Some(response) => {
            response.rows.iter().for_each(&mut tell);
            far::all_well(response)?.rows
        }
        None => {
            let host = Host::look(Root::default());
            let journal = command.journal.open()?;
            let which = which(command.transaction.as_ref().map(|id| id.as_str()));
            tune::revert(&host, &journal, &which, &mut tell)?
        }
    };
    let is_left = |row: &&Row| !matches!(row.fate, Fate::Reverted | Fate::Gone);
    let left = rows.iter().filter(is_left).count();
    if command.json {
        print(&json!({ "schema": "ceiling.tune/1", "rows": rows, "left": left }))?;
    } else {
        to_stdout(&match (rows.len(), left) {
            (0, _) => "nothing to put back\n".to_string(),
            (all, 0) => format!("{all} put back; no change of ceiling is left\n"),
            (all, left) => format!("{} put back, {left} left: see above\n", all - left),
        })?;
    }
    Ok(if left > 0 { Code::Unmet } else { Code::Good })
}

pub fn keep(command: &Keep) -> Result<Code, Failure> {
    let order =
        TuneOrder::Keep { transaction: command.transaction.as_ref().map(|id| id.0.clone()) };
    let kept = match far::order(&command.probe, order)? {
        Some(response) => far::all_well(response)?.transaction.into_iter().collect(),
        None => {
            let host = Host::look(Root::default());
            let journal = command.journal.open()?;
            tune::keep(&host, &journal, &which(command.transaction.as_ref().map(|id| id.as_str())))?
        }
    };
    to_stdout(&match &kept[..] {
        [] => "no transaction has a deadline\n".to_string(),
        kept => format!("kept: {}; ceiling tune revert still puts it back\n", kept.join(", ")),
    })?;
    Ok(Code::Good)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::tuning::{Scope, TakesEffect};
    use stage::orders::response;

    /// A value that cannot be put back on a probe's host leads to exit code 3, as on this host.
    #[test]
    fn what_fails_on_a_far_host_ends_as_it_does_here() {
        let row = |fate| Row {
            knob: String::new(),
            name: String::new(),
            place: "/x".to_string(),
            scope: Scope::Host,
            takes_effect: TakesEffect::Now,
            is_disruptive: false,
            now: None,
            wanted: None,
            fate,
            note: String::new(),
            risk: String::new(),
            prediction: None,
        };
        for (fate, left) in [
            (Fate::Failed, 1),
            (Fate::Refused, 1),
            (Fate::Drifted, 1),
            (Fate::Failed, 0),
            (Fate::Reverted, 0),
        ] {
            let error = || TuneError::RolledBack {
                transaction: "7".to_string(),
                rows: vec![row(fate)],
                why: "it failed".to_string(),
                left,
                moved: 0,
            };
            let here = Failure::from(error()).code();
            let far = far::failure(&response(Err(error()))).map(|failure| failure.code());
            assert_eq!(here, if left > 0 { Code::Unmet } else { Code::Internal });
            assert_eq!(far, Some(here), "{fate:?}, {left} left");
        }
        let rolled_back = |moved| TuneError::RolledBack {
            transaction: "7".to_string(),
            rows: vec![row(Fate::Failed)],
            why: "it failed".to_string(),
            left: 0,
            moved,
        };
        let busy = || TuneError::Busy { path: "/lock".into() };
        let stays = |fate| TuneError::EntryStays { rows: vec![row(fate)], error: Box::new(busy()) };
        let one = || "7".to_string();
        let cases: [(&dyn Fn() -> TuneError, Code); 8] = [
            (&|| rolled_back(1), Code::Unmet),
            (&|| stays(Fate::Reverted), Code::Internal),
            (&|| stays(Fate::Drifted), Code::Unmet),
            (&|| TuneError::Refused { rows: vec![row(Fate::Refused)] }, Code::Internal),
            (&busy, Code::Internal),
            (&|| TuneError::TooLate { transaction: one(), why: String::new() }, Code::Internal),
            (&|| TuneError::Unknown { transaction: one() }, Code::Usage),
            (&|| TuneError::NotRoot, Code::Usage),
        ];
        for (error, code) in cases {
            let far = far::failure(&response(Err(error()))).map(|failure| failure.code());
            assert_eq!(Failure::from(error()).code(), code, "here: {}", error());
            assert_eq!(far, Some(code), "far: {}", error());
        }
        assert!(far::failure(&TuneOutcome::default()).is_none());
        let wrong = TuneOutcome { error: Some("no such device".into()), ..TuneOutcome::default() };
        assert_eq!(far::failure(&wrong).map(|failure| failure.code()), Some(Code::Usage));
    }

    #[test]
    fn deadlines_are_short() {
        assert_eq!("30s".parse::<Deadline>().unwrap().0, Duration::from_secs(30));
        for wrong in ["61s", "0", "500ms", "soon"] {
            assert!(wrong.parse::<Deadline>().is_err(), "{wrong}");
        }
    }
}
