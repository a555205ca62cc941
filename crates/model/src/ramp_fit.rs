//! The curve of a ramp: how the rate follows the requests in flight, fitted to the visited levels.
//!
//! A fitted shape is evidence and never decides alone. A curve that fits well says nothing about
//! the side: a generator at its limit bends the curve in the same way as a server at its own.

use serde::{Deserialize, Serialize};

/// No extrapolation beyond this multiple of the most requests in flight that were tried.
pub const REACH: f64 = 2.0;

crate::named! {
    /// The forms that are fitted. N is the number of requests in flight, X the rate.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ShapeKind {
        /// X = N / R0: no wall yet.
        Linear = "linear",
        /// A smooth minimum of N / R0 and a constant: a resource with a constant demand.
        HardCap = "hard cap",
        /// X = l N / (1 + s (N - 1) + k N (N - 1)), the universal scalability law.
        Usl = "USL",
        /// It grows, and beyond a count it suddenly drops.
        Cliff = "cliff",
    }
    /// The shape as a noun.
    fn name;
}

/// A parameter with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Best value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// One form, fitted. Parameters the form does not have are absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedShape {
    /// The form.
    pub kind: ShapeKind,
    /// R0: time of a request that meets no queue, seconds.
    pub unloaded_s: Estimate,
    /// Most requests per second; hard cap and cliff with a cap.
    pub cap: Option<Estimate>,
    /// N* = cap x R0: requests in flight at which the two lines of a hard cap cross.
    pub knee_in_flight: Option<Estimate>,
    /// s of USL: share of the work that is serial.
    pub serial_share: Option<Estimate>,
    /// k of USL: cost of each pair of requests in flight; above 0 the rate eventually falls.
    pub crosstalk_share: Option<Estimate>,
    /// Requests in flight at which USL is highest; absent beyond the limit of extrapolation.
    pub peak_in_flight: Option<Estimate>,
    /// Cliff: the last level before the loss and the first after it, as the ends; requests in
    /// flight.
    pub breaks_at_in_flight: Option<Estimate>,
    /// Corrected Akaike criterion above that of the best form: 2 is a hint, 10 is clear.
    pub aicc_behind: f64,
    /// Largest residual as a share of the fitted rate, with its sign.
    pub residual_worst: f64,
    /// Root mean square of the residuals, as a share.
    pub residual_rms: f64,
    /// Whether the residuals are larger than the error of the levels explains: the form is wrong,
    /// or levels do not repeat.
    pub is_beyond_error: bool,
}

/// One level with the rate that the best form gives it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FittedLevel {
    /// Index of the point in the record.
    pub point: usize,
    /// Requests in flight, mean over the window.
    pub in_flight: f64,
    /// Measured rate, per second.
    pub rate: f64,
    /// Rate of the best form, per second; absent for levels that were left out of the fit.
    pub fitted: Option<f64>,
}

/// A level with more rate per request in flight than the lowest one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Superlinear {
    /// Requests in flight there.
    pub in_flight: f64,
    /// Rate per request in flight over the same at the lowest level; over 1.
    pub efficiency: f64,
}

/// What the visited levels of a closed-loop ramp look like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShapeFit {
    /// The form that explains the levels with fewest parameters; absent when none does.
    pub best: Option<ShapeKind>,
    /// Every form that could be fitted, best first.
    pub fits: Vec<FittedShape>,
    /// The levels in order of requests in flight.
    pub levels: Vec<FittedLevel>,
    /// Present when the rate per request in flight was higher at a higher level: the lowest levels
    /// are badly measured, or cost falls when work comes in batches. Levels below are left out of
    /// the fit.
    pub superlinear: Option<Superlinear>,
    /// What a reader should know about the fit, one sentence each.
    pub cautions: Vec<String>,
}

impl ShapeFit {
    /// A form, when it was fitted.
    pub fn of(&self, kind: ShapeKind) -> Option<&FittedShape> {
        self.fits.iter().find(|fit| fit.kind == kind)
    }
}
