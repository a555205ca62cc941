//! Options of an open loop: how many requests are due, and when.

use crate::machine::Machine;
use crate::usage::Usage;
use crate::values::{Count, Lines, OneRate, RecordingFile, Sine, Spike, Steps};
use clap::{Args, ValueEnum};
use model::curve::Curve;
use model::load::{Arrival, Spacing};
use model::rate_syntax;
use model::units::show_ns;

/// How due instants are spread, and what happens when requests wait.
#[derive(Debug, Args)]
pub struct Spread {
    /// Gaps between due requests in open loop [default: fixed]
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
    /// The same in the model's words.
    pub fn spacing(self) -> Spacing {
        match self {
            Self::Fixed => Spacing::Fixed,
            Self::Poisson => Spacing::Poisson,
            Self::Uniform => Spacing::Uniform,
        }
    }
}

impl Spread {
    /// Gaps between due requests.
    pub fn spacing(&self) -> Spacing {
        self.arrivals.map_or(Spacing::Fixed, Arrivals::spacing)
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
    /// The requested curve, over a window of `duration_ns` where it has no end.
    pub fn shape(&self, duration_ns: u64, machine: &dyn Machine) -> Result<Shaped, Usage> {
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
            if curve.duration_ns() > duration_ns {
                let (ends, window) = (curve.duration_ns() as f64, duration_ns as f64);
                let text = format!(
                    "the burst ends after {}, beyond the window of {}; for example -d 60s",
                    show_ns(ends),
                    show_ns(window)
                );
                return Err(usage("--spike", text));
            }
            return Ok(endless(curve.clone(), "--spike"));
        }
        if let Some(Sine(text)) = &self.sine {
            let curve = rate_syntax::parse_sine(text, duration_ns);
            let curve = curve.map_err(|e| usage("--sine", e.to_string()))?;
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
