//! A figure of a text, what it is a figure of, and which figures make an account.

use crate::audit::bounds::Range;
use model::audit::{Figure, Foreign, Latencies, Meaning, Percentile, RateIs, Since, Tally, Why};

/// A text gives no window. Requests may have started up to this long before it.
const EDGE_S: f64 = 1.0;

/// What a figure is of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Role {
    Rate,
    Connections,
    Depth,
    /// Connections x depth in one figure.
    InFlight,
    Threads,
    Requests,
    Duration,
    BytesRate,
    Mean,
    Max,
    Rank(f64),
    /// A share of the CPUs' time in a state.
    Cpu(&'static str),
    /// A share of a link.
    LinkShare,
    /// The speed of that link.
    Link,
    /// It is not read.
    Open(Why),
}

/// A figure of a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub role: Role,
    pub figure: Figure,
}

impl Found {
    pub(super) fn open(why: Why, printed: &str, line: u64) -> Self {
        let printed = printed.trim().chars().take(40).collect();
        let figure = Figure { line, printed, ..Figure::default() };
        Self { role: Role::Open(why), figure }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.role, Role::Open(_))
    }

    fn differs(&self, other: &Self) -> bool {
        self.role == other.role && Range::read(&self.figure).excludes(Range::read(&other.figure))
    }
}

/// The figures of one sentence or row.
#[derive(Debug, Default)]
pub(super) struct Apart {
    /// What each of them was measured with.
    pub shared: Vec<Found>,
    /// Those that belong together.
    pub groups: Vec<Vec<Found>>,
    pub open: Vec<Found>,
}

/// Puts figures that belong together into groups. Two values of one figure do not say which of
/// them belongs to the others, so then each is alone with what has one value.
pub(super) fn apart(all: Vec<Found>) -> Apart {
    let (open, read): (Vec<Found>, Vec<Found>) = all.into_iter().partition(Found::is_open);
    let is_twice = |one: &Found| read.iter().any(|other| one.differs(other));
    if !read.iter().any(is_twice) {
        return Apart { groups: vec![read], open, ..Apart::default() };
    }
    let is_setting = |one: &Found| {
        matches!(
            one.role,
            Role::Connections | Role::Depth | Role::Threads | Role::InFlight | Role::Link
        )
    };
    let is_shared = |one: &Found| is_setting(one) && !is_twice(one);
    let shared: Vec<Found> = read.iter().filter(|one| is_shared(one)).cloned().collect();
    let others = read.iter().filter(|one| !is_shared(one)).cloned();
    let groups = others.map(|one| vec![one]).collect();
    Apart { shared, groups, open }
}

/// An account, if there is something that a check could ask about.
pub(super) fn foreign(figures: &[Found], since: Since) -> Option<Foreign> {
    let first = |role: Role| {
        let found = figures.iter().find(|one| one.role == role);
        found.map(|one| one.figure.clone())
    };
    let mut latency =
        Latencies { since, mean: first(Role::Mean), max: first(Role::Max), ..Latencies::default() };
    let mut cpu: Vec<Tally> = Vec::new();
    for Found { role, figure } in figures {
        match role {
            Role::Rank(share) if latency.at(*share).is_none() => {
                latency.percentiles.push(Percentile { share: *share, value: figure.clone() });
            }
            Role::Cpu(state) if cpu.iter().all(|one| one.name != *state) => {
                cpu.push(Tally { name: (*state).into(), count: figure.clone() });
            }
            _ => {}
        }
    }
    Percentile::sort(&mut latency.percentiles);
    let mut of = Foreign {
        tool: "text".into(),
        format: "text".into(),
        connections: first(Role::Connections),
        depth: first(Role::Depth),
        threads: first(Role::Threads),
        duration_s: first(Role::Duration),
        requests: first(Role::Requests),
        rate: first(Role::Rate),
        bytes_rate: first(Role::BytesRate),
        link_share: first(Role::LinkShare),
        link_rate: first(Role::Link),
        cpu,
        meaning: Meaning { edge_s: Some(EDGE_S), rate_is: RateIs::Written, ..Meaning::default() },
        ..Foreign::default()
    };
    if let Some(all) = first(Role::InFlight) {
        (of.connections, of.depth) = (Some(all.clone()), Some(Figure::exact(1.0, all.line)));
    }
    let has_latency = !latency.figures().is_empty();
    of.latencies.extend(has_latency.then_some(latency));
    let is_asked = of.rate.is_some() || has_latency || of.bytes_rate.is_some();
    let is_share = !of.cpu.is_empty() || of.link_share.is_some();
    (is_asked || is_share || of.requests.is_some() && of.duration_s.is_some()).then_some(of)
}
