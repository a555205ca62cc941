//! What an experiment needs from its caller, and what it reports.

use model::experiment::{CellResult, Ended, Fate};
use model::load::ProbeChoice;
use plan::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A server that is ready to be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// HOST:PORT.
    pub addr: String,
    /// Its process ID on its host, if it was started for the cell.
    pub pid: Option<u32>,
    /// The probe of its host, if that is another host.
    pub probe: Option<ProbeChoice>,
}

/// Measures one cell, by any means, and returns the outcome.
pub type Measure<'a> = dyn FnMut(&Cell, &Ready) -> Measured + 'a;

/// The outcome of a measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    /// Words of the command.
    pub command: Vec<String>,
    /// The run, or why there is none.
    pub fate: Fate,
}

/// Where the parts of an experiment are.
#[derive(Debug, Clone)]
pub struct Places {
    /// Where the commands of targets are run.
    pub root: PathBuf,
    /// Where logs of servers and folders of services go.
    pub scratch: PathBuf,
    /// Folder of the journal of changes on this host.
    pub journal: PathBuf,
    /// The probes of other hosts, by host name.
    pub probes: BTreeMap<String, ProbeChoice>,
}

/// Decides after each block, from what was measured so far, whether the experiment ends.
pub type Look<'a> = dyn FnMut(&[CellResult]) -> Option<Ended> + 'a;

/// How an experiment measures, reports progress, and ends.
pub struct Hooks<'a> {
    /// Measures a cell.
    pub measure: &'a mut Measure<'a>,
    /// Receives progress.
    pub tell: &'a mut dyn FnMut(Progress<'_>),
    /// Decides after each block whether to end.
    pub look: &'a mut Look<'a>,
}

/// Progress of an experiment, for the user.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// Something that takes a moment starts.
    Starting(&'a str),
    /// A visit starts: its number, from 0.
    Visit(usize),
    /// A cell has ended; then all cells as they are now, including those not reached.
    Ended(&'a CellResult, &'a [CellResult]),
}
