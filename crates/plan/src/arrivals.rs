//! Options of an open loop: how many requests are due, and when.

use crate::machine::Machine;
use crate::usage::Usage;
use crate::values::{Count, FlowFile, Lines, OneRate, RecordingFile, Sine, Spike, Steps};
use clap::{Args, ValueEnum};
use model::curve::Curve;
use model::load::{Arrival, Spacing};
use model::rate_syntax;
use model::units::show_ns;

/// Longest window over which a wave is drawn, nanoseconds: 2000 hours.
const WAVES_MAX_NS: u64 = 7_200_000_000_000_000;

/// How due instants are spread, and what happens when requests wait.
#[derive(Debug, Args)]
pub struct Spread {
    /// Gaps between due requests in open loop [default: fixed; between users of a flow: poisson]
    #[arg(long, value_name = "SPREAD")]
    pub arrivals: Option<Arrivals>,

    /// Open a connection for a request that finds every one in use, up to this many
    #[arg(long, value_name = "N")]
    pub max_connections: Option<Count>,
}

/// Distributions of gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Arrivals {
    /// Equal gaps
    Fixed,
    /// Exponential gaps: a Poisson process
    Poisson,
    /// Between 0 and twice the mean
    Uniform,
}

impl Arrivals {
    /// The gaps in the words of the model.
    pub fn spacing(self) -> Spacing {
        match self {
            Self::Fixed => Spacing::Fixed,
            Self::Poisson => Spacing::Poisson,
            Self::Uniform => Spacing::Uniform,
        }
    }
}

impl Spread {
    /// Gaps between due requests, or between users of a flow: at equal gaps these would march in
    /// step.
    pub fn spacing(&self, flow: Option<&FlowFile>) -> Spacing {
        let usual = flow.map_or(Spacing::Fixed, |_| Spacing::Poisson);
        self.arrivals.map_or(usual, Arrivals::spacing)
    }

    /// Connections beyond `connections` that may be opened. Only an open loop has requests that
    /// wait for one.
    pub fn spare(&self, connections: u32, arrival: &Arrival) -> Result<u32, Usage> {
        if *arrival == Arrival::Closed && self.arrivals.is_some() {
            let text = "--arrivals: belongs to an open loop; for example -R 1k --arrivals poisson";
            return Err(Usage(text.to_string()));
        }
        let Some(Count(most)) = self.max_connections else { return Ok(0) };
        let usage = |text: String| Err(Usage(format!("--max-connections: {text}")));
        if *arrival == Arrival::Closed {
            return usage(
                "belongs to an open loop; for example -R 1k --max-connections 500".into(),
            );
        }
        if most < u64::from(connections) {
            return usage(format!(
                "{most} is less than the {connections} of --connections; for example \
                 --max-connections {}",
                u64::from(connections) * 4
            ));
        }
        Ok(most as u32 - connections)
    }
}

/// The rate of one level, constant or with a shape. At most one of these is given.
#[derive(Debug, Args)]
#[group(multiple = false, id = "asked")]
pub struct RateOptions {
    /// Open loop: requests per second, fractions allowed
    #[arg(short = 'R', long, value_name = "X")]
    rate: Option<OneRate>,

    /// Open loop in steps of one length: 1k,5k,2k/10s or 1k..10k+1k/10s
    #[arg(long, value_name = "RATES/T")]
    steps: Option<Steps>,

    /// Open loop in straight lines: 0:100k/30s,100k:100k/10s
    #[arg(long, value_name = "FROM:TO/T,..")]
    ramp: Option<Lines>,

    /// Open loop with a burst: 1k:20k/2s@5s
    #[arg(long, value_name = "BASE:PEAK/T@T")]
    spike: Option<Spike>,

    /// Open loop in waves: 1k:5k/10s has a period of ten seconds
    #[arg(long, value_name = "LOW:HIGH/T")]
    sine: Option<Sine>,

    /// Open loop as recorded: a CSV file with lines t,rate
    #[arg(long, value_name = "FILE")]
    replay: Option<RecordingFile>,
}

/// A shape of the rate, and its length when it has an end of its own.
pub struct Shaped {
    /// The shape; nothing for a closed loop.
    pub curve: Option<Curve>,
    /// Its length, nanoseconds.
    pub ends_after_ns: Option<u64>,
    /// The option it came from.
    pub option: &'static str,
}

impl RateOptions {
    /// The requested curve, over a window of `duration_ns`, or of a number of requests, where it
    /// has no end.
    pub fn shape(
        &self,
        duration_ns: u64,
        requests: Option<u64>,
        machine: &dyn Machine,
    ) -> Result<Shaped, Usage> {
        let usage = |option: &str, error: String| Usage(format!("{option}: {error}"));
        let endless = |curve, option| Shaped { curve: Some(curve), ends_after_ns: None, option };
        let ending = |curve: Curve, option| {
            let ends_after_ns = Some(curve.duration_ns());
            Shaped { curve: Some(curve), ends_after_ns, option }
        };
        if let Some(OneRate(rate)) = self.rate {
            return Ok(endless(Curve::constant(rate), "--rate"));
        }
        if let Some(Steps(curve)) = &self.steps {
            return Ok(ending(curve.clone(), "--steps"));
        }
        if let Some(Lines(curve)) = &self.ramp {
            return Ok(ending(curve.clone(), "--ramp"));
        }
        if let Some(Spike(curve)) = &self.spike {
            check_burst(curve, duration_ns, requests).map_err(|why| usage("--spike", why))?;
            return Ok(endless(curve.clone(), "--spike"));
        }
        if let Some(Sine(text)) = &self.sine {
            let curve = wave(text, duration_ns, requests).map_err(|why| usage("--sine", why))?;
            return Ok(endless(curve, "--sine"));
        }
        let Some(RecordingFile(path)) = &self.replay else {
            return Ok(Shaped { curve: None, ends_after_ns: None, option: "" });
        };
        let shown = path.display();
        let bytes = machine.read(&shown.to_string()).map_err(|why| usage("--replay", why))?;
        let text = String::from_utf8_lossy(&bytes);
        let curve = rate_syntax::parse_recording(&text)
            .map_err(|error| usage("--replay", format!("{shown}, {error}")))?;
        Ok(ending(curve, "--replay"))
    }
}

/// Refuses a burst beyond the window, and one after which a number of requests is never reached.
fn check_burst(curve: &Curve, duration_ns: u64, requests: Option<u64>) -> Result<(), String> {
    if requests.is_some() {
        let goes_on = curve.legs().last().is_some_and(|leg| leg.to > 0.0);
        return if goes_on {
            Ok(())
        } else {
            Err("no request is due after the burst, so --requests may never be reached; for \
                 example --spike 1:20k/2s@5s"
                .to_string())
        };
    }
    if curve.duration_ns() <= duration_ns {
        return Ok(());
    }
    let (ends, window) = (curve.duration_ns() as f64, duration_ns as f64);
    Err(format!(
        "the burst ends after {}, beyond the window of {}; for example -d 60s",
        show_ns(ends),
        show_ns(window)
    ))
}

/// A wave over the window. For a number of requests it is drawn until more than that many are due,
/// because arrivals at random may come later than planned.
fn wave(text: &str, duration_ns: u64, requests: Option<u64>) -> Result<Curve, String> {
    let due = requests.map_or(0.0, |count| 1.1 * count as f64 + 1000.0);
    let mut curve =
        rate_syntax::parse_sine(text, duration_ns).map_err(|error| error.to_string())?;
    let mut window_ns = duration_ns;
    while curve.planned_until(window_ns) < due {
        window_ns *= 2;
        let longer = rate_syntax::parse_sine(text, window_ns).ok();
        curve = longer.filter(|_| window_ns <= WAVES_MAX_NS).ok_or_else(|| {
            format!(
                "'{text}' has too many waves before all of --requests are due; give a longer \
                 period or a higher rate, or a time instead of --requests; for example -d 60s"
            )
        })?;
    }
    Ok(curve)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn users_come_at_random_and_requests_at_equal_gaps_unless_it_is_said() {
        let flow = FlowFile("shop.hurl".into());
        let spread = |arrivals| Spread { arrivals, max_connections: None };
        assert_eq!(spread(None).spacing(Some(&flow)), Spacing::Poisson);
        assert_eq!(spread(None).spacing(None), Spacing::Fixed);
        let uniform = Some(Arrivals::Uniform);
        assert_eq!(spread(uniform).spacing(Some(&flow)), Spacing::Uniform);
    }

    #[test]
    fn a_wave_lasts_until_all_requests_are_due() {
        let curve = wave("1k:5k/10s", 10 * S, Some(100_000)).unwrap();
        let at =
            |second: u64| curve.planned_until((second + 1) * S) - curve.planned_until(second * S);
        assert!((at(22) - at(2)).abs() < 1.0 && (at(27) - at(7)).abs() < 1.0);
        let refused = wave("1k:5k/10ms", 10 * S, Some(4_000_000_000)).unwrap_err();
        assert!(refused.contains("too many waves"), "{refused}");
        assert!(wave("1:2/1000h", 10 * S, Some(4_000_000_000)).is_err());
        assert!(wave("1k:5k/10s", 10 * S, None).is_ok());
    }

    #[test]
    fn a_burst_is_inside_the_window_and_does_not_end_the_load() {
        let burst = |text: &str, requests| {
            check_burst(&rate_syntax::parse_spike(text).unwrap(), 10 * S, requests)
        };
        assert_eq!(burst("0:1k/1s@1s", None), Ok(()));
        assert_eq!(burst("1:1k/1s@20s", Some(5000)), Ok(()), "the window has no such end");
        assert!(burst("1:1k/1s@20s", None).unwrap_err().contains("beyond the window"));
        assert!(burst("0:1k/1s@1s", Some(5000)).unwrap_err().contains("never be reached"));
    }
}
