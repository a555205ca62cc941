//! The walls that this version can name: one file per wall, all of the same shape.
//!
//! A test looks at one point and says whether the signals of its wall are present, with the
//! evidence sorted into families. How many families are needed is decided in `decide.rs`, and which
//! wall to name when two show by the groups here and by `relations.rs`.
//!
//! To add a wall, write its file and its row here. The group and the place in it decide which wall
//! is named first; the row says what its test needs and what an experiment would find. A wall that
//! another one imitates has a row in `relations.rs`. Its tests have `SIGNS`: what shows it.

mod accept_queue;
mod application_lock;
mod between_hosts;
mod blocked_log;
mod client_cpu;
mod client_files;
mod client_link;
mod client_neighbours;
mod client_packets;
mod client_ports;
mod client_reads;
mod client_receive_cpu;
mod client_thread;
mod conntrack;
mod cpu_mask;
mod cpu_quota;
mod delayed_acks;
mod downstream;
mod in_flight;
mod late_generator;
mod limiter;
mod memory;
mod most_requests;
mod neighbours;
mod nic_ring;
mod not_a_rate;
mod offered_rate;
mod orphans;
mod packet_loss;
mod packet_rate;
mod pauses;
mod provider_limit;
mod receive_backlog;
mod receive_cpu;
mod renewal;
mod round_trip;
mod server_cpu;
mod server_files;
mod server_link;
mod server_ports;
mod server_thread;
mod short_connections;
mod socket_buffer;
mod socket_memory;
mod softirq_budget;
mod spinning;
mod stolen_cpu;
mod storage;
mod stream_defence;
mod stream_limit;
mod stream_window;
mod syn_queue;
mod uneven_load;
mod unsteady;
mod worker_pool;
mod wrong_responses;

pub(crate) mod elimination;
#[cfg(test)]
mod evidence_tests;
mod loss;
mod predicts;
pub(crate) mod relations;
mod shaping;
mod waiting;
mod windows;

pub(crate) use client_neighbours::{alone as generator_alone, is_full as is_generator_full};
pub(crate) use late_generator::limited as is_generator_late;
pub(crate) use limiter::refused_beside;
pub(crate) use loss::resent;
pub(crate) use memory::unexplained as unexplained_stalls;
pub(crate) use most_requests::at_most_requests;
pub(crate) use neighbours::beside as beside_neighbours;
pub(crate) use predicts::{CLIENT_CAN, LOAD, LOAD_LIMITS, Predicts, SERVER_CPU, SOMETHING_WAITS};
pub(crate) use server_cpu::busiest;
pub(crate) use server_thread::takes_turns;
pub(crate) use waiting::with_unread;

use crate::case::{Case, WARM, percent};
use model::perturbation::Resource;
use model::step::Step;
use model::verdict::Evidence;
use model::wall::{Side, WallId};
use predicts::{CLIENT_CPU, CLIENT_LOOPS, CONNECTIONS, OTHER_SIDE};

/// Kinds of evidence. Ten figures of one kind are not ten witnesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// A counter or error number that means one thing.
    HardCounter,
    /// Where requests are waiting.
    QueueLocation,
    /// What threads and CPUs did.
    ThreadStates,
    /// How throughput and latency follow the load.
    RampShape,
}

/// One observation in favour of a wall.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Its kind.
    pub family: Family,
    /// The observation.
    pub evidence: Evidence,
}

/// Where an observation comes from: a file or a call, and the readings it was made of, as in
/// [`Evidence::read`], such as `("sock_diag", ["listeners"])`. A text alone has no readings to
/// draw.
#[derive(Debug, Clone)]
pub struct Origin<'a> {
    source: &'a str,
    read: Vec<String>,
}

impl<'a, S: AsRef<str> + ?Sized> From<&'a S> for Origin<'a> {
    fn from(source: &'a S) -> Self {
        Self { source: source.as_ref(), read: Vec::new() }
    }
}

impl<'a, S: AsRef<str> + ?Sized, const N: usize> From<(&'a S, [&str; N])> for Origin<'a> {
    fn from((source, read): (&'a S, [&str; N])) -> Self {
        Self { source: source.as_ref(), read: read.map(str::to_string).to_vec() }
    }
}

/// The signals of a wall are present.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// The evidence.
    pub findings: Vec<Finding>,
    /// The evidence against it.
    pub against: Vec<String>,
    /// What happens at the wall: the thing and its number, as a sentence without its stop. Absent
    /// only from what is no wall by itself.
    pub sentence: Option<String>,
    /// What moves it, where the case says more than [`WallId::fix`].
    pub fix: Option<String>,
    /// What would settle the wall.
    pub next: Vec<Step>,
    /// The side and the name, when the wall can be on either host and it is not on the usual one.
    pub elsewhere: Option<(Side, &'static str)>,
}

impl Seen {
    /// Adds an observation.
    pub fn with<'a>(
        mut self,
        family: Family,
        host: &str,
        source: impl Into<Origin<'a>>,
        field: &str,
        value: String,
        rule: &str,
    ) -> Self {
        let Origin { source, read } = source.into();
        let [host, source, field, rule] = [host, source, field, rule].map(str::to_string);
        let evidence = Evidence { host, source, field, value, rule, read };
        self.findings.push(Finding { family, evidence });
        self
    }

    /// A counter that must not rise, but did.
    pub fn counted<'a>(
        host: &str,
        source: impl Into<Origin<'a>>,
        field: &str,
        value: String,
    ) -> Self {
        Self::default().with(Family::HardCounter, host, source, field, value, "any")
    }

    /// Says what happens at the wall, with its number.
    pub fn saying(self, sentence: impl Into<String>) -> Self {
        Self { sentence: Some(sentence.into()), ..self }
    }

    /// Says what moves the wall, with what only this case tells: a number, a name.
    pub fn fixed_by(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }

    /// Adds a next step.
    pub fn next(mut self, step: impl Into<Step>) -> Self {
        self.next.push(step.into());
        self
    }

    /// Says that the wall is on this side, under this name.
    pub fn at(self, side: Side, name: &'static str) -> Self {
        Self { elsewhere: Some((side, name)), ..self }
    }

    /// On which side this wall was seen.
    pub fn side(&self, wall: WallId) -> Side {
        self.elsewhere.map_or(wall.side(), |(side, _)| side)
    }

    /// The name of this wall where it was seen.
    pub fn name(&self, wall: WallId) -> &'static str {
        self.elsewhere.map_or(wall.name(), |(_, name)| name)
    }

    /// Number of different families.
    pub fn families(&self) -> usize {
        let mut families: Vec<_> = self.findings.iter().map(|finding| finding.family).collect();
        families.sort();
        families.dedup();
        families.len()
    }

    /// Whether the evidence is more than utilisation.
    pub fn is_more_than_utilisation(&self) -> bool {
        self.findings.iter().any(|finding| finding.family != Family::ThreadStates)
    }
}

/// What a wall's test found.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// Its signals are present.
    Seen(Seen),
    /// They are not.
    NotSeen,
    /// What the test needs was not read.
    Untested,
}

/// A wall as listed.
pub struct Listed {
    /// Which one.
    pub wall: WallId,
    /// Its test.
    pub test: fn(&Case<'_>) -> Test,
    /// What shows it, and what of that cannot be left out.
    #[cfg(test)]
    signs: evidence_tests::Signs,
    /// What it predicts about experiments; nothing if no experiment can tell about the wall.
    pub predicts: Option<Predicts>,
    /// What its test reads of the load.
    needs: Needs,
    /// For a wall that is seen by when responses arrive: whether these signals show it however
    /// punctual the generator is.
    timed: Option<fn(&Case<'_>, &Seen) -> bool>,
}

/// What a test reads of the load. Another tool that makes it reports less than our engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// Nothing that a tool does not report.
    Report,
    /// The received bytes, which some tools report.
    Bytes,
    /// What none reports: outcomes of connections, our classes of errors, good responses by tenths
    /// of a second, send delays, bytes sent.
    Engine,
}

/// The row of a wall, from its id and the name of its file.
macro_rules! wall {
    ($id:ident, $file:ident) => {
        Listed {
            wall: WallId::$id,
            test: $file::test,
            #[cfg(test)]
            signs: $file::tests::SIGNS,
            predicts: None,
            needs: Needs::Report,
            timed: None,
        }
    };
}

impl Listed {
    /// What its test finds in a case.
    pub fn ask(&self, case: &Case<'_>) -> Test {
        let is_missing = match self.needs {
            Needs::Report => false,
            Needs::Bytes => case.point.bytes.received == 0,
            Needs::Engine => true,
        };
        if case.is_reported() && is_missing {
            return Test::Untested;
        }
        match (self.test)(case) {
            Test::Seen(seen) if relations::is_explained(case, self.wall, &seen) => Test::NotSeen,
            test => test,
        }
    }

    /// Whether a generator that is late can show these signals as well.
    pub(crate) fn is_of_time(&self, case: &Case<'_>, seen: &Seen) -> bool {
        self.timed.is_some_and(|is_reported| !is_reported(case, seen))
    }

    const fn needs(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }

    const fn timed(self, is_reported: fn(&Case<'_>, &Seen) -> bool) -> Self {
        Self { timed: Some(is_reported), ..self }
    }

    const fn predicts(self, predicts: Predicts) -> Self {
        Self { predicts: Some(predicts), ..self }
    }

    /// The rate follows any of these and nothing that the client contributes.
    const fn follows(self, resources: &'static [Resource]) -> Self {
        self.predicts(Predicts { follows: resources, stays: &[OTHER_SIDE] })
    }
}

/// Walls that are named in a fixed order.
pub struct WallGroup {
    /// Walls in the order in which one is named before another.
    pub walls: &'static [Listed],
}

/// Limits with a count, and stops that are observed directly: nearly certain when seen, and able to
/// imitate all other walls.
pub const COUNTED: WallGroup = WallGroup {
    walls: &[
        wall!(C8, client_files).needs(Needs::Engine),
        wall!(C7, client_ports).needs(Needs::Engine),
        wall!(K3, server_files).needs(Needs::Engine),
        wall!(K15, server_ports).needs(Needs::Engine),
        wall!(K10, conntrack),
        wall!(K1, accept_queue).needs(Needs::Engine),
        wall!(K2, syn_queue),
        wall!(A4, limiter)
            .needs(Needs::Engine)
            .timed(limiter::is_announced)
            .predicts(SOMETHING_WAITS),
        wall!(S3, cpu_quota).follows(SERVER_CPU),
        wall!(N4, provider_limit),
        wall!(K8, server_link).needs(Needs::Bytes).follows(&[Resource::ResponseBytes]),
        wall!(K9, packet_rate).needs(Needs::Bytes).predicts(SOMETHING_WAITS),
        wall!(C5, client_link).needs(Needs::Engine).follows(&[Resource::ResponseBytes]),
        wall!(C6, client_packets).predicts(SOMETHING_WAITS),
        wall!(K5, receive_backlog),
        wall!(K6, softirq_budget),
        wall!(K7, nic_ring),
        wall!(K11, socket_memory),
        wall!(K13, orphans).needs(Needs::Engine),
        wall!(A5, pauses).needs(Needs::Engine).timed(pauses::is_reported),
    ],
};

/// Accounts that do not agree: there is no rate.
pub const ACCOUNTS: WallGroup = WallGroup { walls: &[wall!(M1, not_a_rate)] };

/// Faults in the responses or the window: there is a rate, and it is no ceiling.
pub const MEASUREMENT: WallGroup = WallGroup {
    walls: &[
        wall!(M4, wrong_responses).needs(Needs::Engine),
        wall!(M3, unsteady).needs(Needs::Engine),
    ],
};

/// The generator's punctuality and CPU, and how fast it reads.
pub const CLIENT: WallGroup = WallGroup {
    walls: &[
        wall!(C11, client_neighbours),
        wall!(C10, client_receive_cpu),
        wall!(C4, late_generator).needs(Needs::Engine),
        wall!(C1, client_cpu).predicts(CLIENT_CPU),
        wall!(C2, client_thread).predicts(CLIENT_LOOPS),
        wall!(C9, client_reads),
    ],
};

/// The server's CPU and memory.
pub const SERVER: WallGroup = WallGroup {
    walls: &[
        wall!(A9, memory),
        wall!(S5, stolen_cpu),
        wall!(S6, neighbours),
        wall!(K4, receive_cpu),
        wall!(S7, spinning),
        wall!(S4, cpu_mask).follows(SERVER_CPU),
        wall!(K14, uneven_load).needs(Needs::Engine),
        wall!(S1, server_cpu).follows(SERVER_CPU),
        wall!(S2, server_thread).follows(SERVER_CPU),
    ],
};

/// What the application waits for while nothing is busy.
pub const APPLICATION: WallGroup = WallGroup {
    walls: &[
        wall!(A14, stream_defence).needs(Needs::Engine),
        wall!(A13, renewal).needs(Needs::Engine),
        wall!(A12, stream_window).needs(Needs::Engine).predicts(CONNECTIONS),
        wall!(A11, stream_limit).needs(Needs::Engine).predicts(CONNECTIONS),
        wall!(A3, downstream).predicts(SOMETHING_WAITS),
        wall!(A8, short_connections).needs(Needs::Engine),
        wall!(A6, storage),
        wall!(A10, blocked_log),
        wall!(A1, application_lock).predicts(SOMETHING_WAITS),
        wall!(A2, worker_pool).predicts(SOMETHING_WAITS),
        wall!(A7, delayed_acks),
    ],
};

/// Walls between the hosts, while neither host is busy.
pub const PATH: WallGroup = WallGroup {
    walls: &[
        wall!(N2, packet_loss),
        wall!(N5, between_hosts).needs(Needs::Engine),
        wall!(K12, socket_buffer),
    ],
};

/// Not a wall: the load itself is the limit.
pub const OFFERED: WallGroup = WallGroup {
    walls: &[
        wall!(M2, offered_rate).predicts(LOAD_LIMITS),
        wall!(N1, round_trip).predicts(LOAD_LIMITS),
        wall!(C3, in_flight).predicts(LOAD_LIMITS),
    ],
};

/// All of them, in the order of their tests.
pub const GROUPS: [&WallGroup; 8] =
    [&COUNTED, &ACCOUNTS, &MEASUREMENT, &CLIENT, &SERVER, &APPLICATION, &PATH, &OFFERED];

impl WallGroup {
    /// The first wall of the group whose signals are present.
    pub fn first_seen(&self, case: &Case<'_>) -> Option<(WallId, Seen)> {
        self.walls.iter().find_map(|listed| match listed.ask(case) {
            Test::Seen(seen) => Some((listed.wall, seen)),
            Test::NotSeen | Test::Untested => None,
        })
    }
}

/// A generator close to its limit: not a wall by itself, but it cannot be excluded when the server
/// is busy too.
pub fn client_near_limit(case: &Case<'_>) -> Option<(WallId, Seen)> {
    let load = case.worker_load().filter(|load| *load >= WARM)?;
    let hottest = case.hottest_worker()?;
    let has_spare_cpus = (case.trial.threads as usize) < case.client_cpus().len();
    let seen = Seen::default().with(
        Family::ThreadStates,
        "client",
        ("schedstat", ["client_threads"]),
        &format!("time {} ran or waited for a CPU", hottest.name),
        percent(load),
        "over 90 %: close to its limit",
    );
    let seen = seen.saying(format!(
        "{} of the generator has work in {} of its time",
        hottest.name,
        percent(load)
    ));
    let seen = seen.next("give the generator more CPUs (--cpus, -t), or a second host");
    Some((if has_spare_cpus { WallId::C2 } else { WallId::C1 }, seen))
}

/// Walls that this version has no test for, or whose test lacked readings in this case.
pub fn not_tested(case: &Case<'_>) -> Vec<WallId> {
    let was_tested = |wall: WallId| {
        let mut listed = GROUPS.iter().flat_map(|group| group.walls);
        listed.any(|listed| listed.wall == wall && listed.ask(case) != Test::Untested)
    };
    WallId::ALL.iter().map(|(wall, _)| *wall).filter(|wall| !was_tested(*wall)).collect()
}
