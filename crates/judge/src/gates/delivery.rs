//! The server, not the generator, is responsible for missing events.
//!
//! A server drops events that a subscriber does not read in time, so a late generator can cause the
//! loss itself. If events are missing, the threads of the subscribers must have had idle time;
//! events without a number are not known to be missing. Events are conserved: each expected event
//! was received, late or missing.

use super::Checked;
use crate::case::{Case, HOT};
use model::fanout::EventInfo;
use model::figure::Figure;
use model::standing::Standing;

const BOUND: &str = "thread under 95 % busy, if events are missing";

pub fn check(case: &Case<'_>) -> Checked {
    let Some(events) = case.point.events() else {
        return Checked::unchecked(BOUND, "the load has no subscribers");
    };
    let Some(delivery) = &events.delivery else {
        let why = events.delivery_absent.as_deref().unwrap_or("events were not counted");
        return Checked::unchecked(BOUND, why);
    };
    let accounted = delivery.received + delivery.late + delivery.missing;
    if accounted != delivery.meant || events.received < delivery.received {
        let why =
            format!("{accounted} events have an outcome, but {} were expected", delivery.meant);
        let measured = Some(accounted.abs_diff(delivery.meant) as f64);
        return Checked { ok: Some(false), measured, bound: BOUND.to_string(), why };
    }
    if delivery.missing == 0 {
        let why = format!("all {} expected events arrived", delivery.meant);
        return Checked { ok: Some(true), measured: Some(0.0), bound: BOUND.to_string(), why };
    }
    judge_missing(case, events, delivery.missing)
}

/// Whether missing events may be the generator's fault.
fn judge_missing(case: &Case<'_>, events: &EventInfo, missing: u64) -> Checked {
    let meant = events.delivery.map_or(0, |delivery| delivery.meant);
    let Some(load) = case.worker_load() else {
        let why = format!("{missing} of {meant} events are missing, and no thread was watched");
        return Checked::unchecked(BOUND, &why);
    };
    let share = load * 100.0;
    let rest = if load < HOT { "it had time to read them" } else { "it may be late itself" };
    let why = format!(
        "{missing} of {meant} events are missing; the generator's busiest thread had work for \
         {share:.0} % of the window: {rest}"
    );
    Checked { ok: Some(load < HOT), measured: Some(share), bound: BOUND.to_string(), why }
}

/// What arrived is a lower bound, because more may have been sent. Nothing if events are not
/// conserved.
pub fn leaves(case: &Case<'_>, figure: Figure) -> Option<Standing> {
    let events = case.point.events()?;
    let delivery = events.delivery.as_ref()?;
    if delivery.received + delivery.late + delivery.missing != delivery.meant {
        return None;
    }
    let by = "the generator had no CPU time left for the missing events".to_string();
    Some(match figure {
        Figure::Delivery => Standing::Bounded { low: events.delivery_share?, high: Some(1.0), by },
        _ => Standing::Bounded { low: events.rate, high: None, by },
    })
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use model::fanout::{Delivery, EventInfo};
    use model::subject::Subject;

    fn with(meant: u64, received: u64, missing: u64) -> EventInfo {
        let delivery = Some(Delivery { meant, received, missing, late: 0, streams: 1 });
        EventInfo { received, delivery, ..EventInfo::default() }
    }

    #[test]
    fn missing_events_do_not_count_when_the_generator_has_no_time() {
        let mut fixture = Fixture::good();
        let check = |fixture: &Fixture| super::check(&fixture.case()).ok;
        assert_eq!(check(&fixture), None);
        fixture.point.subject = Subject::Events(with(100, 90, 10));
        fixture.worker(0.5, 0.0);
        assert_eq!(check(&fixture), Some(true));
        fixture.worker(0.6, 0.38);
        assert_eq!(check(&fixture), Some(false), "it waited for its CPU");
        fixture.observed.client_threads = None;
        assert_eq!(check(&fixture), None);
        fixture.point.subject = Subject::Events(with(100, 100, 0));
        assert_eq!(check(&fixture), Some(true));
        fixture.point.subject = Subject::Events(with(100, 100, 1));
        assert_eq!(check(&fixture), Some(false), "one of them twice");
    }
}
