//! Every requested subscriber received the stream to the end.
//!
//! A stream that is refused or ends early makes the audience smaller than reported, and a server
//! with fewer subscribers looks faster.

use super::Checked;
use crate::case::Case;
use model::figure::Figure;
use model::standing::Standing;

const BOUND: &str = "at most 0.1 % not listening";

pub fn check(case: &Case<'_>) -> Checked {
    let Some(events) = case.point.events() else {
        return Checked::unchecked(BOUND, "the load has no subscribers");
    };
    let subscribers = &events.subscribers;
    let missing = subscribers.asked.saturating_sub(subscribers.accepted);
    let share = (missing + subscribers.lost) as f64 / subscribers.asked.max(1) as f64;
    let why = match (missing, subscribers.lost) {
        (0, 0) => format!("all {} streams were accepted and stayed", subscribers.asked),
        (missing, lost) => format!(
            "{missing} of {} streams were not accepted, {lost} ended in the window",
            subscribers.asked
        ),
    };
    Checked::share(share, 0.001, BOUND, why)
}

/// The audience was that of the streams that stayed.
pub fn leaves(case: &Case<'_>, _: Figure) -> Option<Standing> {
    let subscribers = &case.point.events()?.subscribers;
    let stayed = subscribers.accepted.saturating_sub(subscribers.lost);
    let by = format!("{stayed} of {} streams were accepted and stayed", subscribers.asked);
    Some(Standing::Bounded { low: stayed as f64, high: Some(subscribers.asked as f64), by })
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use model::subject::Subject;

    #[test]
    fn streams_that_are_refused_or_end_break_it() {
        let mut fixture = Fixture::good();
        assert_eq!(super::check(&fixture.case()).ok, None);
        let mut holds = |accepted: u64, lost: u64| {
            let mut events = model::fanout::EventInfo::default();
            let subscribers = &mut events.subscribers;
            (subscribers.asked, subscribers.accepted, subscribers.lost) = (1000, accepted, lost);
            fixture.point.subject = Subject::Events(events);
            super::check(&fixture.case()).ok
        };
        assert_eq!(holds(1000, 1), Some(true));
        assert_eq!(holds(998, 0), Some(false));
        assert_eq!(holds(1000, 2), Some(false));
    }
}
