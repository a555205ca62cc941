//! The conclusion of an experiment in blocks in one sentence, with its details.

use super::visited::{counted_visits, point_of};
use super::visits::{axis_of, title, value_of};
use crate::axis::shown;
use crate::page::{Banner, Mark, Tone};
use crate::progress::time;
use crate::wording::{band, change, change_within, mark_of, plural, sentence};
use figures::visit::{bounds, is_nothing, is_nothing_of_tool};
use model::claim::Claim;
use model::experiment::{
    CellResult, CellSummary, Conclusion, Contrast, Decided, Design, Ended, Experiment, Fate,
};
use model::figure::Figure;
use model::order::OrderBy as _;
use model::run::Run;
use std::collections::BTreeMap;

/// More cells than these are counted in the sentence and named below it.
const NAMED_MAX: usize = 4;

/// The conclusion, with its details.
pub(super) fn banner(of: &Experiment, design: &Design, runs: &[Option<Run>]) -> Banner {
    let main = main(of, design);
    let reserved = reservations(of, design, runs);
    let is_decided = |one: &&Contrast| {
        one.conclusion.is_some_and(|conclusion| conclusion != Conclusion::Undecided)
    };
    let has_none = !of.summaries.iter().any(|one| one.figure == design.figure);
    let tone = match () {
        () if has_none => Tone::Bad,
        () if !reserved.is_empty() => Tone::Caution,
        () if main.is_empty() || !main.iter().all(is_decided) => Tone::Neutral,
        () => Tone::Good,
    };
    let named = if main.len() > NAMED_MAX { groups(&main, design.figure) } else { Vec::new() };
    let lines =
        named.into_iter().chain(reserved).chain(of.ended.map(|why| ended(why, design))).collect();
    Banner { tone, text: conclusion_words(of, design), lines }
}

/// The conclusion of an experiment in blocks.
pub(crate) fn conclusion(of: &Experiment) -> Option<String> {
    of.design.as_ref().map(|design| conclusion_words(of, design))
}

/// The contrasts of the figure that the experiment is about.
fn main<'a>(of: &'a Experiment, design: &Design) -> Vec<&'a Contrast> {
    of.contrasts.iter().filter(|one| one.figure == design.figure).collect()
}

/// Words for a cell whose figure is larger, smaller or the same.
fn words(figure: Figure) -> [&'static str; 3] {
    match figure {
        Figure::Rate => ["faster", "slower", "as fast"],
        _ => ["higher", "lower", "the same"],
    }
}

/// The subject of a sentence about a cell: `rps is`, `p99 of rps is`.
fn subject(cell: &str, of: Figure) -> String {
    match of {
        Figure::Rate => format!("{cell} is"),
        _ => format!("{} of {cell} is", of.name()),
    }
}

/// What it is compared with, to follow the word.
fn than(one: &Contrast, base: &str) -> String {
    match (one.conclusion, one.figure) {
        (Some(Conclusion::Same), Figure::Rate) => format!("as {base}"),
        (Some(Conclusion::Same), _) => format!("as that of {base}"),
        (_, Figure::Rate) => format!("than {base}"),
        (_, _) => format!("than that of {base}"),
    }
}

fn conclusion_words(of: &Experiment, design: &Design) -> String {
    let main = main(of, design);
    let said = match main[..] {
        [] => alone(of, design),
        [one] => pair(one, design),
        ref few if few.len() <= NAMED_MAX => {
            let parts: Vec<_> = few.iter().map(|one| briefly(one, design)).collect();
            let by = by_figure(design);
            format!("Against {}{by}: {}.", design.baseline, parts.join("; "))
        }
        ref many => counted(many, design),
    };
    match deciding(of) {
        Some(time) => format!("{said} {time}"),
        None => said,
    }
}

/// How long those blocks take that would probably decide what is undecided.
fn deciding(of: &Experiment) -> Option<String> {
    let Decided { more_blocks, more_s, .. } = of.decided()?;
    let (blocks, more_s) = more_blocks.zip(more_s)?;
    Some(format!("{} would take about {}.", plural(blocks, "more block"), time(more_s)))
}

/// How many contrasts are decided, and what the others take: `3 of 7; 11 more blocks, about 1m07s`.
pub fn decided(of: &Experiment) -> Option<String> {
    let Decided { decided, all, more_blocks, more_s } = of.decided()?;
    let takes = match (all - decided, more_blocks) {
        (0, _) => String::new(),
        (_, None) => "; more blocks would hardly decide it".to_string(),
        (_, Some(blocks)) => {
            let about = more_s.map_or(String::new(), |more_s| format!(", about {}", time(more_s)));
            format!("; {}{about}", plural(blocks, "more block"))
        }
    };
    Some(format!("{decided} of {all}{takes}"))
}

fn ended(why: Ended, design: &Design) -> String {
    match why {
        Ended::Decided => {
            format!("It ended when every contrast of the {} was decided.", design.figure.name())
        }
        Ended::Precise => "It ended when the intervals were as narrow as requested.".to_string(),
        Ended::Budget => "It ended when its time budget was used up.".to_string(),
    }
}

/// The name of the figure, for a sentence about several cells; empty for the rate.
fn by_figure(design: &Design) -> String {
    match design.figure {
        Figure::Rate => String::new(),
        other => format!(", {}", other.name()),
    }
}

/// Without a comparison: the figure itself.
fn alone(of: &Experiment, design: &Design) -> String {
    let (name, called) = (&design.baseline, design.figure.name());
    let is_it = |one: &&CellSummary| one.figure == design.figure && one.cell == *name;
    let Some(one) = of.summaries.iter().find(is_it) else {
        return match design.cells.len() {
            1 => format!("No visit of {name} has a valid {called}."),
            _ => format!("No cell was compared with {name}: there is no valid {called}."),
        };
    };
    let (axis, factor) = axis_of(design.figure);
    let value = |value: f64| shown(&axis, value * factor);
    let within = match one.low.zip(one.high) {
        Some((low, high)) => format!(", {} to {} at 95 %", value(low), value(high)),
        None => String::new(),
    };
    let visits = plural(one.visits, "visit");
    let what = match design.figure {
        Figure::Rate => format!("{name}:"),
        _ => format!("{} of {name}:", title(design.figure)),
    };
    format!("{what} {}, the median of {visits}{within}.", value(one.median))
}

/// One cell against the baseline.
fn pair(one: &Contrast, design: &Design) -> String {
    let (base, within) = (&design.baseline, change_within(one));
    let [more, less, same] = words(one.figure);
    let (subject, than) = (subject(&one.cell, one.figure), than(one, base));
    match one.conclusion {
        Some(Conclusion::More) => format!("{subject} {more} {than}: {within}."),
        Some(Conclusion::Less) => format!("{subject} {less} {than}: {within}."),
        Some(Conclusion::Same) => {
            format!("{subject} {same} {than} within {}: {within}.", band(design))
        }
        Some(Conclusion::Undecided) if one.ratio.is_none() => {
            format!("Whether {subject} {more} {than} is undecided: too few visits are above zero.")
        }
        Some(Conclusion::Undecided) => {
            let lacks = match one.more_blocks {
                _ if one.below_floor => "the host varies as much by itself".to_string(),
                Some(more) => {
                    format!("about {} would probably decide it", plural(more, "more block"))
                }
                None => "more blocks would hardly decide it".to_string(),
            };
            format!("Whether {subject} {more} {than} is undecided: {within}; {lacks}.")
        }
        None => {
            let pairs = plural(one.pairs, "pair");
            format!("{} was not compared with {base}: {pairs} of visits are too few.", one.cell)
        }
    }
}

/// One of a few cells.
fn briefly(one: &Contrast, design: &Design) -> String {
    let (cell, by) = (&one.cell, one.ratio.map_or(String::new(), change));
    let [higher, lower, same] = words(one.figure);
    match one.conclusion {
        Some(Conclusion::More) => format!("{cell} is {higher} ({by})"),
        Some(Conclusion::Less) => format!("{cell} is {lower} ({by})"),
        Some(Conclusion::Same) => format!("{cell} is {same} within {} ({by})", band(design)),
        Some(Conclusion::Undecided) if one.ratio.is_none() => {
            format!("{cell} is undecided ({})", more(one))
        }
        Some(Conclusion::Undecided) => format!("{cell} is undecided ({by}, {})", more(one)),
        None => format!("{cell} was not compared ({})", plural(one.pairs, "pair")),
    }
}

/// How many more blocks an undecided contrast needs, or why none help.
pub(super) fn more(one: &Contrast) -> String {
    match one.more_blocks {
        _ if one.ratio.is_none() => "too few visits are above zero".to_string(),
        _ if one.below_floor => "the host varies as much by itself".to_string(),
        Some(blocks) => format!("about {}", plural(blocks, "more block")),
        None => "more blocks would hardly decide it".to_string(),
    }
}

/// The conclusions in the order of the sentence, with the words for them.
fn in_order(of: Figure) -> [(Option<Conclusion>, &'static str); 5] {
    let [more, less, same] = words(of);
    [
        (Some(Conclusion::More), more),
        (Some(Conclusion::Less), less),
        (Some(Conclusion::Same), same),
        (Some(Conclusion::Undecided), "undecided"),
        (None, "not compared"),
    ]
}

fn members<'a>(of: &[&'a Contrast], conclusion: Option<Conclusion>) -> Vec<&'a Contrast> {
    of.iter().filter(|one| one.conclusion == conclusion).copied().collect()
}

/// How many cells each conclusion holds for.
fn counted(of: &[&Contrast], design: &Design) -> String {
    let part = |(conclusion, word): &(Option<Conclusion>, &str)| {
        let count = members(of, *conclusion).len();
        let are = if count == 1 { "is" } else { "are" };
        let within = match conclusion {
            Some(Conclusion::Same) => format!(" within {}", band(design)),
            _ => String::new(),
        };
        (count > 0).then(|| format!("{count} {are} {word}{within}"))
    };
    let parts: Vec<_> = in_order(design.figure).iter().filter_map(part).collect();
    format!(
        "Of {} against {}{}: {}.",
        plural(of.len() as u64, "cell"),
        design.baseline,
        by_figure(design),
        parts.join(", ")
    )
}

/// The cells of each conclusion; the largest differences come first.
fn groups(of: &[&Contrast], figure: Figure) -> Vec<String> {
    let line = |(conclusion, word): (Option<Conclusion>, &str)| {
        let mut of_group = members(of, conclusion);
        let size = |one: &Contrast| one.ratio.map_or(0.0, |ratio| ratio.ln().abs());
        of_group.order_by(|left, right| size(right).total_cmp(&size(left)));
        let words = |one: &&Contrast| match (one.ratio, conclusion) {
            (Some(ratio), Some(Conclusion::Undecided)) => {
                format!("{} ({}, {})", one.cell, change(ratio), more(one))
            }
            (Some(ratio), _) => format!("{} ({})", one.cell, change(ratio)),
            (None, _) => one.cell.clone(),
        };
        let parts: Vec<_> = of_group.iter().map(words).collect();
        (!parts.is_empty()).then(|| sentence(&format!("{word}: {}", parts.join(", "))))
    };
    in_order(figure).into_iter().filter_map(line).collect()
}

/// What may be wrong with a visit, in order of the sentences; `{}` is the count of visits.
const FLAWS: [&str; 6] = [
    "The generator was the wall in {}: their rates are lower bounds of the server's.",
    "Only bounds of the FIGURE of {} are known: a conclusion holds for any values between them.",
    "Gates struck the FIGURE of {}, which are left out.",
    "The rate of {} is zero: nothing good came, and no conclusion rests on the other visits alone.",
    "Without a figure, because they failed: {}.",
    "Not made, because the experiment was ended: {}.",
];

/// Which of [`FLAWS`] a visit has.
fn flaw(cell: &CellResult, run: Option<&Run>, of: Figure) -> Option<usize> {
    match (&cell.fate, run.and_then(|run| Some((run, point_of(run)?)))) {
        (Fate::Failed { .. }, _) => Some(4),
        (Fate::NotReached, _) => Some(5),
        (Fate::Measured { .. }, Some((run, _))) if is_struck(run, of) => Some(2),
        (Fate::Measured { .. }, Some((_, point))) if is_nothing(point, of) => Some(3),
        (Fate::Measured { .. }, Some((_, point))) if point.claim() == Claim::OfGenerator => Some(0),
        (Fate::Measured { .. }, Some((run, _))) => {
            bounds(&run.record).contains_key(&of).then_some(1)
        }
        (Fate::Measured { .. }, None) => {
            let tool = run.and_then(|run| run.record.tool.as_ref());
            tool.is_some_and(|tool| is_nothing_of_tool(tool, of)).then_some(3)
        }
    }
}

/// Whether the figure is left out of all results.
fn is_struck(run: &Run, of: Figure) -> bool {
    match of {
        Figure::Rate => point_of(run).is_some_and(|point| mark_of(run, point) == Mark::Broken),
        _ => value_of(run, of).is_none_or(|(_, mark)| mark == Mark::Broken),
    }
}

/// Reservations: visits without a figure, and visits whose rate is that of the generator.
fn reservations(of: &Experiment, design: &Design, runs: &[Option<Run>]) -> Vec<String> {
    let all = counted_visits(of, runs).count();
    let mut counts: BTreeMap<usize, BTreeMap<&str, u64>> = BTreeMap::new();
    for (cell, run) in counted_visits(of, runs) {
        if let Some(flaw) = flaw(cell, run, design.figure) {
            *counts.entry(flaw).or_default().entry(&cell.name).or_default() += 1;
        }
    }
    let words = |(flaw, cells): (usize, BTreeMap<&str, u64>)| {
        let count: u64 = cells.values().sum();
        let cells: Vec<_> = cells.iter().map(|(cell, count)| format!("{cell} {count}")).collect();
        let how_many = format!("{count} of {all} visits ({})", cells.join(", "));
        FLAWS[flaw].replace("FIGURE", design.figure.name()).replace("{}", &how_many)
    };
    counts.into_iter().map(words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use model::standing::Standing;

    fn banner_of(contrasts: Vec<Contrast>) -> Banner {
        let (mut of, runs) = fixtures::blocks();
        of.contrasts = contrasts;
        (of.ended, of.cells) = (None, of.cells.into_iter().take(3).collect());
        let design = of.design.clone().unwrap();
        banner(&of, &design, &runs[..3])
    }

    fn contrast(cell: &str, conclusion: Option<Conclusion>, ratio: f64) -> Contrast {
        let (of, _) = fixtures::blocks();
        Contrast {
            cell: cell.to_string(),
            conclusion,
            ratio: conclusion.map(|_| ratio),
            low: Some(ratio - 0.01),
            high: Some(ratio + 0.01),
            more_blocks: (conclusion == Some(Conclusion::Undecided)).then_some(7),
            ..of.contrasts[0].clone()
        }
    }

    #[test]
    fn one_cell_is_its_rate() {
        let banner = banner_of(Vec::new());
        assert_eq!(
            banner.text,
            "plain: 10.0k/s, the median of 2 visits, 9800/s to 10.2k/s at 95 %."
        );
        assert_eq!(banner.tone, Tone::Neutral);
    }

    #[test]
    fn two_cells_are_one_sentence_with_its_interval() {
        let sentences = [
            (Some(Conclusion::More), "rps is faster than plain: +3.0 % (+2.0 % to +4.0 %)."),
            (
                Some(Conclusion::Same),
                "rps is as fast as plain within 2 %: +3.0 % (+2.0 % to +4.0 %).",
            ),
            (
                Some(Conclusion::Undecided),
                "Whether rps is faster than plain is undecided: +3.0 % (+2.0 % to +4.0 %); about 7 \
                 more blocks would probably decide it.",
            ),
            (None, "rps was not compared with plain: 6 pairs of visits are too few."),
        ];
        for (conclusion, sentence) in sentences {
            assert_eq!(banner_of(vec![contrast("rps", conclusion, 1.03)]).text, sentence);
        }
    }

    #[test]
    fn a_plan_may_be_about_another_figure_than_the_rate() {
        let (mut of, runs) = fixtures::blocks();
        let text_of = |of: &mut Experiment, contrasts: Vec<Contrast>| {
            of.contrasts = contrasts;
            let mut design = of.design.clone().unwrap();
            design.figure = Figure::P99;
            banner(of, &design, &runs).text
        };
        let p99 = |cell: &str, conclusion, ratio| Contrast {
            figure: Figure::P99,
            ..contrast(cell, conclusion, ratio)
        };
        let rate = contrast("rps", Some(Conclusion::More), 2.0);
        let less = Some(Conclusion::Less);
        assert_eq!(
            text_of(&mut of, vec![rate.clone(), p99("rps", less, 0.9)]),
            "p99 of rps is lower than that of plain: -10.0 % (-11.0 % to -9.0 %)."
        );
        assert_eq!(
            text_of(
                &mut of,
                vec![rate, p99("a", Some(Conclusion::Same), 1.0), p99("b", less, 0.9)]
            ),
            "Against plain, p99: a is the same within 2 % (+0.0 %); b is lower (-10.0 %)."
        );
    }

    #[test]
    fn three_cells_are_named_and_twelve_are_counted() {
        let (more, less) = (Some(Conclusion::More), Some(Conclusion::Less));
        let few = banner_of(vec![contrast("a", more, 1.03), contrast("b", less, 0.9)]);
        assert_eq!(few.text, "Against plain: a is faster (+3.0 %); b is slower (-10.0 %).");
        assert_eq!(few.tone, Tone::Good);
        let kinds = [more, less, Some(Conclusion::Same), Some(Conclusion::Undecided), None];
        let cells = (0..11)
            .map(|nth| contrast(&format!("c{nth}"), kinds[nth % 5], 1.0 + nth as f64 / 50.0));
        let many = banner_of(cells.collect());
        assert_eq!(
            many.text,
            "Of 11 cells against plain: 3 are faster, 2 are slower, 2 are as fast within 2 %, 2 \
             are undecided, 2 are not compared."
        );
        assert_eq!(many.lines[0], "Faster: c10 (+20.0 %), c5 (+10.0 %), c0 (+0.0 %).");
        assert!(many.lines[3].starts_with("Undecided: c8 (+16.0 %, about 7 more blocks)"));
        assert_eq!(many.tone, Tone::Neutral);
    }

    #[test]
    fn rates_of_the_generator_are_said_to_be_such() {
        let (mut of, mut runs) = fixtures::blocks();
        runs[1] = Some(fixtures::ramp_generator());
        runs[2] = Some(fixtures::ramp_invalid());
        of.cells[3].fate = Fate::NotReached;
        runs[3] = None;
        let banner = banner(&of, &of.design.clone().unwrap(), &runs);
        assert_eq!(banner.tone, Tone::Caution);
        assert!(
            banner.lines[0].starts_with("The generator was the wall in 1 of 6 visits (rps 1):")
        );
        assert!(banner.lines[1].starts_with("Gates struck the rate of 1 of 6 visits (rfs 1)"));
        let not_made = "Not made, because the experiment was ended: 1 of 6 visits";
        assert!(banner.lines[2].starts_with(not_made));
    }

    #[test]
    fn an_undecided_experiment_says_how_long_the_blocks_take_that_decide_it() {
        let (mut of, runs) = fixtures::blocks();
        let design = of.design.clone().unwrap();
        let (cells, visits) = (design.cells.len() as u64, of.cells.len() as u64);
        let undecided = contrast("rps", Some(Conclusion::Undecided), 1.1);
        of.contrasts = vec![undecided.clone()];
        of.ended = None;
        let text = |of: &Experiment| banner(of, &design, &runs).text;
        assert!(text(&of).ends_with("would probably decide it."), "its time is not known");
        // 100 s for each visit, and seven blocks more.
        of.took_s = Some(visits as f64 * 100.0);
        let said = format!(" 7 more blocks would take about {}.", time((7 * cells * 100) as f64));
        assert!(text(&of).ends_with(&said), "{}", text(&of));
        let more = Contrast { conclusion: Some(Conclusion::More), ..undecided.clone() };
        of.contrasts = vec![undecided.clone(), more.clone()];
        let about = time((7 * cells * 100) as f64);
        assert_eq!(decided(&of).unwrap(), format!("1 of 2; 7 more blocks, about {about}"));
        of.took_s = None;
        assert_eq!(decided(&of).unwrap(), "1 of 2; 7 more blocks");
        of.contrasts = vec![Contrast { below_floor: true, ..undecided }];
        assert!(!text(&of).contains("would take"), "no blocks decide it");
        assert_eq!(decided(&of).unwrap(), "0 of 1; more blocks would hardly decide it");
        of.contrasts = vec![more];
        assert_eq!(decided(&of).unwrap(), "1 of 1");
        of.contrasts = vec![];
        assert_eq!(decided(&of), None, "nothing was compared");
    }

    #[test]
    fn a_pair_without_a_visit_above_zero_has_no_ratio_to_show() {
        let (of, _) = fixtures::blocks();
        let (ratio, low, high) = (None, None, None);
        let none = Contrast { ratio, low, high, pairs: 0, ..of.contrasts[0].clone() };
        let none = Contrast { conclusion: Some(Conclusion::Undecided), more_blocks: None, ..none };
        let design = of.design.clone().unwrap();
        let text = pair(&none, &design);
        assert!(text.ends_with(" is undecided: too few visits are above zero."), "{text}");
        let text = briefly(&none, &design);
        assert!(text.ends_with(" is undecided (too few visits are above zero)"), "{text}");
    }

    #[test]
    fn visits_whose_rate_is_zero_are_said_to_be_such() {
        let (of, mut runs) = fixtures::blocks();
        let (cell, run) = of.cells.iter().zip(&mut runs).nth(1).unwrap();
        for point in &mut run.as_mut().unwrap().record.points {
            (point.rate, point.requests.completed) = (0.0, 0);
            point.requests.failed = point.requests.sent;
        }
        let banner = banner(&of, &of.design.clone().unwrap(), &runs);
        let line = format!(
            "The rate of 1 of {} visits ({} 1) is zero: nothing good came, and no conclusion rests \
             on the other visits alone.",
            counted_visits(&of, &runs).count(),
            cell.name
        );
        assert!(banner.lines.contains(&line), "{:?}", banner.lines);
    }

    #[test]
    fn figures_of_which_only_bounds_are_known_are_said_to_be_such() {
        let (of, mut runs) = fixtures::blocks();
        let (cell, run) = of.cells.iter().zip(&mut runs).nth(1).unwrap();
        let run = run.as_mut().unwrap();
        for point in &mut run.record.points {
            let (low, high) = (point.latency_ns.p99.unwrap() as f64, None);
            let bounded = Standing::Bounded { low, high, by: "a late generator".to_string() };
            point.standing.add(Figure::P99, bounded);
        }
        let mut design = of.design.clone().unwrap();
        assert!(!banner(&of, &design, &runs).lines.iter().any(|line| line.contains("bounds")));
        design.figure = Figure::P99;
        let line = format!(
            "Only bounds of the p99 of 1 of {} visits ({} 1) are known: a conclusion holds for any \
             values between them.",
            counted_visits(&of, &runs).count(),
            cell.name
        );
        let banner = banner(&of, &design, &runs);
        assert!(banner.lines.contains(&line), "{:?}", banner.lines);
    }
}
