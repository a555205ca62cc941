//! The mix of a trial: what it checks, and what each target of it came to.

use model::check::Checks;
use model::load::{MixTarget, TARGETS_REPORTED_MAX, Trial};
use model::run::{TargetResult, count_target};
use model::tick::TargetTally;

/// Requests of the tape that a record keeps.
const REQUESTS_KEPT: usize = 16;
/// Bytes of each of their bodies that it keeps.
const BODY_BYTES_KEPT: usize = 1024;

/// The checks of each target.
pub fn checks(trial: &Trial) -> Vec<Checks> {
    trial.targets.iter().map(|target| target.checks.clone()).collect()
}

/// The results of each reported target, by name.
pub fn results(trial: &Trial, tallies: &[TargetTally]) -> Vec<TargetResult> {
    let named = reported(&trial.targets);
    let results = named.into_iter().zip(tallies);
    results.map(|((name, weight), tally)| count_target(name, weight, tally)).collect()
}

/// Name and weight of each reported target: the last may stand for all that follow the others.
fn reported(targets: &[MixTarget]) -> Vec<(String, u64)> {
    let places = TARGETS_REPORTED_MAX as usize;
    let alone = if targets.len() > places { places - 1 } else { targets.len() };
    let (alone, rest) = targets.split_at(alone);
    let mut named: Vec<_> =
        alone.iter().map(|target| (target.name.clone(), u64::from(target.weight))).collect();
    if !rest.is_empty() {
        let weight = rest.iter().map(|target| u64::from(target.weight)).sum();
        named.push((format!("{} others", rest.len()), weight));
    }
    named
}

/// What a record keeps of a trial: the tape of a mix can be as large as the memory that was
/// allowed for it, and comes again from the same command, files and seed.
pub fn kept(trial: &Trial) -> Trial {
    let mut requests: Vec<_> = trial.requests.iter().take(REQUESTS_KEPT).cloned().collect();
    requests.iter_mut().for_each(|request| request.body.truncate(BODY_BYTES_KEPT));
    let targets = trial.targets.iter().take(TARGETS_REPORTED_MAX as usize).cloned().collect();
    Trial { requests, targets, ..trial.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_targets_share_the_last_place() {
        let target = |weight: u32| MixTarget {
            name: format!("GET /{weight}"),
            weight,
            ..MixTarget::default()
        };
        let exactly: Vec<_> = (1..=32).map(target).collect();
        assert_eq!(reported(&exactly)[31], ("GET /32".to_string(), 32));
        let many: Vec<_> = (1..=34).map(target).collect();
        let named = reported(&many);
        assert_eq!((named.len(), &named[30].0[..]), (32, "GET /31"));
        assert_eq!(named[31], ("3 others".to_string(), 32 + 33 + 34));
    }
}
