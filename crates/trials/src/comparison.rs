//! Comparisons of cells that share their risk of a false difference.
//!
//! In: weighted sums over cells of the logarithm of a figure, block by block. Out: what may be
//! claimed of each. Never: a difference that what is known of a figure leaves open, or that the
//! host varies by itself.

use crate::contrast::{self, Contrast, PAIRS_MIN, Rules, conclude};
use crate::visited::{End, Logs};
use model::analysis::Floor;
use model::experiment::{self, Conclusion, Design};
use model::figure::Figure;

/// A weighted sum over cells, in each block that has all of them.
pub(crate) struct Comparison<'a> {
    /// The cell that is compared with the baseline; empty for the effect of a factor.
    pub cell: &'a str,
    /// The logarithms of the figure.
    pub logs: &'a Logs<'a>,
    /// The cells with their weights.
    pub weights: Vec<(&'a str, f64)>,
}

impl<'a> Comparison<'a> {
    /// A cell against the baseline.
    pub fn against(design: &'a Design, logs: &'a Logs<'a>, cell: &'a str) -> Self {
        Self { cell, logs, weights: vec![(cell, 1.0), (&design.baseline, -1.0)] }
    }
}

/// Comparisons of one figure: they share the risk of a false difference.
pub(crate) fn judged(
    design: &Design,
    all: &[Comparison<'_>],
    figure: Figure,
    rules: Rules,
) -> Vec<experiment::Contrast> {
    let pairs = |one: &Comparison<'_>| one.logs.series(&one.weights);
    let series: Vec<Vec<f64>> = all.iter().map(pairs).collect();
    let contrasts: Vec<Option<Contrast>> =
        series.iter().map(|series| Contrast::of_logs(series)).collect();
    let concluded = robust(conclude(&contrasts, rules), all, rules);
    let concluded = despite_zeros(concluded, all);
    let mut judged = Vec::new();
    for (nth, (one, concluded)) in all.iter().zip(concluded).enumerate() {
        let contrast = contrasts[nth];
        let ratio = contrast.map(|contrast| contrast.ratio);
        let claim = Limit::of(design, one.logs, figure).claim(ratio, concluded);
        judged.push(experiment::Contrast {
            cell: one.cell.to_string(),
            baseline: design.baseline.clone(),
            figure,
            pairs: series[nth].len() as u64,
            ratio,
            low: contrast.map(|contrast| contrast.low),
            high: contrast.map(|contrast| contrast.high),
            conclusion: claim.conclusion,
            more_blocks: claim.more_blocks,
            below_floor: claim.below_floor,
        });
    }
    judged
}

/// The conclusions that hold wherever the figures lie within what is known of them.
fn robust(
    concluded: Vec<Option<contrast::Conclusion>>,
    all: &[Comparison<'_>],
    rules: Rules,
) -> Vec<Option<contrast::Conclusion>> {
    let at = |end: End| {
        let contrast = |one: &Comparison<'_>| {
            let series = one.logs.at(end, &one.weights);
            Contrast::of_logs(&series).filter(|_| series.iter().all(|log| log.is_finite()))
        };
        conclude(&all.iter().map(contrast).collect::<Vec<_>>(), rules)
    };
    contrast::hold(concluded, &at(End::Lowest), &at(End::Highest))
}

/// The conclusions that visits whose figure is zero, which are in no pair, do not turn around. The
/// others are undecided, and more blocks do not help.
fn despite_zeros(
    concluded: Vec<Option<contrast::Conclusion>>,
    all: &[Comparison<'_>],
) -> Vec<Option<contrast::Conclusion>> {
    let held = |(word, one): (Option<contrast::Conclusion>, &Comparison<'_>)| {
        let lacks = |end: End| one.logs.lacks(end, &one.weights);
        let is_turned = match word {
            Some(contrast::Conclusion::More) => lacks(End::Lowest),
            Some(contrast::Conclusion::Less) => lacks(End::Highest),
            None | Some(contrast::Conclusion::Same | contrast::Conclusion::Undecided { .. }) => {
                lacks(End::Lowest) || lacks(End::Highest)
            }
        };
        if is_turned { Some(contrast::Conclusion::Undecided { more: None }) } else { word }
    };
    concluded.into_iter().zip(all).map(held).collect()
}

/// The ratios of the baseline and the cell that repeats it; nothing without a floor.
fn twins(design: &Design, logs: &Logs<'_>) -> Option<Vec<f64>> {
    let twin = design.floor.as_ref()?;
    Some(logs.series(&Comparison::against(design, logs, twin).weights))
}

/// The variation of the host by itself: the baseline against itself; nothing without a floor.
pub(crate) fn floor(design: &Design, logs: &Logs<'_>, figure: Figure) -> Option<Floor> {
    let contrast = Contrast::of_logs(&twins(design, logs)?)?;
    let (conclusion, _) = conclude(&[Some(contrast)], Rules::once(0.0))[0]?.word();
    Some(Floor {
        figure,
        pairs: contrast.pairs as u64,
        ratio: contrast.ratio,
        low: contrast.low,
        high: contrast.high,
        share: contrast.high.max(1.0 / contrast.low) - 1.0,
        conclusion,
    })
}

/// Which differences may be claimed.
#[derive(Debug, Clone, Copy)]
enum Limit {
    /// All: the design has no floor.
    None,
    /// Those beyond this share, which the host varies by itself.
    Share(f64),
    /// None: what the host varies by itself is not known before this many more blocks.
    Unknown(u64),
}

/// What is claimed of a ratio.
struct Claim {
    conclusion: Option<Conclusion>,
    more_blocks: Option<u64>,
    below_floor: bool,
}

impl Limit {
    /// By the ratios of the baseline against itself, if the design has a floor.
    fn of(design: &Design, logs: &Logs<'_>, figure: Figure) -> Self {
        match (twins(design, logs), floor(design, logs, figure)) {
            (_, Some(floor)) => Self::Share(floor.share),
            (Some(twins), None) => {
                Self::Unknown(PAIRS_MIN.saturating_sub(twins.len()).max(1) as u64)
            }
            (None, None) => Self::None,
        }
    }

    /// What was concluded of a ratio, as far as it may be claimed.
    fn claim(self, ratio: Option<f64>, concluded: Option<contrast::Conclusion>) -> Claim {
        let (conclusion, more_blocks) = concluded.map(|one| one.word()).unzip();
        let more_blocks = more_blocks.flatten();
        let is_claimed = matches!(conclusion, Some(Conclusion::More | Conclusion::Less));
        let is_within =
            |share: f64| ratio.is_some_and(|ratio| ratio.max(1.0 / ratio) - 1.0 <= share);
        let undecided = Some(Conclusion::Undecided);
        match self {
            Self::Share(share) if is_claimed && is_within(share) => {
                Claim { conclusion: undecided, more_blocks: None, below_floor: true }
            }
            Self::Unknown(more) if is_claimed => {
                Claim { conclusion: undecided, more_blocks: Some(more), below_floor: false }
            }
            _ => Claim { conclusion, more_blocks, below_floor: false },
        }
    }
}
