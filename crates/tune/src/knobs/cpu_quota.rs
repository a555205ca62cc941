//! T58: the quota of CPU time of the server's control group.
//!
//! Path: `cpu.max` of version 2, `max` or a quota and a period; `cpu.cfs_quota_us` of version 1, -1
//! for none; of the server's group and those above it. The root of version 2 has no such file; the
//! outermost group that a container sees, which is called `/` there, may have one.
//! Matters when: the group was throttled (S3). The most common wall in containers.
//! Predicts: nothing without throttling; then up to the next wall.
//! Risk: neighbours on the host lose what the server gains.
//! Verify: nr_throttled of cpu.stat no longer grows.
//! With: the program that made the container may set it again.
//! Source: Linux Documentation/admin-guide/cgroup-v2.rst, Documentation/scheduler/sched-bwc.rst.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::group::{CPU_MAX, QUOTA};
use crate::place::{Format, Place};
use crate::predict;
use ::host::cgroup::{self, Group};
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;
use std::fs;

pub const KNOB: Knob = Knob {
    id: "T58",
    name: "cpu-quota",
    about: "CPU time a control group may use",
    scope: Scope::Process,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "neighbours lose what the server gains",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::S3, WallId::S6];

fn places(host: &Host, _: &Wish) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let groups = |pid: &u32| cgroup::chain(&host.root, "cpu", *pid).unwrap_or_default();
    // The root of a container may be a group with a quota. That of a host has no such file, or in
    // version 1 one that reads -1 and takes no value.
    let may_have = |group: &Group| {
        let file = group.folder.join(if group.version == 1 { QUOTA } else { CPU_MAX });
        group.path != "/" || fs::read_to_string(file).is_ok_and(|quota| quota.trim() != "-1")
    };
    for group in host.servers.iter().flat_map(groups).filter(may_have) {
        let path = |file: &str| host.root.known_as(&group.folder.join(file)).display().to_string();
        let place = match group.version {
            1 => Place::number(path(QUOTA)),
            _ => Place::File { path: path(CPU_MAX), format: Format::Word },
        };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let free = match ask.now.split_once(' ') {
        Some((_, period)) => format!("max {period}"),
        None => "-1".to_string(),
    };
    match ask.wish.profile {
        _ if ask.now == free => Proposal::Leave("there is no quota".to_string()),
        Profile::Seeds => Proposal::Leave("the journal's server had no quota".to_string()),
        Profile::Throughput | Profile::Latency | Profile::Churn => Proposal::Set(free),
    }
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "nr_throttled of the server's control group above 0 (S3)";
    let nothing = predict::elsewhere(signals, WALLS, reconsider);
    match predict::finite(signals.server.throttled_share) {
        Some(share) if share > 0.0 => nothing.unwrap_or_else(|| {
            let share = share * 100.0;
            let shown = format!("throttled in {share:.0} % of periods");
            predict::up_to_the_next_wall(signals, &shown, reconsider)
        }),
        Some(_) => {
            let arithmetic = "throttled in no period".to_string();
            Prediction::no_effect(predict::noise(signals), arithmetic, reconsider)
        }
        None => nothing
            .unwrap_or_else(|| predict::unknown("throttling of the control group", reconsider)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};

    #[test]
    fn it_follows_what_was_measured() {
        testing::follows_share(&KNOB, |signals, share| signals.server.throttled_share = share);
    }

    #[test]
    fn quotas_of_the_group_and_those_above_it_are_lifted() {
        let made = MadeUp::new("t58", 2);
        made.write("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
        made.write("/proc/7/cgroup", "0::/a/b");
        made.write("/sys/fs/cgroup/a/cpu.max", "max 100000");
        made.write("/sys/fs/cgroup/a/b/cpu.max", "150000 100000");
        let host = Host { servers: vec![7], ..made.host() };
        let found = testing::proposals(&KNOB, &host, &Wish::default());
        assert_eq!(found[0].0, "/sys/fs/cgroup/a/b/cpu.max");
        assert_eq!(found[0].1, Proposal::Set("max 100000".to_string()));
        assert!(matches!(found[1].1, Proposal::Leave(_)), "{found:?}");
    }

    /// In its own namespace of control groups, a container's group is the root.
    #[test]
    fn the_quota_of_a_container_is_that_of_its_root() {
        let made = MadeUp::new("t58", 2);
        made.write("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
        made.write("/proc/7/cgroup", "0::/");
        let host = Host { servers: vec![7], ..made.host() };
        assert_eq!(places(&host, &Wish::default()), [], "the root of a host");
        made.write("/sys/fs/cgroup/cpu.max", "150000 100000");
        let found = testing::proposals(&KNOB, &host, &Wish::default());
        let set = Proposal::Set("max 100000".to_string());
        assert_eq!(found, [("/sys/fs/cgroup/cpu.max".to_string(), set)]);
    }

    #[test]
    fn version_1_says_it_with_a_number() {
        let made = MadeUp::new("t58", 2);
        made.write(
            "/proc/self/mountinfo",
            "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu",
        );
        made.write("/proc/7/cgroup", "1:cpu:/a\n0::/");
        made.write("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000");
        let host = Host { servers: vec![7], ..made.host() };
        let found = testing::proposals(&KNOB, &host, &Wish::default());
        assert_eq!(found[0].1, Proposal::Set("-1".to_string()));
        made.write("/proc/7/cgroup", "1:cpu:/\n0::/");
        made.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
        assert!(testing::proposals(&KNOB, &host, &Wish::default()).is_empty(), "a host's root");
    }
}
