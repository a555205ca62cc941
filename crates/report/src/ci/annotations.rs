//! Annotations as GitHub workflow commands: one line each, which the runner removes from the log
//! and shows next to the change.

use super::{CaseOutcome, Report};
use model::printable::printable;

/// GitHub shows at most this many per step.
const SHOWN_MAX: usize = 10;

/// One line for each case that did not pass.
pub fn annotations(report: &Report) -> Vec<String> {
    let line = |name: &str, outcome: &CaseOutcome| {
        let (command, why) = match outcome {
            CaseOutcome::Passed(_) => return None,
            CaseOutcome::Skipped(why) => ("warning", why),
            CaseOutcome::Failed(why) | CaseOutcome::Error(why) => ("error", why),
        };
        let (title, why) = (property(&format!("ceiling: {name}")), data(why));
        Some(format!("::{command} title={title}::{why}"))
    };
    let lines = report.cases.iter().filter_map(|case| line(&case.name, &case.outcome));
    lines.take(SHOWN_MAX).collect()
}

/// Escapes the text after the second pair of colons.
fn data(text: &str) -> String {
    printable(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property, which a colon or comma would end.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use model::ending::Strictness;

    #[test]
    fn what_failed_is_annotated_in_one_line_each() {
        let report = Report::of_run(&fixtures::load_open(), Strictness::OfFigure);
        let expected = [
            "::error title=ceiling%3A errors<0.1%25::missed: measured 20.7%25, 206 times the bound",
            "::error title=ceiling%3A max<5s::undecided: max falls among 64 requests without a \
             response",
        ];
        assert_eq!(annotations(&report), expected);
        let good = Report::of_run(&fixtures::ramp_no_wall(), Strictness::OfFigure);
        assert_eq!(annotations(&good), [""; 0]);
    }

    #[test]
    fn no_text_makes_a_command_of_its_own() {
        let report = Report::of_failure("ceiling load x", "a\n::add-mask::b\r, 5 %");
        let expected = "::error title=ceiling%3A the measurement::a\\n::add-mask::b\\r, 5 %25";
        assert_eq!(annotations(&report), [expected]);
    }
}
