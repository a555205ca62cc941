//! Counts which tests fire at which wall, for the judge's odds.
//!
//! The score uses draws of another seed, so that it does not test on the training set. Draws of
//! held-out software are never counted.

use crate::catalogue;
use crate::label::Label;
use crate::options::{Family, FitOptions};
use crate::rejudge::speaking;
use crate::scenario::Truth;
use anyhow::{Context, Result, bail};
use judge::odds::OddsTable;
use model::verdict::Named;
use model::wall::Side;
use std::collections::BTreeSet;
use std::fs;

/// Counts and writes.
pub fn run(options: &FitOptions) -> Result<()> {
    let mut table = OddsTable::default();
    let (mut seeds, mut draws) = (BTreeSet::new(), 0);
    for (folder, label) in Label::all_below(&options.runs)? {
        let Some(scenario) = catalogue::find(&label.scenario) else { continue };
        if Family::HeldOut.has(scenario.name) {
            bail!("{} is a draw of held-out software: no odds are counted in it", folder.display());
        }
        // Labels that were not tested or do not hold are skipped.
        let holds = label.tested.as_ref().is_some_and(|tested| tested.holds);
        let (true, Some(run), Some(wall)) = (holds, &label.run, cause(&scenario.truth)) else {
            continue;
        };
        let run = store::read(&folder.join(run))?;
        if let Some(speaking) = speaking(&run) {
            table.add(wall, &speaking);
            seeds.insert(label.seed);
            draws += 1;
        }
    }
    if draws == 0 {
        bail!("no tested labels in {}; walls run makes them", options.runs.display());
    }
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let head = format!("# from {draws} draws of seed {}\n", seeds.join(", "));
    let text = head + &table.text();
    match &options.write {
        None => print!("{text}"),
        Some(path) => {
            fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?
        }
    }
    Ok(())
}

/// The one wall; nothing when there are two, which would distort the counts of both, and where the
/// truth is none.
fn cause(truth: &Truth) -> Option<Named> {
    match truth {
        // The odds do not include walls of the measurement itself.
        Truth::Wall(walls) => {
            let mut weighed = walls.iter().filter(|wall| wall.side() != Side::Measurement);
            weighed.next().map(|wall| Named::Wall(*wall))
        }
        Truth::NoWall => Some(Named::None),
        Truth::Both(..) | Truth::Tail(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_of_held_out_software_are_refused() {
        let runs = std::env::temp_dir().join(format!("ceiling-fit-{}", std::process::id()));
        let folder = runs.join("draw");
        fs::create_dir_all(&folder).unwrap();
        let said = |scenario: &str| {
            let label = format!(
                r#"{{"scenario": "{scenario}", "truth": "none", "seed": 1, "draw": 0,
                    "parameters": {{}}, "run": null, "code": 0, "said": "", "tested": null}}"#
            );
            fs::write(folder.join("label.json"), label).unwrap();
            run(&FitOptions { runs: runs.clone(), write: None }).unwrap_err().to_string()
        };
        assert!(said("gin-light").contains("held-out"), "{}", said("gin-light"));
        assert!(said("node-wait").contains("no tested labels"), "{}", said("node-wait"));
        fs::remove_dir_all(&runs).unwrap();
    }
}
