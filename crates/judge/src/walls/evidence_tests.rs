//! For every wall, a measurement whose verdict names it, and for each piece of evidence the same
//! measurement without that piece, whose verdict does not name it.

use super::{GROUPS, Listed, OFFERED, Test};
use crate::case::Case;
use crate::decide::decide;
use crate::fixture::Fixture;
use model::reading::Doing;
use model::run::Point;
use model::verdict::{Evidence, Named, Verdict};
use model::wall::WallId;
use std::collections::BTreeSet;

/// A measurement, and the lighter levels of its ramp.
pub(super) struct Scene {
    pub fixture: Fixture,
    pub lighter: Vec<Point>,
}

impl Scene {
    fn good() -> Self {
        Self { fixture: Fixture::good(), lighter: Vec::new() }
    }

    fn judged<R>(&mut self, judge: impl Fn(&Case<'_>) -> R) -> R {
        self.fixture.check_gates();
        let mut ramp: Vec<&Point> = self.lighter.iter().collect();
        if !ramp.is_empty() {
            ramp.push(&self.fixture.point);
        }
        judge(&Case { ramp: &ramp, ..self.fixture.case() })
    }

    fn verdict(&mut self) -> Verdict {
        self.judged(|case| decide(case, None))
    }

    /// Whether the verdict names this wall. For one that is not a wall, the evidence must show it.
    fn says(&mut self, wall: WallId) -> bool {
        let verdict = self.verdict();
        let Some(offered) = OFFERED.walls.iter().find(|listed| listed.wall == wall) else {
            return verdict.wall == Named::Wall(wall) || verdict.also.contains(&wall);
        };
        let Test::Seen(seen) = self.judged(offered.test) else { return false };
        verdict.wall == Named::None && verdict.evidence.contains(&seen.findings[0].evidence)
    }
}

pub(super) type Change = fn(&mut Scene);

/// What shows a wall, and what removes one piece of the evidence.
#[derive(Clone, Copy)]
pub(super) struct Signs {
    pub shown: Change,
    pub without: &'static [(&'static str, Change)],
}

/// Eight requests in flight: two threads in such a call, six requests unread.
pub(super) fn two_of_eight(scene: &mut Scene, doing: Doing) {
    scene.fixture.worker(0.05, 0.0);
    scene.fixture.doing(&[(1, 0.01, doing, None), (2, 0.01, doing, None)]);
    scene.fixture.unread_at_server(0.75);
}

pub(super) const READ: (&str, Change) =
    ("unread requests", |scene| scene.fixture.unread_at_server(0.0));
pub(super) const UNSEEN: (&str, Change) =
    ("states of threads", |scene| scene.fixture.observed.doing = None);
pub(super) const COMPUTING: (&str, Change) =
    ("threads that wait", |scene| two_of_eight(scene, Doing::Running));

fn rows() -> impl Iterator<Item = &'static Listed> {
    GROUPS.iter().flat_map(|group| group.walls)
}

#[test]
fn a_wall_is_listed_once() {
    let listed: Vec<WallId> = rows().map(|row| row.wall).collect();
    assert_eq!(listed.iter().collect::<BTreeSet<_>>().len(), listed.len());
}

#[test]
fn a_verdict_names_each_wall_by_its_evidence() {
    let other = |row: &Listed| {
        let mut scene = Scene::good();
        (row.signs.shown)(&mut scene);
        let verdict = scene.verdict();
        let (against, evidence) = (&verdict.against, verdict.evidence.first());
        let found = format!("{}: {} {against:?} {evidence:?}", row.wall, verdict.name);
        (!scene.says(row.wall)).then_some(found)
    };
    assert_eq!(rows().filter_map(other).collect::<Vec<_>>(), [""; 0]);
}

/// Each of these has a counter of its own: what others take of the server's CPU lengthens the wait
/// for it, and is not it. K1, K6 and K7 are what a server without CPU time looks like, and a pause
/// what it waits for.
#[test]
fn a_counted_limit_keeps_its_name_beside_a_neighbour() {
    let rows = super::COUNTED.walls.iter();
    let looks_so = [WallId::K1, WallId::K6, WallId::K7, WallId::A4, WallId::A5];
    let kept = rows.filter(|row| !looks_so.contains(&row.wall));
    let other = |row: &Listed| {
        let mut scene = Scene::good();
        scene.fixture.server.as_mut().unwrap().cpus_allowed = vec![0];
        scene.fixture.trial.cpus = vec![1];
        scene.fixture.cpu(0, 0.99);
        scene.fixture.server_thread(0.50, 0.49);
        (row.signs.shown)(&mut scene);
        let verdict = scene.verdict();
        (!scene.says(row.wall)).then(|| format!("{}: {}", row.wall, verdict.name))
    };
    assert_eq!(kept.filter_map(other).collect::<Vec<_>>(), [""; 0]);
}

/// The first line of a verdict: the thing and its number.
#[test]
fn a_named_wall_says_what_happens_there() {
    let mut silent = Vec::new();
    for row in rows() {
        let mut scene = Scene::good();
        (row.signs.shown)(&mut scene);
        let verdict = scene.verdict();
        let is_named = matches!(verdict.wall, Named::Wall(_));
        if is_named && verdict.sentence.is_none_or(|words| words.ends_with('.')) {
            silent.push(row.wall.id());
        }
    }
    assert_eq!(silent, [""; 0]);
}

#[test]
fn without_any_piece_of_its_evidence_a_wall_is_not_named() {
    let mut still = Vec::new();
    for row in rows() {
        assert!(!row.signs.without.is_empty(), "{}", row.wall);
        for (what, take) in row.signs.without {
            let mut scene = Scene::good();
            (row.signs.shown)(&mut scene);
            take(&mut scene);
            if scene.says(row.wall) {
                still.push(format!("{} without {what}", row.wall));
            }
        }
    }
    assert_eq!(still, [""; 0]);
}

/// The page links such evidence to the chart it comes from.
#[test]
fn evidence_of_a_host_names_what_it_was_made_of() {
    let is_drawn = |one: &Evidence| {
        let of_generator = ["engine", "connect()", "socket()", "net.ipv4.ip_local_port_range"];
        let has_no_chart = one.source.starts_with("gate") || one.field.contains("DelayedACKs");
        !has_no_chart && !of_generator.contains(&one.source.as_str())
    };
    let mut nameless = Vec::new();
    for row in rows() {
        let mut scene = Scene::good();
        (row.signs.shown)(&mut scene);
        let evidence = scene.verdict().evidence;
        let without = evidence.into_iter().filter(|one| is_drawn(one) && one.read.is_empty());
        nameless.extend(without.map(|one| format!("{}: {} {}", row.wall, one.source, one.field)));
    }
    assert_eq!(nameless, [""; 0]);
}
