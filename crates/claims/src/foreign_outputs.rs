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
        if let Ok(account) = tools::audit::read(&mut &bytes[..], &given) {
            check(vec![(String::new(), account)], &given);
        }
        if let Ok(accounts) = tools::audit::read_text(&mut &bytes[..], &given) {
            check(accounts, &given);
        }
    }
}

fn check(accounts: Vec<(String, Foreign)>, given: &Given) {
    let accounts =
        accounts.into_iter().map(|(name, account)| ("-".to_string(), name, account)).collect();
    let audited: Audit = tools::audit::audit(accounts, given);
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
