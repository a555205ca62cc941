//! Knobs of another host, over the line of its probe.
//!
//! The probe's host does there what `ceiling tune` does here: the same journal, the same watchdog,
//! the same way back. Predictions are made here, where the run is.

use super::changes::which;
use super::{changes, watch, wish};
use crate::exit::Failure;
use crate::far::ProbeOptions;
use model::reading::Reading;
use model::tuning::{Answer, Order, Row, Signals, Wanted};
use remote::{Call, Tuner};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;
use tune::{Disruption, Journal, Options, TuneError};

/// Carries out orders on the probe's own host, one at a time.
#[derive(Debug)]
pub struct Hands {
    journal: PathBuf,
    /// Whose knobs are meant when an order does not say.
    server_pid: Option<u32>,
    one_at_a_time: Mutex<()>,
}

impl Hands {
    /// With the journal in this folder; fails when none can be kept there.
    pub fn new(journal: &changes::JournalOption, server_pid: Option<u32>) -> Result<Self, Failure> {
        let folder = journal.open()?.folder().to_path_buf();
        Ok(Self { journal: folder, server_pid, one_at_a_time: Mutex::new(()) })
    }

    fn try_carry_out(&self, order: &Order) -> Result<Answer, String> {
        let journal = Journal::open(&self.journal).map_err(|error| error.to_string())?;
        let look = |wanted: &Wanted| {
            let server_pid = wanted.server_pid.or(self.server_pid);
            wish::resolve(&Wanted { server_pid, ..wanted.clone() })
        };
        let host = || look(&Wanted::default()).map(|(host, _)| host);
        let mut silent = |_: &Row| {};
        match order {
            Order::Plan { wanted } => {
                let (host, wish) = look(wanted)?;
                let planned = tune::plan(&host, &wish, None);
                let rows = planned.into_iter().map(|planned| planned.row).collect();
                Ok(Answer { rows, ..Answer::default() })
            }
            Order::Apply { wanted, disruptive, deadline_ns } => {
                let (host, wish) = look(wanted)?;
                let planned = tune::plan(&host, &wish, None);
                let start = |transaction: &str| watch::start(transaction, &self.journal);
                let options = Options {
                    disruption: if *disruptive { Disruption::Allowed } else { Disruption::Refused },
                    deadline: deadline_ns.map(Duration::from_nanos),
                    watch: Some(&start),
                    note: "ordered over the line of the probe",
                    ..Options::default()
                };
                Ok(answer(tune::apply(&host, &journal, &planned, &options, &mut silent)))
            }
            Order::Status => {
                let rows = tune::status(&host()?, &journal).map_err(|error| error.to_string())?;
                Ok(Answer { rows, ..Answer::default() })
            }
            Order::Revert { transaction } => {
                let which = which(transaction.as_ref());
                let rows = tune::revert(&host()?, &journal, &which, &mut silent);
                Ok(Answer { rows: rows.map_err(|error| error.to_string())?, ..Answer::default() })
            }
            Order::Keep { transaction } => {
                let kept = tune::keep(&host()?, &journal, &which(transaction.as_ref()));
                let kept = kept.map_err(|error| error.to_string())?;
                let transaction = (!kept.is_empty()).then(|| kept.join(", "));
                Ok(Answer { transaction, ..Answer::default() })
            }
        }
    }
}

fn answer(done: Result<tune::Applied, TuneError>) -> Answer {
    match done {
        Ok(applied) => {
            Answer { transaction: Some(applied.transaction), rows: applied.rows, error: None }
        }
        Err(error) => {
            let why = Some(error.to_string());
            match error {
                TuneError::RolledBack { transaction, rows, .. } => {
                    Answer { transaction: Some(transaction), rows, error: why }
                }
                TuneError::Refused { rows } => Answer { transaction: None, rows, error: why },
                _ => Answer { error: why, ..Answer::default() },
            }
        }
    }
}

impl Tuner for Hands {
    fn carry_out(&self, order: &Order) -> Answer {
        // A panic while an order was carried out left the journal as it is: on disk.
        let _one = self.one_at_a_time.lock().unwrap_or_else(|broken| broken.into_inner());
        let done = self.try_carry_out(order);
        done.unwrap_or_else(|why| Answer { error: Some(why), ..Answer::default() })
    }

    fn look(&self) -> Option<Reading> {
        lab::drift::look_now(&Journal::open(&self.journal).ok()?)
    }
}

/// Gives an order to the host of a probe, when one is named.
pub fn order(probe: &ProbeOptions, order: Order) -> Result<Option<Answer>, Failure> {
    let Some(choice) = probe.choice()? else { return Ok(None) };
    let call = Call {
        address: choice.address,
        token_file: PathBuf::from(choice.token_file),
        pin: choice.pin,
        ip: None,
        port: None,
        period_ns: 1_000_000_000,
        ends_after_ns: None,
    };
    remote::order(&call, order).map(Some).map_err(Failure::Far)
}

/// Rows of a far plan, with what a run here says of them.
pub fn predicted(mut rows: Vec<Row>, signals: Option<&Signals>) -> Vec<Row> {
    for row in &mut rows {
        let knob = tune::find(&row.knob);
        row.prediction = knob.zip(signals).map(|(knob, signals)| (knob.predict)(signals));
    }
    rows
}

/// The answer, unless the far host says that it could not.
pub fn all_well(answer: Answer) -> Result<Answer, Failure> {
    match answer.error {
        None => Ok(answer),
        Some(why) => Err(Failure::Usage(format!("the probe's host: {why}"))),
    }
}
