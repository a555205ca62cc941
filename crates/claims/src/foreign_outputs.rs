//! Reading and auditing the output of other tools never panics, and every outcome has its reason.

use model::audit::{Audit, Foreign, Given, Outcome};

/// Panics if a property does not hold.
pub fn hold(bytes: &[u8]) {
    let given = Given {
        link_bits_per_s: Some(1e9),
        client_cpus: Some(2),
        depth: Some(1),
        connections: Some(8),
        now_s: Some(1.8e9),
        ..Given::default()
    };
    for given in [Given::default(), given] {
        if let Ok(told) = tools::audit::read(&mut &bytes[..], &given) {
            check(vec![(String::new(), told)], &given);
        }
        if let Ok(told) = tools::audit::read_text(&mut &bytes[..], &given) {
            check(told, &given);
        }
    }
}

fn check(told: Vec<(String, Foreign)>, given: &Given) {
    let told = told.into_iter().map(|(name, told)| ("-".to_string(), name, told)).collect();
    let audited: Audit = tools::audit::audit(told, given);
    for claim in audited.accounts.iter().flat_map(|account| &account.claims) {
        let worst = claim.findings.iter().map(|finding| finding.outcome).max();
        assert_eq!(worst.unwrap_or(Outcome::Undecided), claim.outcome);
        assert!(claim.findings.iter().all(|finding| !finding.arithmetic.is_empty()));
        let figure = &claim.figure;
        assert!(figure.value.is_nan() || figure.low <= figure.high, "{claim:?}");
        let is_real = figure.value.is_finite() && figure.value >= 0.0;
        assert!(is_real || claim.outcome == Outcome::Impossible, "{claim:?}");
    }
}
