//! A load watched from outside and from inside the server's container: are the verdicts the same?

use crate::label::Label;
use crate::options::BesideOptions;
use crate::rejudge::{Experiments, Sight, judged, judged_by};
use anyhow::{Result, bail};
use model::verdict::Verdict;

/// Judges and prints.
pub fn print(options: &BesideOptions) -> Result<()> {
    let (mut same, mut all) = (0, 0);
    println!("{:<20} draw  {:<10} {:<12} inside", "scenario", "truth", "outside");
    for (folder, label) in Label::all_below(&options.runs)? {
        let (Some(run), Some(inside)) = (&label.run, &label.inside) else { continue };
        let (run, inside) = (store::read(&folder.join(run))?, store::read(&folder.join(inside))?);
        let outside = word(&judged(&run, Sight::Both, Experiments::Hidden).verdict);
        let inside = word(&judged_by(&run, &inside).verdict);
        let is_same = outside == inside;
        (same, all) = (same + u32::from(is_same), all + 1);
        let mark = if is_same { "" } else { "  differs" };
        let Label { scenario, draw, truth, .. } = &label;
        println!("{scenario:<20} {draw:>4}  {truth:<10} {outside:<12} {inside}{mark}");
    }
    if all == 0 {
        bail!("no runs in {} that were watched in both ways", options.runs.display());
    }
    println!("equal in {same} of {all}");
    Ok(())
}

/// The wall and the co-limiting ones.
fn word(verdict: &Verdict) -> String {
    let also = verdict.also.iter().map(|also| format!("+{also}")).collect::<String>();
    format!("{}{also}", verdict.wall.word())
}
