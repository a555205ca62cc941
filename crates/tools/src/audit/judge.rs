//! What all checks say about each figure.

use crate::audit::checks::{self, CHECKS, Listed};
use model::audit::{Account, Audit, Claim, Figure, Finding, Foreign, Given, Outcome, SCHEMA};
use model::order::OrderBy as _;
use model::unit::Unit;

/// Audits several files: each entry is a file, the part of it, and what it reported.
pub fn audit(report: Vec<(String, String, Foreign)>, given: &Given) -> Audit {
    let mut accounts: Vec<Account> =
        report.into_iter().map(|(file, name, report)| account(file, name, report, given)).collect();
    for (at, finding) in checks::links(&accounts) {
        let about = |claim: &&mut Claim| finding.claims.contains(&claim.name);
        for claim in accounts[at].claims.iter_mut().filter(about) {
            claim.findings.push(finding.clone());
            settle(claim);
        }
    }
    let together = checks::together(&accounts);
    Audit { schema: SCHEMA.into(), given: given.clone(), accounts, together }
}

/// Audits one account.
pub fn account(file: String, name: String, foreign: Foreign, given: &Given) -> Account {
    let said = |listed: &Listed, report: &Foreign| -> Vec<Finding> {
        let said = (listed.check)(report, given).into_iter();
        said.map(|finding| Finding { check: listed.id.into(), ..finding }).collect()
    };
    let (first, others) = (&CHECKS[0], &CHECKS[1..]);
    let impossible = said(first, &foreign);
    let rest = checks::rest(&foreign, &impossible);
    let findings = others.iter().flat_map(|listed| said(listed, &rest));
    let findings: Vec<Finding> = impossible.iter().cloned().chain(findings).collect();
    let figures = foreign.figures();
    let claims =
        figures.into_iter().map(|(name, unit, figure)| claim(name, unit, figure, &findings));
    let claims = claims.collect();
    Account { file, name, foreign, claims }
}

fn claim(name: String, unit: Unit, figure: &Figure, findings: &[Finding]) -> Claim {
    let about = |finding: &&Finding| finding.claims.contains(&name);
    let findings: Vec<Finding> = findings.iter().filter(about).cloned().collect();
    let (figure, outcome) = (figure.clone(), Outcome::Undecided);
    let mut claim = Claim { name, unit, figure, outcome, bound: None, findings };
    settle(&mut claim);
    claim
}

/// The worst finding decides, and is the first; equal outcomes in the order of the checks.
fn settle(claim: &mut Claim) {
    claim.findings.order_by_key(|finding| std::cmp::Reverse(finding.outcome));
    let worst = claim.findings.first();
    claim.outcome = worst.map_or(Outcome::Undecided, |worst| worst.outcome);
    claim.bound = claim.findings.iter().find_map(|finding| finding.bound);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::read::read;

    fn judged(text: &str, given: &Given) -> Account {
        account("-".into(), String::new(), read(&mut text.as_bytes(), given).unwrap(), given)
    }

    fn outcome(account: &Account, name: &str) -> Outcome {
        account.claims.iter().find(|claim| claim.name == name).expect("the claim").outcome
    }

    #[test]
    fn a_figure_that_no_check_can_look_at_is_undecided() {
        let report = Foreign { success: Some(Figure::exact(1.0, 1)), ..Foreign::default() };
        let account = account("-".into(), String::new(), report, &Given::default());
        assert_eq!(account.claims[0].outcome, Outcome::Undecided);
        assert!(account.claims[0].findings.is_empty());
    }

    /// 108k/s with a mean of 1.01 ms are 109 requests in flight, on 50 connections.
    #[test]
    fn a_mean_with_times_that_were_added_is_refuted_once_the_depth_is_known() {
        let text = include_str!("../../../../bench/fixtures/wrk-404.txt");
        let unknown = judged(text, &Given::default());
        assert_eq!(outcome(&unknown, "mean"), Outcome::Undecided);
        let known = judged(text, &Given { depth: Some(1), ..Given::default() });
        assert_eq!(outcome(&known, "mean"), Outcome::Impossible);
    }

    #[test]
    fn a_rate_that_is_no_quotient_of_what_is_reported_is_impossible() {
        let text = include_str!("../../../../bench/fixtures/wrk.txt");
        assert_eq!(outcome(&judged(text, &Given::default()), "rate"), Outcome::Holds);
        let changed = text.replace("175225.20", "185225.20");
        assert_eq!(outcome(&judged(&changed, &Given::default()), "rate"), Outcome::Impossible);
    }
}
