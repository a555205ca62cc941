//! The walls this version can name: one file each, all of one shape.
//!
//! A test looks at one point and says whether the signals of its wall are there, with the evidence
//! sorted into families. How many families are needed, and what to say when two walls show, is
//! decided in one place, `verdict.rs`.

mod a1;
mod a10;
mod a2;
mod a3;
mod a4;
mod a5;
mod a6;
mod a7;
mod a8;
mod a9;
mod c1;
mod c2;
mod c3;
mod c4;
mod c5;
mod c7;
mod c8;
mod c9;
mod k1;
mod k10;
mod k12;
mod k14;
mod k2;
mod k3;
mod k4;
mod k5;
mod k8;
mod k9;
mod m1;
mod m2;
mod m3;
mod m4;
mod n1;
mod n2;
mod n4;
mod s1;
mod s2;
mod s3;
mod s4;
mod s6;
mod s7;

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
        Listed { wall: WallId::C8, test: c8::test },
        Listed { wall: WallId::C7, test: c7::test },
        Listed { wall: WallId::K3, test: k3::test },
        Listed { wall: WallId::K10, test: k10::test },
        Listed { wall: WallId::K1, test: k1::test },
        Listed { wall: WallId::K2, test: k2::test },
        Listed { wall: WallId::S3, test: s3::test },
        Listed { wall: WallId::N4, test: n4::test },
        Listed { wall: WallId::K8, test: k8::test },
        Listed { wall: WallId::K9, test: k9::test },
        Listed { wall: WallId::C5, test: c5::test },
        Listed { wall: WallId::K5, test: k5::test },
        Listed { wall: WallId::A5, test: a5::test },
        Listed { wall: WallId::A4, test: a4::test },
    ],
};

/// The measurement itself.
pub const MEASUREMENT: Group = Group {
    walls: &[
        Listed { wall: WallId::M1, test: m1::test },
        Listed { wall: WallId::M4, test: m4::test },
        Listed { wall: WallId::M3, test: m3::test },
    ],
};

/// The generator's punctuality and CPU, and how fast it reads.
pub const CLIENT: Group = Group {
    walls: &[
        Listed { wall: WallId::C4, test: c4::test },
        Listed { wall: WallId::C1, test: c1::test },
        Listed { wall: WallId::C2, test: c2::test },
        Listed { wall: WallId::C9, test: c9::test },
    ],
};

/// The server's CPU and memory.
pub const SERVER: Group = Group {
    walls: &[
        Listed { wall: WallId::A9, test: a9::test },
        Listed { wall: WallId::S6, test: s6::test },
        Listed { wall: WallId::K4, test: k4::test },
        Listed { wall: WallId::S7, test: s7::test },
        Listed { wall: WallId::S4, test: s4::test },
        Listed { wall: WallId::K14, test: k14::test },
        Listed { wall: WallId::S1, test: s1::test },
        Listed { wall: WallId::S2, test: s2::test },
    ],
};

/// What the application waits for while nothing is busy.
pub const APPLICATION: Group = Group {
    walls: &[
        Listed { wall: WallId::A8, test: a8::test },
        Listed { wall: WallId::A3, test: a3::test },
        Listed { wall: WallId::A6, test: a6::test },
        Listed { wall: WallId::A10, test: a10::test },
        Listed { wall: WallId::A1, test: a1::test },
        Listed { wall: WallId::A2, test: a2::test },
        Listed { wall: WallId::A7, test: a7::test },
    ],
};

/// What is between the hosts, while nothing is busy.
pub const PATH: Group = Group {
    walls: &[
        Listed { wall: WallId::N2, test: n2::test },
        Listed { wall: WallId::K12, test: k12::test },
    ],
};

/// Not a wall: the load itself is the limit.
pub const OFFERED: Group = Group {
    walls: &[
        Listed { wall: WallId::M2, test: m2::test },
        Listed { wall: WallId::N1, test: n1::test },
        Listed { wall: WallId::C3, test: c3::test },
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
