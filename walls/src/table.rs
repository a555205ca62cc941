//! The tables: right, wrong and unknown by scenario, and which wall was taken for which.

use crate::baseline::{CHECKLIST, HIGHEST};
use crate::score::{Judge, Mark, Scored, Standing};
use std::collections::BTreeMap;
use std::fmt::Write;

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

/// Draws that count: all but those whose label is void or that left no run.
fn counted(scored: &[Scored]) -> impl Iterator<Item = &Scored> {
    scored.iter().filter(|one| matches!(one.standing, Standing::Holds | Standing::Untested))
}

fn tally<'a>(scored: impl Iterator<Item = &'a Scored>, judge: usize) -> Tally {
    let mut tally = Tally::default();
    for mark in scored.filter_map(|one| one.marks[judge].as_ref().map(|(_, mark)| *mark)) {
        tally.add(mark);
    }
    tally
}

const EXPLAINED: &str = "Cells are draws correct/wrong/unknown. A draw whose label is void (its \
    limit did not move the result) or that left no record counts nowhere but in its own column. A \
    refusal (M1) names no wall and counts as unknown. Of two walls that limit together, one alone \
    is wrong.";

/// Rows of the first table: a cell for each column.
fn rows(scored: &[Scored]) -> Vec<Vec<String>> {
    let mut head = vec!["scenario".to_owned(), "truth".to_owned(), "void".to_owned()];
    head.extend(Judge::ALL.iter().map(|judge| judge.name().to_owned()));
    let mut rows = vec![head];
    let mut names: Vec<&str> = scored.iter().map(|one| one.scenario.name).collect();
    names.dedup();
    for name in names {
        let of: Vec<&Scored> = scored.iter().filter(|one| one.scenario.name == name).collect();
        let Some(first) = of.first() else { continue };
        let lost = of.iter().filter(|one| !is_counted(one)).count();
        let mut row = vec![name.to_owned(), first.scenario.truth.word(), lost.to_string()];
        for judge in 0..Judge::ALL.len() {
            let draws = of.iter().copied().filter(|one| is_counted(one));
            row.push(tally(draws, judge).cell());
        }
        rows.push(row);
    }
    let lost = scored.iter().filter(|one| !is_counted(one)).count();
    for (name, cell) in [("all", Tally::cell as fn(Tally) -> String), ("share", Tally::shares)] {
        let mut row = vec![name.to_owned(), String::new(), lost.to_string()];
        row.extend((0..Judge::ALL.len()).map(|judge| cell(tally(counted(scored), judge))));
        rows.push(row);
    }
    rows
}

fn is_counted(one: &Scored) -> bool {
    matches!(one.standing, Standing::Holds | Standing::Untested)
}

/// Which wall was taken for which, by the judge with this place in [`Judge::ALL`].
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

/// Every draw with every verdict, a line each.
pub fn draws(scored: &[Scored]) -> String {
    let mut out = String::new();
    for one in scored {
        let said = |(judge, mark): (&Judge, &Option<(String, Mark)>)| {
            let (word, mark) = mark.as_ref()?;
            Some(format!("{} {word} {mark:?}", judge.name()))
        };
        let words: Vec<_> = Judge::ALL.iter().zip(&one.marks).filter_map(said).collect();
        let (name, truth) = (one.scenario.name, one.scenario.truth.word());
        let (draw, standing, words) = (one.draw, one.standing, words.join(", "));
        let _ = writeln!(out, "{name}-{draw} {truth} {standing:?}: {words}");
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

/// The same as a page of the documentation.
pub fn page(scored: &[Scored], when: &str) -> String {
    let mut out = String::from(
        "# Walls: how often the verdict is right\n\n\
         Made by `make walls WRITE=1`; not edited by hand.\n\n",
    );
    let _ = writeln!(out, "Runs from {when} on; {}.\n\n{}\n", machine(), wrapped(EXPLAINED));
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
    for one in crate::scenario::ALL {
        let (truth, built, trap) = (one.truth.word(), one.construction, one.trap);
        let _ = writeln!(out, "| {} | {truth} | {built} | {trap} |", one.name);
    }
    out
}

/// The machine that the table was made on.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpus = read("/proc/cpuinfo");
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let count = cpus.lines().filter(|line| line.starts_with("processor")).count();
    let kernel = read("/proc/sys/kernel/osrelease");
    let model = model.map_or("unknown CPU", |(_, model)| model);
    format!("{count} CPUs, {model}, Linux {}", kernel.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn void_labels_count_for_nobody() {
        let scenario = crate::scenario::find("quota").unwrap();
        let one = |standing, mark| Scored {
            scenario,
            draw: 0,
            standing,
            marks: vec![Some(("S3".to_owned(), mark)); Judge::ALL.len()],
        };
        let scored = [
            one(Standing::Holds, Mark::Correct),
            one(Standing::Void, Mark::Wrong),
            one(Standing::Untested, Mark::Unknown),
        ];
        let rows = rows(&scored);
        assert_eq!(rows[1][..4], ["quota", "S3", "1", "1/0/1"]);
        assert_eq!(rows[3][3], "50/0/50 %");
        assert_eq!(confusion(&scored, 0), [("S3".to_owned(), "S3 2".to_owned())]);
    }
}
