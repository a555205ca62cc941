//! The walls this version can name: one file each, all of one shape.
//!
//! A test looks at one point and says whether the signals of its wall are there, with the evidence
//! sorted into families. How many families are needed, and what to say when two walls show, is
//! decided in one place, `verdict.rs`.

mod accept_queue;
mod application_lock;
mod blocked_log;
mod client_cpu;
mod client_files;
mod client_link;
mod client_ports;
mod client_reads;
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
mod neighbours;
mod not_a_rate;
mod offered_rate;
mod packet_loss;
mod packet_rate;
mod pauses;
mod provider_limit;
mod receive_backlog;
mod receive_cpu;
mod round_trip;
mod server_cpu;
mod server_files;
mod server_link;
mod server_thread;
mod short_connections;
mod socket_buffer;
mod spinning;
mod storage;
mod syn_queue;
mod uneven_load;
mod unsteady;
mod worker_pool;
mod wrong_responses;

#[cfg(test)]
mod evidence_tests;
mod loss;
pub(crate) use loss::resent;
mod shaping;
mod waiting;
mod windows;

use crate::case::{Case, WARM, percent};
use model::verdict::Evidence;
use model::wall::WallId;

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

/// The signals of a wall are there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// What was observed.
    pub findings: Vec<Finding>,
    /// What speaks against it.
    pub against: Vec<String>,
    /// What would settle it, or move it.
    pub next: Vec<String>,
}

impl Seen {
    /// Adds an observation.
    pub fn with(
        mut self,
        family: Family,
        host: &str,
        source: &str,
        field: &str,
        value: String,
        rule: &str,
    ) -> Self {
        let [host, source, field, rule] = [host, source, field, rule].map(str::to_string);
        let evidence = Evidence { host, source, field, value, rule };
        self.findings.push(Finding { family, evidence });
        self
    }

    /// Adds a next step.
    pub fn next(mut self, step: impl Into<String>) -> Self {
        self.next.push(step.into());
        self
    }

    /// Number of different families.
    pub fn families(&self) -> usize {
        let mut families: Vec<_> = self.findings.iter().map(|finding| finding.family).collect();
        families.sort();
        families.dedup();
        families.len()
    }

    /// Whether there is more than utilisation to it.
    pub fn is_more_than_utilisation(&self) -> bool {
        self.findings.iter().any(|finding| finding.family != Family::ThreadStates)
    }
}

/// What a wall's test found.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// Its signals are there.
    Seen(Seen),
    /// They are not.
    NotSeen,
    /// What it needs was not read.
    Untested,
}

/// A wall as listed.
pub struct Listed {
    /// Which one.
    pub wall: WallId,
    /// Its test.
    pub test: fn(&Case<'_>) -> Test,
}

/// What the walls of a group have in common when it comes to a verdict.
pub struct Group {
    /// Walls in the order in which they are believed.
    pub walls: &'static [Listed],
}

/// Limits with a count, and stops that are seen as such: nearly certain when seen, and able to
/// imitate all others.
pub const COUNTED: Group = Group {
    walls: &[
        Listed { wall: WallId::C8, test: client_files::test },
        Listed { wall: WallId::C7, test: client_ports::test },
        Listed { wall: WallId::K3, test: server_files::test },
        Listed { wall: WallId::K10, test: conntrack::test },
        Listed { wall: WallId::K1, test: accept_queue::test },
        Listed { wall: WallId::K2, test: syn_queue::test },
        Listed { wall: WallId::S3, test: cpu_quota::test },
        Listed { wall: WallId::N4, test: provider_limit::test },
        Listed { wall: WallId::K8, test: server_link::test },
        Listed { wall: WallId::K9, test: packet_rate::test },
        Listed { wall: WallId::C5, test: client_link::test },
        Listed { wall: WallId::K5, test: receive_backlog::test },
        Listed { wall: WallId::A5, test: pauses::test },
        Listed { wall: WallId::A4, test: limiter::test },
    ],
};

/// The measurement itself.
pub const MEASUREMENT: Group = Group {
    walls: &[
        Listed { wall: WallId::M1, test: not_a_rate::test },
        Listed { wall: WallId::M4, test: wrong_responses::test },
        Listed { wall: WallId::M3, test: unsteady::test },
    ],
};

/// The generator's punctuality and CPU, and how fast it reads.
pub const CLIENT: Group = Group {
    walls: &[
        Listed { wall: WallId::C4, test: late_generator::test },
        Listed { wall: WallId::C1, test: client_cpu::test },
        Listed { wall: WallId::C2, test: client_thread::test },
        Listed { wall: WallId::C9, test: client_reads::test },
    ],
};

/// The server's CPU and memory.
pub const SERVER: Group = Group {
    walls: &[
        Listed { wall: WallId::A9, test: memory::test },
        Listed { wall: WallId::S6, test: neighbours::test },
        Listed { wall: WallId::K4, test: receive_cpu::test },
        Listed { wall: WallId::S7, test: spinning::test },
        Listed { wall: WallId::S4, test: cpu_mask::test },
        Listed { wall: WallId::K14, test: uneven_load::test },
        Listed { wall: WallId::S1, test: server_cpu::test },
        Listed { wall: WallId::S2, test: server_thread::test },
    ],
};

/// What the application waits for while nothing is busy.
pub const APPLICATION: Group = Group {
    walls: &[
        Listed { wall: WallId::A8, test: short_connections::test },
        Listed { wall: WallId::A3, test: downstream::test },
        Listed { wall: WallId::A6, test: storage::test },
        Listed { wall: WallId::A10, test: blocked_log::test },
        Listed { wall: WallId::A1, test: application_lock::test },
        Listed { wall: WallId::A2, test: worker_pool::test },
        Listed { wall: WallId::A7, test: delayed_acks::test },
    ],
};

/// What is between the hosts, while nothing is busy.
pub const PATH: Group = Group {
    walls: &[
        Listed { wall: WallId::N2, test: packet_loss::test },
        Listed { wall: WallId::K12, test: socket_buffer::test },
    ],
};

/// Not a wall: the load itself is the limit.
pub const OFFERED: Group = Group {
    walls: &[
        Listed { wall: WallId::M2, test: offered_rate::test },
        Listed { wall: WallId::N1, test: round_trip::test },
        Listed { wall: WallId::C3, test: in_flight::test },
    ],
};

/// All of them, in the order in which they are asked.
pub const GROUPS: [&Group; 7] =
    [&COUNTED, &MEASUREMENT, &CLIENT, &SERVER, &APPLICATION, &PATH, &OFFERED];

impl Group {
    /// This wall of the group, when its signals are there.
    pub fn first_of(&self, case: &Case<'_>, wall: WallId) -> Option<(WallId, Seen)> {
        let listed = self.walls.iter().find(|listed| listed.wall == wall)?;
        match (listed.test)(case) {
            Test::Seen(seen) => Some((wall, seen)),
            Test::NotSeen | Test::Untested => None,
        }
    }

    /// The first wall of the group whose signals are there.
    pub fn first_seen(&self, case: &Case<'_>) -> Option<(WallId, Seen)> {
        self.walls.iter().find_map(|listed| match (listed.test)(case) {
            Test::Seen(seen) => Some((listed.wall, seen)),
            Test::NotSeen | Test::Untested => None,
        })
    }
}

/// A generator close to its limit: not a wall by itself, but beside a hot server it cannot be
/// excluded.
pub fn client_near_limit(case: &Case<'_>) -> Option<(WallId, Seen)> {
    let load = case.worker_load().filter(|load| *load >= WARM)?;
    let hottest = case.hottest_worker()?;
    let has_spare_cpus = (case.trial.threads as usize) < case.client_cpus().len();
    let seen = Seen::default().with(
        Family::ThreadStates,
        "client",
        "schedstat",
        &format!("time {} ran or waited for a CPU", hottest.name),
        percent(load),
        "over 90 %: close to its limit",
    );
    let seen = seen.next("give the generator more CPUs (--cpus, -t), or a second host");
    Some((if has_spare_cpus { WallId::C2 } else { WallId::C1 }, seen))
}

/// Walls that this version has no test for, or whose test lacked its readings in this case.
pub fn not_tested(case: &Case<'_>) -> Vec<WallId> {
    let was_tested = |wall: WallId| {
        let mut listed = GROUPS.iter().flat_map(|group| group.walls);
        listed.any(|listed| listed.wall == wall && (listed.test)(case) != Test::Untested)
    };
    WallId::ALL.iter().map(|(wall, _)| *wall).filter(|wall| !was_tested(*wall)).collect()
}
