//! The process that starts and ends one server for another process of ours, and outlives it.

use crate::exit::{Code, Failure};
use crate::signals::patient_flag;

pub fn run() -> Result<Code, Failure> {
    // Told to end, it ends the server in order first.
    let stop = patient_flag()?;
    lab::experiment::keeper::keep(&stop).map_err(Failure::File)?;
    Ok(Code::Good)
}
