//! The same draws watched in several ways: whether the verdict is the same.

use crate::label::Label;
use crate::options::BesideOptions;
use crate::rejudge::{Experiments, Sight, judged};
use crate::scenario;
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::path::Path;

/// A draw: place of its scenario in the list, seed, number.
type Draw = (usize, u64, u32);

/// Judges and prints.
pub fn print(options: &BesideOptions) -> Result<()> {
    let all: Vec<BTreeMap<Draw, String>> =
        options.runs.iter().map(|folder| verdicts(folder)).collect::<Result<_>>()?;
    let (first, others) = (&all[0], &all[1..]);
    let in_all = |draw: &&Draw| others.iter().all(|other| other.contains_key(draw));
    let draws: Vec<&Draw> = first.keys().filter(in_all).collect();
    if draws.is_empty() {
        bail!("no draw is in all of these directories");
    }
    let mut same = vec![0; all.len()];
    for draw in &draws {
        let (place, seed, number) = **draw;
        let words: Vec<&String> = all.iter().map(|of| &of[*draw]).collect();
        for (same, word) in same.iter_mut().zip(&words) {
            *same += u32::from(*word == words[0]);
        }
        let mark = if words.iter().all(|word| *word == words[0]) { "" } else { "differs" };
        let scenario = scenario::ALL[place];
        print!("{:<20} {seed:>3} {number:>3}  {:<10}", scenario.name, scenario.truth.word());
        words.iter().for_each(|word| print!(" {word:<12}"));
        println!(" {mark}");
    }
    for (folder, same) in options.runs.iter().zip(same).skip(1) {
        let first = options.runs[0].display();
        println!("{}: as in {first} in {same} of {}", folder.display(), draws.len());
    }
    Ok(())
}

/// Wall and walls beside it of each draw that a folder has.
fn verdicts(folder: &Path) -> Result<BTreeMap<Draw, String>> {
    let mut found = BTreeMap::new();
    for (folder, label) in Label::all_below(folder)? {
        let known = scenario::ALL.iter().position(|one| one.name == label.scenario);
        let (Some(place), Some(run)) = (known, &label.run) else { continue };
        let run = store::read(&folder.join(run))?;
        let verdict = judged(&run, Sight::Both, Experiments::Hidden).verdict;
        let also = verdict.also.iter().map(|also| format!("+{also}")).collect::<String>();
        let word = format!("{}{also}", verdict.wall.word());
        found.insert((place, label.seed, label.draw), word);
    }
    Ok(found)
}
