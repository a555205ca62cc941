//! JUnit XML as GitLab, Jenkins and GitHub actions read it.

use super::{Case, CaseOutcome, Report};
use crate::html::escape;

/// A report as one document.
pub fn junit(report: &Report) -> String {
    let count =
        |is: fn(&CaseOutcome) -> bool| report.cases.iter().filter(|case| is(&case.outcome)).count();
    let totals = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\"",
        report.cases.len(),
        count(|outcome| matches!(outcome, CaseOutcome::Failed(_))),
        count(|outcome| matches!(outcome, CaseOutcome::Error(_))),
        count(|outcome| matches!(outcome, CaseOutcome::Skipped(_))),
        report.cases.iter().map(|case| case.time_s).fold(0.0, f64::max),
    );
    // Readers of old dialects reject a time zone.
    let at = report.started_at.as_deref().map(|at| at.trim_end_matches('Z'));
    let at = at.map_or(String::new(), |at| format!(" timestamp=\"{}\"", escape(at)));
    let cases: String = report.cases.iter().map(|case| element(report, case)).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"ceiling\" {totals}>\n  \
         <testsuite name=\"{}\" {totals}{at}>\n{cases}  </testsuite>\n</testsuites>\n",
        escape(&report.title)
    )
}

fn element(report: &Report, case: &Case) -> String {
    let head = format!(
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\">",
        escape(&report.class),
        escape(&case.name),
        case.time_s
    );
    let body = match &case.outcome {
        CaseOutcome::Passed(found) => format!("<system-out>{}</system-out>", escape(found)),
        CaseOutcome::Skipped(why) => format!("<skipped message=\"{}\"/>", escape(why)),
        CaseOutcome::Failed(why) => element_with_reason("failure", why),
        CaseOutcome::Error(why) => element_with_reason("error", why),
    };
    format!("{head}\n      {body}\n    </testcase>\n")
}

/// The reason as attribute and as text: some readers show the one, some the other.
fn element_with_reason(element: &str, why: &str) -> String {
    let why = escape(why);
    format!("<{element} message=\"{why}\" type=\"ceiling\">{why}</{element}>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use model::ending::Strictness;

    #[test]
    fn documents_read_like_this() {
        let run = |run| junit(&Report::of_run(&run, Strictness::OfFigure));
        insta::assert_snapshot!("expectations", run(fixtures::load_open()));
        insta::assert_snapshot!("levels", run(fixtures::ramp_quota()));
        insta::assert_snapshot!("void", run(fixtures::ramp_invalid()));
        let (experiment, runs) = fixtures::experiment();
        insta::assert_snapshot!("cells", junit(&Report::of_experiment(&experiment, &runs)));
    }

    #[test]
    fn no_text_leaves_its_place() {
        let text = junit(&Report::of_failure("ceiling load http://h/\"><x>&\u{1}", "a\n]]><b"));
        assert!(text.contains("http://h/&quot;&gt;&lt;x&gt;&amp;\\u{1}"), "{text}");
        assert!(text.contains("message=\"a\\n]]&gt;&lt;b\""), "{text}");
        assert!(text.contains("errors=\"1\""), "{text}");
    }
}
