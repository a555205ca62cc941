//! The forms and their fit by least squares of logarithms.
//!
//! Every form is a scale times a function of the requests in flight. In log space the scale is a
//! mean, so only the other parameters need a search: none for a line, the knee for a hard cap, s
//! and k for USL. The search walks the logarithms of the parameters, within bounds.

use model::ramp_fit::{REACH, ShapeKind};

/// A level as it is fitted.
#[derive(Debug, Clone, Copy)]
pub struct FitLevel {
    /// Requests in flight.
    pub in_flight: f64,
    /// Rate, per second.
    pub rate: f64,
    /// Standard error of the rate, as a share.
    pub error: f64,
}

/// How sharply a hard cap bends. The best value is picked and not counted as a parameter: a queue
/// in front of one station bends softly, a limiter sharply.
const SHARPNESS: [f64; 3] = [2.0, 4.0, 16.0];
/// After a cliff the rate is at most this share of the rate before it.
const LOSS: f64 = 0.8;
/// Bounds of s and of k of USL.
const SERIAL: (f64, f64) = (1e-7, 1.0);
const CROSSTALK: (f64, f64) = (1e-12, 1.0);

/// A form without its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Form {
    /// A straight line.
    Linear,
    /// A line that bends to a constant.
    HardCap { sharpness: f64 },
    /// The universal scalability law.
    Usl,
    /// One of the first two, and from some level on another constant.
    Cliff { at: usize, sharpness: Option<f64> },
}

impl Form {
    /// All variants of a kind for this many levels.
    pub fn variants(kind: ShapeKind, levels: usize) -> Vec<Self> {
        let bends = SHARPNESS.map(Some).into_iter().chain([None]);
        match kind {
            ShapeKind::Linear => vec![Self::Linear],
            ShapeKind::HardCap => SHARPNESS.map(|sharpness| Self::HardCap { sharpness }).to_vec(),
            ShapeKind::Usl => vec![Self::Usl],
            ShapeKind::Cliff => bends
                .flat_map(|sharpness| (2..levels).map(move |at| Self::Cliff { at, sharpness }))
                .collect(),
        }
    }

    /// The kind a variant belongs to.
    pub fn kind(self) -> ShapeKind {
        match self {
            Self::Linear => ShapeKind::Linear,
            Self::HardCap { .. } => ShapeKind::HardCap,
            Self::Usl => ShapeKind::Usl,
            Self::Cliff { .. } => ShapeKind::Cliff,
        }
    }

    /// Number of parameters, the scale included. The place of a cliff and its depth are two.
    pub fn parameters(self) -> usize {
        match self {
            Self::Linear => 1,
            Self::HardCap { .. } => 2,
            Self::Usl | Self::Cliff { sharpness: None, .. } => 3,
            Self::Cliff { sharpness: Some(_), .. } => 4,
        }
    }

    /// Index of the first level after the loss.
    pub fn breaks_at(self) -> Option<usize> {
        if let Self::Cliff { at, .. } = self { Some(at) } else { None }
    }

    fn sharpness(self) -> Option<f64> {
        match self {
            Self::HardCap { sharpness } => Some(sharpness),
            Self::Cliff { sharpness, .. } => sharpness,
            Self::Linear | Self::Usl => None,
        }
    }

    /// Logarithm of the rate without its scale.
    fn curve(self, in_flight: f64, found: &[f64]) -> f64 {
        let bend = match (self, self.sharpness()) {
            (Self::Usl, _) => {
                let (serial, crosstalk) = (found[0].exp(), found[1].exp());
                let others = in_flight - 1.0;
                (1.0 + serial * others + crosstalk * in_flight * others).max(1e-9).ln()
            }
            (_, Some(sharpness)) => {
                (sharpness * (in_flight.ln() - found[0])).exp().ln_1p() / sharpness
            }
            (_, None) => 0.0,
        };
        in_flight.ln() - bend
    }

    /// Bounds of the logarithms that are searched.
    fn bounds(self, levels: &[FitLevel]) -> Vec<(f64, f64)> {
        let (least, most) = ends(levels);
        let knee = ((least / 4.0).ln(), (REACH * most).ln());
        match self {
            Self::Usl => [SERIAL, CROSSTALK].map(|(low, high)| (low.ln(), high.ln())).to_vec(),
            _ if self.sharpness().is_some() => vec![knee],
            _ => Vec::new(),
        }
    }

    /// Where the search starts: the knee at the lowest, a middle and the highest level.
    fn starts(self, levels: &[FitLevel]) -> Vec<Vec<f64>> {
        let (least, most) = ends(levels);
        let knees = [least, (least * most).sqrt(), most];
        match self {
            Self::Usl => knees
                .iter()
                .flat_map(|knee| [0.01f64, 1.0].map(|part| (knee, part)))
                .map(|(knee, part)| vec![-knee.ln(), part.ln() - 2.0 * knee.ln()])
                .collect(),
            _ if self.sharpness().is_some() => knees.map(|knee| vec![knee.ln()]).to_vec(),
            _ => vec![Vec::new()],
        }
    }
}

fn ends(levels: &[FitLevel]) -> (f64, f64) {
    let at = |level: Option<&FitLevel>| level.map_or(1.0, |level| level.in_flight);
    (at(levels.first()), at(levels.last()))
}

/// Root mean square of the levels' errors, as a share.
pub fn error(levels: &[FitLevel]) -> f64 {
    let squares: f64 = levels.iter().map(|level| level.error * level.error).sum();
    (squares / levels.len().max(1) as f64).sqrt()
}

/// A form with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The form.
    pub form: Form,
    /// Logarithms of the searched parameters.
    found: Vec<f64>,
    /// Logarithm of the scale.
    scale: f64,
    /// Logarithm of the rate after a cliff.
    after: Option<f64>,
}

impl Fit {
    /// The best parameters, searched from `near` or from everywhere; none if the form does not
    /// apply, such as a cliff without a loss.
    pub fn of(form: Form, levels: &[FitLevel], near: Option<&Self>) -> Option<Self> {
        let bounds = form.bounds(levels);
        let starts = near.map_or_else(|| form.starts(levels), |near| vec![near.found.clone()]);
        let badness = |found: &[f64]| Self::scaled(form, levels, found.to_vec()).squares(levels);
        let descended = starts.into_iter().map(|start| descend(start, &bounds, badness));
        let (_, found) = descended.min_by(|left, right| left.0.total_cmp(&right.0))?;
        let fit = Self::scaled(form, levels, found);
        match form.breaks_at() {
            Some(at) if near.is_none() => {
                let before = &levels[at - 1];
                let fell = fit.after? <= fit.rate(at - 1, before.in_flight).ln() + LOSS.ln();
                let highest = levels[..at].iter().map(|level| level.rate).fold(0.0, f64::max);
                // A loss is from one level to the next; a fall that started earlier is not a cliff.
                (fell && before.rate >= 0.9 * highest).then_some(fit)
            }
            _ => Some(fit),
        }
    }

    /// The scale is the mean of the residuals, on each side of a cliff.
    fn scaled(form: Form, levels: &[FitLevel], found: Vec<f64>) -> Self {
        let at = form.breaks_at().unwrap_or(levels.len());
        let mean = |sum: f64, count: usize| sum / count.max(1) as f64;
        let left = |level: &FitLevel| level.rate.ln() - form.curve(level.in_flight, &found);
        let scale = mean(levels[..at].iter().map(left).sum(), at);
        let beyond = &levels[at..];
        let after = (!beyond.is_empty())
            .then(|| mean(beyond.iter().map(|level| level.rate.ln()).sum(), beyond.len()));
        Self { form, found, scale, after }
    }

    fn log_rate(&self, index: usize, in_flight: f64) -> f64 {
        match (self.form.breaks_at(), self.after) {
            (Some(at), Some(after)) if index >= at => after,
            _ => self.scale + self.form.curve(in_flight, &self.found),
        }
    }

    /// Rate of the curve at the level of this index.
    pub fn rate(&self, index: usize, in_flight: f64) -> f64 {
        self.log_rate(index, in_flight).exp()
    }

    /// Measured over fitted less 1, in log space.
    pub fn residuals(&self, levels: &[FitLevel]) -> Vec<f64> {
        let residual = |(index, level): (usize, &FitLevel)| {
            level.rate.ln() - self.log_rate(index, level.in_flight)
        };
        levels.iter().enumerate().map(residual).collect()
    }

    fn squares(&self, levels: &[FitLevel]) -> f64 {
        self.residuals(levels).iter().map(|residual| residual * residual).sum()
    }

    /// Root mean square of the residuals.
    pub fn rms(&self, levels: &[FitLevel]) -> f64 {
        (self.squares(levels) / levels.len().max(1) as f64).sqrt()
    }

    /// Duration of a request that meets no queue, seconds.
    pub fn unloaded_s(&self) -> f64 {
        (-self.scale).exp()
    }

    /// Requests in flight at the knee of a cap.
    pub fn knee(&self) -> Option<f64> {
        self.form.sharpness().map(|_| self.found[0].exp())
    }

    /// The cap, per second.
    pub fn cap(&self) -> Option<f64> {
        Some(self.knee()? / self.unloaded_s())
    }

    /// s and k of USL; at the lower bound they are zero.
    pub fn shares(&self) -> Option<(f64, f64)> {
        let share = |index: usize, low: f64| {
            let value = self.found[index].exp();
            if value > 2.0 * low { value } else { 0.0 }
        };
        (self.form == Form::Usl).then(|| (share(0, SERIAL.0), share(1, CROSSTALK.0)))
    }

    /// Requests in flight at which USL peaks: infinite if it never falls.
    pub fn peak(&self) -> Option<f64> {
        let (serial, crosstalk) = self.shares()?;
        Some(((1.0 - serial).max(0.0) / crosstalk).sqrt().max(1.0))
    }
}

/// The lowest place near a start: steps along each axis, halved when none goes down.
fn descend(
    start: Vec<f64>,
    bounds: &[(f64, f64)],
    badness: impl Fn(&[f64]) -> f64,
) -> (f64, Vec<f64>) {
    let mut here = start;
    for (value, (low, high)) in here.iter_mut().zip(bounds) {
        *value = value.clamp(*low, *high);
    }
    let mut lowest = badness(&here);
    let mut step = if here.is_empty() { 0.0 } else { 1.0 };
    while step > 1e-5 {
        let before = lowest;
        for axis in 0..here.len() {
            for direction in [-step, step] {
                let mut next = here.clone();
                next[axis] = (next[axis] + direction).clamp(bounds[axis].0, bounds[axis].1);
                let value = badness(&next);
                if value < lowest {
                    (lowest, here) = (value, next);
                }
            }
        }
        if lowest >= before {
            step /= 2.0;
        }
    }
    (lowest, here)
}
