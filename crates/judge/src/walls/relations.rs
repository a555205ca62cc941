//! Which wall hides which.
//!
//! In: a wall whose signals are present. Out: whether others explain them, cause them, may be meant
//! by them, or limit beside it. Never: a signal; the tests of the walls have those, and none of
//! them asks another. A wall that relates to no other has no row.

use super::{Family, GROUPS, Seen, Test};
use crate::case::Case;
use model::wall::{Side, WallId};
use observe::ThreadShare;

/// Share of a thread's runnable time spent waiting for a CPU, above which the wait matters.
const WAITS: f64 = 0.10;

/// How a wall relates to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    /// Any of them explains its signals: it does not count as seen.
    ExplainedBy,
    /// Any of them explains its signals, unless a counter of its own shows it.
    ImitatedBy,
    /// When it and one of them show, that one is named: it can cause this wall.
    CausedBy,
    /// Any of them may be what its signals mean.
    MayBe,
    /// It and one of them limit together: each has a counter of its own.
    Beside,
}

/// A wall and others, one of which is enough.
struct Row {
    wall: WallId,
    is: Relation,
    others: &'static [WallId],
    when: fn(&Case<'_>) -> bool,
}

const fn row(wall: WallId, is: Relation, others: &'static [WallId]) -> Row {
    Row { wall, is, others, when: |_| true }
}

impl Row {
    const fn when(self, when: fn(&Case<'_>) -> bool) -> Self {
        Self { when, ..self }
    }
}

/// Limits of the host, which make requests wait as a limiter does.
const OF_THE_HOST: &[WallId] = &[
    WallId::S3,
    WallId::N4,
    WallId::K8,
    WallId::K9,
    WallId::C5,
    WallId::C6,
    WallId::K5,
    WallId::K11,
    WallId::A5,
];
/// The generator at its limit.
const GENERATOR: &[WallId] =
    &[WallId::C11, WallId::C10, WallId::C4, WallId::C1, WallId::C2, WallId::C9];

/// The whole relation.
const ROWS: &[Row] = &[
    // A server that lacks CPU time accepts late.
    row(WallId::K1, Relation::ExplainedBy, &[WallId::S1, WallId::S2, WallId::S4, WallId::S6]),
    // A full CPU does not empty a ring.
    row(WallId::K6, Relation::ExplainedBy, &[WallId::S1]),
    row(WallId::K7, Relation::ExplainedBy, &[WallId::K4, WallId::S1]),
    // A server that may open no more files accepts nothing.
    row(WallId::A2, Relation::ExplainedBy, &[WallId::K3]),
    // In closed loop a generator without CPU time is late.
    row(WallId::C4, Relation::ExplainedBy, &[WallId::C1, WallId::C2]).when(|case| !case.is_open()),
    row(WallId::A4, Relation::ImitatedBy, OF_THE_HOST),
    // It sends to some workers while others wait.
    row(WallId::K14, Relation::CausedBy, GENERATOR),
    // On shared CPUs it is itself the neighbour.
    row(WallId::S6, Relation::CausedBy, &[WallId::C4, WallId::C1, WallId::C2, WallId::C9])
        .when(|case| case.shares_cpus()),
    // Full CPUs reclaim memory, run what holds the requests, or run other processes.
    row(WallId::S1, Relation::MayBe, &[WallId::A9, WallId::A4, WallId::A3, WallId::A1, WallId::S6]),
    row(WallId::S4, Relation::MayBe, &[WallId::A9, WallId::A4, WallId::A3, WallId::A1, WallId::S6]),
    row(WallId::S6, Relation::MayBe, &[WallId::A9, WallId::A4, WallId::A3, WallId::A1, WallId::A2]),
    // A thread that hardly waits for a CPU would gain little from an empty host.
    row(WallId::S2, Relation::MayBe, &[WallId::S6]).when(waits_for_a_cpu),
    row(WallId::S3, Relation::Beside, &[WallId::K8, WallId::K9, WallId::C5, WallId::C6]),
];

fn waits_for_a_cpu(case: &Case<'_>) -> bool {
    let hottest = case.hottest_server_thread();
    hottest.is_some_and(|hot: &ThreadShare| hot.wait > WAITS * hot.wanted())
}

/// The walls to which this one relates in this way in this case.
fn others<'a>(case: &'a Case<'_>, wall: WallId, is: Relation) -> impl Iterator<Item = WallId> + 'a {
    let rows = ROWS.iter().filter(move |row| row.wall == wall && row.is == is);
    rows.filter(|row| (row.when)(case)).flat_map(|row| row.others.iter().copied())
}

/// Whether two walls relate in this way in this case.
pub(crate) fn relates(case: &Case<'_>, wall: WallId, is: Relation, other: WallId) -> bool {
    others(case, wall, is).any(|one| one == other)
}

/// Whether other processes on its CPUs may be what these signals mean.
pub(crate) fn may_be_neighbours(case: &Case<'_>, wall: WallId) -> bool {
    relates(case, wall, Relation::MayBe, WallId::S6)
}

/// What the test of a wall alone finds, whatever else shows.
fn alone(case: &Case<'_>, wall: WallId) -> Option<Seen> {
    let listed = GROUPS.iter().flat_map(|group| group.walls).find(|one| one.wall == wall)?;
    match (listed.test)(case) {
        Test::Seen(seen) => Some(seen),
        Test::NotSeen | Test::Untested => None,
    }
}

/// Whether other walls explain these signals of a wall.
pub(crate) fn is_explained(case: &Case<'_>, wall: WallId, seen: &Seen) -> bool {
    let is_seen = |is| others(case, wall, is).any(|other| alone(case, other).is_some());
    let is_counted = seen.findings.iter().any(|one| one.family == Family::HardCounter);
    is_seen(Relation::ExplainedBy) || (!is_counted && is_seen(Relation::ImitatedBy))
}

/// The signals of walls of the server that others explain: they are evidence of these.
pub(crate) fn explained(case: &Case<'_>) -> Seen {
    let rows = ROWS.iter().filter(|row| row.is == Relation::ExplainedBy);
    let of_server = rows.filter(|row| row.wall.side() == Side::Server);
    let mut all = Seen::default();
    for seen in of_server.filter_map(|row| alone(case, row.wall)) {
        all.findings.extend(seen.findings);
    }
    all
}

/// The first wall that limits beside this one, in the order of their tests.
pub(crate) fn beside(case: &Case<'_>, wall: WallId) -> Option<(WallId, Seen)> {
    let all = GROUPS.iter().flat_map(|group| group.walls);
    let related = |one: &&super::Listed| relates(case, wall, Relation::Beside, one.wall);
    all.filter(related).find_map(|listed| match listed.ask(case) {
        Test::Seen(seen) => Some((listed.wall, seen)),
        Test::NotSeen | Test::Untested => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn rows_are_of_walls_that_are_listed_and_explain_none_by_itself() {
        let listed: BTreeSet<WallId> =
            GROUPS.iter().flat_map(|group| group.walls).map(|one| one.wall).collect();
        for row in ROWS {
            assert!(listed.contains(&row.wall), "{}", row.wall);
            for other in row.others {
                assert!(listed.contains(other) && *other != row.wall, "{} {other}", row.wall);
            }
        }
        let hides = |wall: WallId| {
            let rows = ROWS.iter().filter(move |row| row.wall == wall);
            rows.filter(|row| matches!(row.is, Relation::ExplainedBy | Relation::ImitatedBy))
        };
        for row in listed.iter().flat_map(|wall| hides(*wall)) {
            for other in row.others {
                assert_eq!(hides(*other).count(), 0, "{} is hidden by {other}", row.wall);
            }
        }
    }
}
