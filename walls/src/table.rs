//! The tables: right, wrong and unknown by scenario, and which wall was taken for which.

use crate::baseline::{CHECKLIST, HIGHEST};
use crate::catalogue;
use crate::label::Label;
use crate::options::{Family, Hosts, Noise, ScoreOptions};
use crate::ordinary;
use crate::scenario::Scenario;
use crate::score::{Judge, Mark, Scored, Standing, score};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

/// Right, wrong and unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    correct: u32,
    wrong: u32,
    unknown: u32,
}

impl Tally {
    fn add(&mut self, mark: Mark) {
        match mark {
            Mark::Correct => self.correct += 1,
            Mark::Wrong => self.wrong += 1,
            Mark::Unknown => self.unknown += 1,
        }
    }

    fn total(self) -> u32 {
        self.correct + self.wrong + self.unknown
    }

    fn cell(self) -> String {
        match self.total() {
            0 => "-".to_owned(),
            _ => format!("{}/{}/{}", self.correct, self.wrong, self.unknown),
        }
    }

    /// Wilson's interval of a share (E. B. Wilson, 1927), percent.
    fn interval(self, count: u32) -> String {
        const Z: f64 = 1.96;
        let (count, total) = (f64::from(count), f64::from(self.total()));
        if total == 0.0 {
            return "-".to_owned();
        }
        let (share, z2) = (count / total, Z * Z / total);
        let half = Z * (share * (1.0 - share) / total + z2 / (4.0 * total)).sqrt();
        let end = |sign: f64| 100.0 * (share + z2 / 2.0 + sign * half) / (1.0 + z2);
        format!("{:.0} to {:.0} %", end(-1.0).max(0.0), end(1.0).min(100.0))
    }

    fn shares(self) -> String {
        let share = |count: u32| 100.0 * f64::from(count) / f64::from(self.total().max(1));
        match self.total() {
            0 => "-".to_owned(),
            _ => format!(
                "{:.0}/{:.0}/{:.0} %",
                share(self.correct),
                share(self.wrong),
                share(self.unknown)
            ),
        }
    }
}

/// Draws that count: those whose label was tested and holds.
fn counted(scored: &[Scored]) -> impl Iterator<Item = &Scored> {
    scored.iter().filter(|one| one.standing == Standing::Holds)
}

fn tally<'a>(scored: impl Iterator<Item = &'a Scored>, judge: usize) -> Tally {
    let mut tally = Tally::default();
    for mark in scored.filter_map(|one| one.marks[judge].as_ref().map(|(_, mark)| *mark)) {
        tally.add(mark);
    }
    tally
}

const EXPLAINED: &str = "Cells are draws correct/wrong/unknown. A draw whose label is void (its \
    limit did not move the result), was not tested, or that left no record counts nowhere but in \
    its own column. Intervals are those of Wilson, 95 %, as if draws were independent. A \
    refusal (M1) names no wall and counts as unknown. Of two walls that limit together, one alone \
    is wrong.";

/// Rows of the first table: a cell for each column.
fn rows(scored: &[Scored]) -> Vec<Vec<String>> {
    let mut head = vec!["scenario".to_owned(), "truth".to_owned()];
    head.extend(["void", "untested"].map(str::to_owned));
    head.extend(Judge::ALL.iter().map(|judge| judge.name().to_owned()));
    let mut rows = vec![head];
    let mut names: Vec<&str> = scored.iter().map(|one| one.scenario.name).collect();
    names.dedup();
    for name in names {
        let of: Vec<&Scored> = scored.iter().filter(|one| one.scenario.name == name).collect();
        let Some(first) = of.first() else { continue };
        let mut row = vec![name.to_owned(), first.scenario.truth.word()];
        row.extend(left_out(of.iter().copied()));
        for judge in 0..Judge::ALL.len() {
            let draws = of.iter().copied().filter(|one| one.standing == Standing::Holds);
            row.push(tally(draws, judge).cell());
        }
        rows.push(row);
    }
    let places = ordinary::PLACES.iter().filter_map(|place| {
        some_row(scored, format!("placement: {place}"), |one| one.place == Some(place))
    });
    rows.extend(places);
    for noise in [Noise::Quiet, Noise::Burners, Noise::Build] {
        if scored.iter().any(|one| one.noise != Noise::Quiet) {
            let name = format!("beside: {}", noise.name());
            rows.extend(some_row(scored, name, |one| one.noise == noise));
        }
    }
    let cells = [
        ("all", Tally::cell as fn(Tally) -> String),
        ("share", Tally::shares),
        ("correct, 95 %", |tally| tally.interval(tally.correct)),
        ("wrong, 95 %", |tally| tally.interval(tally.wrong)),
    ];
    for (name, cell) in cells {
        let mut row = vec![name.to_owned(), String::new()];
        row.extend(left_out(scored.iter()));
        row.extend((0..Judge::ALL.len()).map(|judge| cell(tally(counted(scored), judge))));
        rows.push(row);
    }
    rows
}

/// Some of the draws; nothing if there are none.
fn some_row(
    scored: &[Scored],
    name: String,
    is_one: impl Fn(&Scored) -> bool + Copy,
) -> Option<Vec<String>> {
    let of = || scored.iter().filter(move |one| is_one(one));
    of().next()?;
    let mut row = vec![name, String::new()];
    row.extend(left_out(of()));
    let counted = || of().filter(|one| one.standing == Standing::Holds);
    row.extend((0..Judge::ALL.len()).map(|judge| tally(counted(), judge).cell()));
    Some(row)
}

/// Draws that are not counted: void or without a run, and untested.
fn left_out<'a>(scored: impl Iterator<Item = &'a Scored> + Clone) -> [String; 2] {
    let count = |of: &[Standing]| scored.clone().filter(|one| of.contains(&one.standing)).count();
    [&[Standing::Void, Standing::NoRun][..], &[Standing::Untested]].map(|of| count(of).to_string())
}

/// Which wall was taken for which, by the judge at this index of [`Judge::ALL`].
fn confusion(scored: &[Scored], judge: usize) -> Vec<(String, String)> {
    let mut by_truth: BTreeMap<String, BTreeMap<&str, u32>> = BTreeMap::new();
    for one in counted(scored) {
        if let Some((word, _)) = &one.marks[judge] {
            let said = by_truth.entry(one.scenario.truth.word()).or_default();
            *said.entry(word).or_default() += 1;
        }
    }
    let line = |said: BTreeMap<&str, u32>| {
        let mut said: Vec<_> = said.into_iter().collect();
        said.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        said.iter().map(|(word, count)| format!("{word} {count}")).collect::<Vec<_>>().join(", ")
    };
    by_truth.into_iter().map(|(truth, said)| (truth, line(said))).collect()
}

/// Every draw with every verdict, a line each, and what a verdict that is not right rests on.
pub fn draws(scored: &[Scored]) -> String {
    let mut out = String::new();
    for one in scored {
        let said = |(judge, mark): (&Judge, &Option<(String, Mark)>)| {
            let (word, mark) = mark.as_ref()?;
            Some(format!("{} {word} {mark:?}", judge.name()))
        };
        let words: Vec<_> = Judge::ALL.iter().zip(&one.marks).filter_map(said).collect();
        let (name, truth) = (one.scenario.name, one.scenario.truth.word());
        let (seed, draw, standing, words) = (one.seed, one.draw, one.standing, words.join(", "));
        let _ = writeln!(out, "{name}-{seed}-{draw} {truth} {standing:?}: {words}");
        let is_right = one.marks[0].as_ref().is_some_and(|(_, mark)| *mark == Mark::Correct);
        for line in one.grounds.iter().filter(|_| !is_right) {
            let _ = writeln!(out, "    {line}");
        }
    }
    out
}

/// Everything for a terminal.
pub fn text(scored: &[Scored]) -> String {
    let mut out = String::new();
    let rows = rows(scored);
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        let _ = writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    let _ = writeln!(out, "\n{EXPLAINED}\n{HIGHEST}\n{CHECKLIST}\n");
    for judge in [0, 1] {
        let _ = writeln!(out, "truth: said ({})", Judge::ALL[judge].name());
        for (truth, said) in confusion(scored, judge) {
            let _ = writeln!(out, "  {truth:<10} {said}");
        }
    }
    out
}

/// Text in lines of at most 100 columns.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("never empty");
        if line.len() + word.len() >= 100 {
            lines.push(word.to_owned());
        } else {
            let blank = if line.is_empty() { "" } else { " " };
            *line += &format!("{blank}{word}");
        }
    }
    lines.join("\n")
}

/// The table as a page of the documentation.
pub fn page(scored: &[Scored], when: &str) -> String {
    let mut out = String::from(
        "# Walls: how often the verdict is right\n\n\
         Made by `make ",
    );
    let is_of = |family: Family| scored.iter().any(|one| family.has(one.scenario.name));
    let is_machines = scored.iter().any(|one| one.hosts == Hosts::Machines);
    let (target, on) = if is_machines {
        ("-C walls machines", "two virtual machines of two CPUs each, on ")
    } else if is_of(Family::Ordinary) {
        ("-C walls ordinary", "")
    } else if is_of(Family::HeldOut) {
        ("-C walls held-out", "")
    } else if is_of(Family::Tail) {
        ("-C walls tail", "")
    } else {
        ("walls", "")
    };
    let _ = writeln!(out, "{target} WRITE=1`; not edited by hand.\n");
    let about = format!("{}; runs from {when} on; {on}{}.", of_seeds(scored), machine());
    let _ = writeln!(out, "{}\n\n{}\n", wrapped(&about), wrapped(EXPLAINED));
    for (number, row) in rows(scored).iter().enumerate() {
        let _ = writeln!(out, "| {} |", row.join(" | "));
        if number == 0 {
            let _ = writeln!(out, "|{}", "---|".repeat(row.len()));
        }
    }
    let _ = writeln!(out, "\n{}\n\n{}", wrapped(HIGHEST), wrapped(CHECKLIST));
    for judge in [0, 1] {
        let _ =
            writeln!(out, "\n## Taken for what, {}\n\n| truth | said |", Judge::ALL[judge].name());
        let _ = writeln!(out, "|---|---|");
        for (truth, said) in confusion(scored, judge) {
            let _ = writeln!(out, "| {truth} | {said} |");
        }
    }
    out.push_str("\n## The scenarios\n\n| scenario | truth | built | trap |\n|---|---|---|---|\n");
    let is_scored = |known: &&Scenario| scored.iter().any(|one| one.scenario.name == known.name);
    for one in catalogue::all().filter(is_scored) {
        let (truth, built, trap) = (one.truth.word(), one.construction, one.trap);
        let _ = writeln!(out, "| {} | {truth} | {built} | {trap} |", one.name);
    }
    out
}

/// How many draws of which seeds, and the version of the judge.
fn of_seeds(scored: &[Scored]) -> String {
    let mut seeds: Vec<u64> = scored.iter().map(|one| one.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let list = |seeds: &[u64]| seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    format!(
        "{} draws of seed {}, judged by ceiling {}, whose odds were counted in seed {}",
        scored.len(),
        list(&seeds),
        env!("CARGO_PKG_VERSION"),
        list(&judge::odds::seeds())
    )
}

/// The machine on which the table was made.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpus = read("/proc/cpuinfo");
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let count = cpus.lines().filter(|line| line.starts_with("processor")).count();
    let kernel = read("/proc/sys/kernel/osrelease");
    let model = model.map_or("unknown CPU", |(_, model)| model);
    format!("{count} CPUs, {model}, Linux {}", kernel.trim())
}

/// Judges and prints.
pub fn print(options: &ScoreOptions) -> Result<()> {
    let mut scored = Vec::new();
    let mut when = Vec::new();
    let below: Result<Vec<_>> = options.runs.iter().map(|runs| Label::all_below(runs)).collect();
    for (folder, label) in below?.into_iter().flatten() {
        if judge::odds::seeds().contains(&label.seed) {
            bail!(
                "{} is of seed {}, in which the odds of the judge were counted: score another",
                folder.display(),
                label.seed
            );
        }
        let Some(scenario) = catalogue::find(&label.scenario) else {
            eprintln!("walls: {} is no longer a scenario", label.scenario);
            continue;
        };
        let run = match &label.run {
            Some(run) => Some(store::read(&folder.join(run))?),
            None => None,
        };
        when.extend(run.iter().map(|run| run.record.started_at.clone()));
        scored.push(score(scenario, &label, run.as_ref()));
    }
    if scored.is_empty() {
        bail!("no labels in {:?}; walls run makes them", options.runs);
    }
    scored.sort_by_key(|one| {
        let place = catalogue::all().position(|known| known.name == one.scenario.name);
        (place, one.seed, one.draw)
    });
    if options.all {
        println!("{}", draws(&scored));
    }
    print!("{}", text(&scored));
    if let Some(path) = &options.write {
        let page = page(&scored, when.iter().min().map_or("", |first| first));
        fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn void_labels_are_not_counted() {
        let scenario = catalogue::find("quota").unwrap();
        let one = |standing, mark| Scored {
            scenario,
            seed: 1,
            draw: 0,
            hosts: Hosts::Namespaces,
            place: None,
            noise: Noise::Quiet,
            grounds: Vec::new(),
            standing,
            marks: vec![Some(("S3".to_owned(), mark)); Judge::ALL.len()],
        };
        let scored = [
            one(Standing::Holds, Mark::Correct),
            one(Standing::Void, Mark::Wrong),
            one(Standing::Untested, Mark::Unknown),
        ];
        let rows = rows(&scored);
        assert_eq!(rows[1][..5], ["quota", "S3", "1", "1", "1/0/0"]);
        assert_eq!((rows[3][4].as_str(), rows[4][4].as_str()), ("100/0/0 %", "21 to 100 %"));
        assert_eq!(confusion(&scored, 0), [("S3".to_owned(), "S3 1".to_owned())]);
    }
}
