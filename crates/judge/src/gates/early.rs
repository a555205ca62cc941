//! Good responses are responses to whole requests.
//!
//! A server may respond before it has read the request: to refuse a large body, to redirect, or
//! because it answers from the head alone. If it then reads the rest, the request leaves whole, and
//! only its times are those of its head. If it closes the connection instead, the rest is never
//! sent: such a response is none to the request that was asked for. The gate counts those whose
//! status is good; others are failures, whatever was sent.

use super::Checked;
use crate::case::Case;
use model::figure::Figure;
use model::standing::Standing;

const BOUND: &str = "at most 1 % of the good responses are to requests that never left whole";
const SHARE_MAX: f64 = 0.01;

pub fn check(case: &Case<'_>) -> Checked {
    let requests = &case.point.requests;
    if requests.completed == 0 {
        return Checked::unchecked(BOUND, "no response was good");
    }
    let (cut, good) = (requests.cut, requests.completed);
    let why = match cut {
        0 => format!("all {good} good responses are to requests that left whole"),
        _ => format!(
            "{cut} of {good} good responses came before their request was out, and the server \
             closed the connection instead of reading the rest"
        ),
    };
    Checked::share(share(case), SHARE_MAX, BOUND, why)
}

pub fn leaves(case: &Case<'_>, figure: Figure) -> Option<Standing> {
    let by = "the server answered requests without reading all of them".to_string();
    let rate = case.point.rate;
    match figure {
        Figure::Rate => {
            Some(Standing::Bounded { low: rate * (1.0 - share(case)), high: Some(rate), by })
        }
        _ => None,
    }
}

fn share(case: &Case<'_>) -> f64 {
    let requests = &case.point.requests;
    requests.cut as f64 / requests.completed.max(1) as f64
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use model::figure::Figure;
    use model::standing::Standing;

    #[test]
    fn good_responses_to_parts_of_requests_bound_the_rate_and_strike_the_times() {
        let mut fixture = Fixture::good();
        let good = fixture.point.requests.completed;
        (fixture.point.requests.early, fixture.point.requests.cut) = (good, good / 200);
        assert_eq!(super::check(&fixture.case()).ok, Some(true), "they are read in the end");
        fixture.point.requests.cut = good / 4;
        assert_eq!(super::check(&fixture.case()).ok, Some(false));
        fixture.check_gates();
        let rate = fixture.point.rate;
        let Standing::Bounded { low, high, .. } = fixture.point.standing.of(Figure::Rate) else {
            panic!("{:?}", fixture.point.standing);
        };
        assert!(*low < 0.76 * rate && *high == Some(rate), "{low} {high:?}");
        assert!(fixture.point.standing.of(Figure::P50).is_not_known());
        assert!(fixture.point.standing.of(Figure::Ceiling).is_not_known());
    }
}
