//! Every request sent is completed, failed or unanswered; every planned request is sent or unsent,
//! or unaccounted for if an agent of a fleet was lost. The counts of the agents add up to the
//! whole. Every good response is completed or failed a check, every failure has a reason, and the
//! targets of a mix add up to the whole. Every user who began is through, failed or not through,
//! and so at each step. Connections that come and go are either closed or still
//! open.

use super::Checked;
use crate::case::Case;
use model::fleet::AgentPoint;
use model::run::Point;
use model::tick::ErrorClass;
use model::users::UserInfo;
use std::collections::BTreeMap;

pub fn check(case: &Case<'_>) -> Checked {
    let requests = &case.point.requests;
    let accounted = requests.completed + requests.failed + requests.unanswered;
    let missing = requests.sent.abs_diff(accounted);
    let due = requests.sent + requests.unsent + requests.unaccounted;
    let unplanned = requests.planned.unwrap_or(due).abs_diff(due);
    let good = sum(&case.point.status, &["2xx", "3xx"]) + case.point.called_good();
    let misbooked = good.abs_diff(requests.completed + case.point.mismatched);
    let unexplained = requests.failed.abs_diff(reasons(case.point));
    let divided = undivided(case.point);
    let lost = lost_connections(case.point);
    let disagreeing = disagreeing(case.point);
    let users = case.point.users.as_ref().and_then(UserInfo::gap);
    let off = missing + unplanned + misbooked + unexplained + divided + lost + disagreeing;
    if let Some(gap) = users {
        let bound = "0 requests".to_string();
        return Checked { ok: Some(false), measured: None, bound, why: gap };
    }
    let why = if off == 0 {
        format!("all {} requests are accounted for", requests.sent)
    } else if off == disagreeing {
        format!("the agents' own counts differ from the whole by {disagreeing}")
    } else if off == lost {
        format!("{lost} connections are neither closed nor open, or have no outcome")
    } else {
        format!(
            "{missing} requests unaccounted for, {unplanned} outside the plan, {misbooked} good \
             responses not booked as completed, {unexplained} failures without a reason, {divided} \
             not found among the targets"
        )
    };
    Checked { ok: Some(off == 0), measured: Some(off as f64), bound: "0 requests".to_string(), why }
}

/// How far the counts of all agents are from those of the whole.
fn disagreeing(point: &Point) -> u64 {
    if point.agents.is_empty() {
        return 0;
    }
    let (whole, sum) = (&point.requests, AgentPoint::sum(&point.agents));
    let whole = [whole.sent, whole.completed, whole.failed, whole.unanswered, whole.unsent];
    let parts = [sum.sent, sum.completed, sum.failed, sum.unanswered, sum.unsent];
    let off: u64 = whole.into_iter().zip(parts).map(|(whole, parts)| whole.abs_diff(parts)).sum();
    let starts = point.starts();
    // An agent counts its connections where the load is of connections.
    let Some((whole, parts)) = starts.zip(sum.starts) else { return off };
    off + whole.begun.abs_diff(parts.begun) + whole.unsent.abs_diff(parts.unsent)
}

/// Connections of the window that are neither closed nor open at its end, or both, and connections
/// that were due and have no outcome or more than one.
fn lost_connections(point: &Point) -> u64 {
    let Some(turnover) = point.turnover() else { return 0 };
    let came = turnover.open_before + turnover.established;
    let lost = came.abs_diff(turnover.closed_by_us + turnover.closed_by_peer + turnover.open_after);
    let Some(starts) = &turnover.starts else { return lost };
    let fates = starts.established + starts.failed + starts.pending;
    let unaccounted = AgentPoint::sum(&point.agents).unaccounted;
    let due = starts.due() + unaccounted;
    let unplanned = starts.planned.map_or(0, |planned| planned.abs_diff(due));
    lost + starts.begun.abs_diff(fates) + unplanned
}

fn sum(counts: &BTreeMap<String, u64>, names: &[&str]) -> u64 {
    names.iter().filter_map(|name| counts.get(*name)).sum()
}

/// Failures, added up by reason.
fn reasons(point: &Point) -> u64 {
    let classes = ErrorClass::ALL.iter().filter(|class| class.is_of_requests());
    let classes: Vec<_> = classes.map(|class| class.name()).collect();
    let errors = sum(&point.status, &["4xx", "5xx"]).saturating_sub(point.called_good());
    errors + point.mismatched + sum(&point.errors, &classes)
}

/// How far the targets of a mix are from the whole.
fn undivided(point: &Point) -> u64 {
    if point.targets.is_empty() {
        return 0;
    }
    let (whole, mut parts) = (&point.requests, [0; 4]);
    for target in &point.targets {
        let fates = &target.requests;
        let counts = [fates.sent, fates.completed, fates.failed, fates.unanswered];
        parts.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    let wholes = [whole.sent, whole.completed, whole.failed, whole.unanswered];
    wholes.into_iter().zip(parts).map(|(whole, parts)| whole.abs_diff(parts)).sum()
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use model::fleet::{AgentPoint, AgentStarts};
    use model::run::{Fates, Point, StartInfo, TurnoverInfo, count_target};
    use model::subject::Subject;
    use model::users::UserInfo;

    fn holds_after(change: impl Fn(&mut Point)) -> bool {
        let mut fixture = Fixture::good();
        change(&mut fixture.point);
        super::check(&fixture.case()).ok == Some(true)
    }

    #[test]
    fn users_who_are_missing_break_it() {
        let mut users = UserInfo { begun: 5, completed: 5, ..UserInfo::default() };
        assert!(holds_after(|point| point.users = Some(users.clone())));
        users.completed = 4;
        assert!(!holds_after(|point| point.users = Some(users.clone())));
    }

    #[test]
    fn a_failed_check_is_a_failure_with_a_reason() {
        assert!(holds_after(|_| {}));
        let mismatch = |point: &mut Point| {
            point.requests.completed -= 5;
            point.requests.failed += 5;
            point.mismatched += 5;
        };
        assert!(holds_after(mismatch));
        assert!(
            !holds_after(|point| point.requests.completed -= 1),
            "a request without an outcome"
        );
        assert!(!holds_after(|point| {
            mismatch(point);
            point.mismatched -= 1;
        }));
        let refused_as_wanted = |point: &mut Point| {
            // Five responses of status 429, which a check calls good.
            point.status.insert("4xx".to_string(), 5);
            *point.status.get_mut("2xx").unwrap() -= 5;
            point.status_codes.insert("429".to_string(), 5);
        };
        assert!(holds_after(refused_as_wanted), "an error status that is called good");
        assert!(!holds_after(|point| {
            refused_as_wanted(point);
            point.error_codes.insert("429".to_string(), 1);
        }));
        assert!(
            !holds_after(|point| {
                // Five responses of status 500, of which only four were booked.
                *point.status.get_mut("5xx").unwrap() += 4;
                *point.status.get_mut("2xx").unwrap() -= 5;
                point.requests.completed -= 5;
                point.requests.failed += 5;
            }),
            "a failure without a reason"
        );
    }

    #[test]
    fn connections_are_closed_or_open() {
        let with = |open_after: u64| {
            move |point: &mut Point| {
                point.subject = Subject::Requests(Some(TurnoverInfo {
                    open_before: 10,
                    established: 5,
                    closed_by_us: 3,
                    closed_by_peer: 1,
                    open_after,
                    ..TurnoverInfo::default()
                }));
            }
        };
        assert!(holds_after(with(11)));
        assert!(!holds_after(with(10)) && !holds_after(with(12)));
    }

    #[test]
    fn connections_that_were_due_have_one_fate() {
        let with = |change: fn(&mut StartInfo)| {
            move |point: &mut Point| {
                let planned = Some(100);
                let mut starts =
                    StartInfo { planned, begun: 98, unsent: 2, ..StartInfo::default() };
                (starts.established, starts.failed, starts.pending) = (90, 5, 3);
                change(&mut starts);
                point.subject = Subject::Requests(Some(TurnoverInfo {
                    starts: Some(starts),
                    ..TurnoverInfo::default()
                }));
            }
        };
        assert!(holds_after(with(|_| {})));
        assert!(holds_after(with(|starts| starts.planned = None)), "a window that was cut short");
        assert!(!holds_after(with(|starts| starts.established -= 1)));
        assert!(!holds_after(with(|starts| starts.unsent -= 1)));
    }

    #[test]
    fn connections_of_agents_add_up_to_the_whole() {
        let with = |begun: u64, unaccounted: u64| {
            move |point: &mut Point| {
                let planned = Some(100);
                let starts = StartInfo { planned, begun: 60, unsent: 2, ..StartInfo::default() };
                let starts = StartInfo { established: 60, ..starts };
                point.subject = Subject::Requests(Some(TurnoverInfo {
                    starts: Some(starts),
                    ..TurnoverInfo::default()
                }));
                let whole = &point.requests;
                point.agents = vec![AgentPoint {
                    sent: whole.sent,
                    completed: whole.completed,
                    failed: whole.failed,
                    unanswered: whole.unanswered,
                    unsent: whole.unsent,
                    unaccounted,
                    starts: Some(AgentStarts { begun, unsent: 2 }),
                    ..AgentPoint::default()
                }];
            }
        };
        assert!(holds_after(with(60, 38)), "whatever the number of its requests");
        assert!(!holds_after(with(60, 37)) && !holds_after(with(59, 38)));
    }

    #[test]
    fn targets_add_up_to_the_whole() {
        let target = |fates: Fates| {
            let mut target = count_target("a".to_string(), 1, &Default::default());
            target.requests = fates;
            target
        };
        let with = |lost: u64| {
            move |point: &mut Point| {
                let whole = &point.requests;
                let one = Fates { sent: 7, completed: 7, ..Fates::default() };
                let rest = Fates {
                    sent: whole.sent - 7,
                    completed: whole.completed - 7 - lost,
                    failed: whole.failed,
                    unanswered: whole.unanswered,
                };
                point.targets = vec![target(one), target(rest)];
            }
        };
        assert!(holds_after(with(0)));
        assert!(!holds_after(with(1)));
    }
}
