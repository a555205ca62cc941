//! The keeper: starts one server for another process of ours, and ends the server when that process
//! ends.

use crate::exit::{Code, Failure};
use crate::signals::patient_flag;

pub fn run() -> Result<Code, Failure> {
    // On a signal it first ends the server in order.
    let stop = patient_flag()?;
    stage::keeper::keep(&stop).map_err(Failure::File)?;
    Ok(Code::Good)
}
