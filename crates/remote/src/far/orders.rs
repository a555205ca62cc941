//! Orders about the knobs of the probe's host.

use super::{Call, FarError, greet, of_end};
use crate::line::Line;
use crate::message::{FromProbe, Purpose, ToProbe};
use crate::printable::printable;
use crate::token;
use model::tuning::{Row, TuneOrder, TuneOutcome};
use std::time::{Duration, Instant};

/// Time limit of one read.
const TURN: Duration = Duration::from_millis(50);
/// How long an order may take: the probe checks effects, and devices restart.
const RESPONSE_WITHIN: Duration = Duration::from_secs(60);

/// Connects, gives one order, and waits for its outcome. When the connection breaks after the order
/// was sent, only the host's journal knows whether it was carried out.
pub fn order(call: &Call, order: TuneOrder) -> Result<TuneOutcome, FarError> {
    Orders::begin(call)?.give(order)
}

/// A session with a probe about the knobs of its host. It ends when dropped, or when no order is
/// given for a while.
pub struct Orders {
    line: Line,
    address: String,
    pin: String,
}

impl Orders {
    /// Connects.
    pub fn begin(call: &Call) -> Result<Self, FarError> {
        let token = token::read(&call.token_file)?;
        let (line, _) = greet(call, token, Purpose::Tune)?;
        Ok(Self { line, address: call.address.clone(), pin: call.pin.clone() })
    }

    /// Gives an order and waits for its outcome.
    pub fn give(&mut self, order: TuneOrder) -> Result<TuneOutcome, FarError> {
        self.line.send(&ToProbe::Tune(Box::new(order)));
        let begin = Instant::now();
        let address = self.address.clone();
        let silent = |why: String| FarError::Silent { address, why };
        while begin.elapsed() < RESPONSE_WITHIN {
            match self.line.next(TURN) {
                Ok(Some(FromProbe::Tuned(response))) => return Ok(shown(*response)),
                Ok(Some(FromProbe::Bye { why })) => return Err(silent(why.to_string())),
                Ok(_) => {}
                Err(end) => return Err(of_end(&self.address, &self.pin, end, None)),
            }
        }
        Err(silent(format!("no response within {} s", RESPONSE_WITHIN.as_secs())))
    }
}

/// A response with texts that are safe for a terminal.
fn shown(mut response: TuneOutcome) -> TuneOutcome {
    let safe = |text: &mut String| *text = printable(text);
    response.error.iter_mut().for_each(safe);
    response.transaction.iter_mut().for_each(safe);
    for row in &mut response.rows {
        let Row { knob, name, place, now, wanted, note, risk, prediction, .. } = row;
        [knob, name, place, note, risk].into_iter().for_each(safe);
        now.iter_mut().chain(wanted.iter_mut()).for_each(safe);
        for prediction in prediction.iter_mut() {
            safe(&mut prediction.arithmetic);
            safe(&mut prediction.reconsider);
        }
    }
    response
}
