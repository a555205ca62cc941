//! C8: the generator ran out of file descriptors.
//!
//! Signals: error numbers of socket(), open descriptors of the generator and their limit.
//! Rule: any socket() that failed with EMFILE or ENFILE. A trial that needs more descriptors than
//! the limit is refused beforehand; this test catches a limit that was lowered, or a host-wide
//! limit.
//! Mimics: none; K3 is the same on the server.
//! Confirm: a higher limit (ulimit -n) stops the errors.
//! Source: socket(2), Linux admin-guide/sysctl/fs.rst (file-max, nr_open).
//! Name: client file descriptors
//! Reason: the generator may open no more files
//! Fix: allow it more open files: ulimit -n

use super::{Family, Seen, Test};
use crate::case::Case;
use model::tick::ErrorClass;
use model::units::show_things;

pub fn test(case: &Case<'_>) -> Test {
    let failed = case.errors(ErrorClass::Fds);
    if failed == 0 {
        return Test::NotSeen;
    }
    let mut seen = Seen::counted(
        "client",
        "socket()",
        "attempts that failed with EMFILE or ENFILE",
        failed.to_string(),
    );
    if let Some(files) = case.observed.client_files {
        seen = seen.with(
            Family::QueueLocation,
            "client",
            ("/proc/self/fd", ["client_files"]),
            "open descriptors and their limit",
            format!("{} of {}", files.open, files.limit),
            "at the limit",
        );
    }
    let limit = case.observed.client_files.map(|files| format!(" {}", files.limit));
    let limit = limit.unwrap_or_default();
    seen = seen.saying(format!(
        "{} could not be opened: the generator has all{limit} files open that it may open",
        show_things(failed, "connection")
    ));
    let needed = case.point.connections.asked + 100;
    Test::Seen(seen.fixed_by(format!("allow more open files: ulimit -n {needed}")))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| scene.fixture.error("fds", 5),
        without: &[("the error", |scene| scene.fixture.error("fds", 0))],
    };

    #[test]
    fn one_failed_attempt_is_enough() {
        let mut fixture = Fixture::good();
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
        fixture.error("fds", 1);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
    }
}
