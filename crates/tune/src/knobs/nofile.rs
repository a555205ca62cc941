//! T39: how many files a process may open, nofile.
//!
//! Path: prlimit(2) of a running process, soft and hard; `/proc/sys/fs/nr_open` is the ceiling.
//! Matters when: a process of the server runs out of descriptors (K3): one per connection, and a
//! few more. The generator raises its own limit itself.
//! Predicts: nothing while files are free; then up to the next wall.
//! Risk: a process that reserves memory per possible descriptor. A hard limit is raised only with
//! CAP_SYS_RESOURCE, and never lowered, as it might not come back.
//! Verify: `Max open files` of /proc/PID/limits, for every process of the server.
//! With: limits.conf does not reach services; LimitNOFILE of the unit does, after a restart.
//! Source: prlimit(2), proc_pid_limits(5).

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::Place;
use crate::predict::{self, Usage};
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T39",
    name: "nofile",
    about: "open files of the server's processes",
    scope: Scope::Process,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "programs that reserve memory per possible file",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::K3];

/// Enough for the most connections that one process holds.
const FILES: u64 = 1_048_576;

fn places(host: &Host, _: &Wish) -> Vec<Place> {
    host.servers.iter().filter_map(|pid| Place::open_files(host, *pid)).collect()
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let ceiling = ask.host.text("/proc/sys/fs/nr_open");
    let ceiling = ceiling.and_then(|text| text.trim().parse().ok()).unwrap_or(FILES);
    let wanted = FILES.min(ceiling);
    let number = |word: &str| word.parse().unwrap_or(u64::MAX);
    let now = ask.now.split_once(' ').map(|(soft, hard)| (number(soft), number(hard)));
    let (soft, hard) = now.unwrap_or_default();
    let wanted = if may_raise(ask.host) { wanted } else { wanted.min(hard) };
    match ask.wish.profile {
        _ if soft >= wanted && wanted < ceiling.min(FILES) => {
            Proposal::Refuse(format!("above {hard} needs the capability CAP_SYS_RESOURCE"))
        }
        _ if soft >= wanted => Proposal::Leave(format!("{soft} is enough")),
        Profile::Latency => Proposal::Leave("few connections need few files".to_string()),
        Profile::Seeds | Profile::Throughput | Profile::Churn if hard == u64::MAX => {
            Proposal::Set(format!("{wanted} unlimited"))
        }
        Profile::Seeds | Profile::Throughput | Profile::Churn => {
            Proposal::Set(format!("{wanted} {}", hard.max(wanted)))
        }
    }
}

/// Whether we may raise a hard limit, which root of a container often may not.
fn may_raise(host: &Host) -> bool {
    const CAP_SYS_RESOURCE: u32 = 24;
    let status = host.text("/proc/self/status").unwrap_or_default();
    let bits = ::host::process::capabilities(status.as_bytes());
    bits.is_none_or(|bits| bits & (1 << CAP_SYS_RESOURCE) != 0)
}

fn predict(signals: &Signals) -> Prediction {
    let held = signals.connections.map(|held| format!("; {held} connections need one each"));
    let room = Usage {
        relieved: WALLS,
        used: signals.server.files_use,
        what: &format!("of the server's limit of open files{}", held.unwrap_or_default()),
        held: None,
        reconsider: "open files of the server above 95 % of its limit (K3)",
    };
    predict::room(signals, &room)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};

    #[test]
    fn it_follows_what_was_measured() {
        testing::follows_share(&KNOB, |signals, share| signals.server.files_use = share);
    }

    #[test]
    fn every_process_of_the_server_gets_as_many_as_the_kernel_allows() {
        let made = MadeUp::new("t39", 2);
        for pid in [7, 8] {
            let stat = format!("{pid} (s) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4242 0");
            made.write(&format!("/proc/{pid}/stat"), &stat);
            made.write(&format!("/proc/{pid}/limits"), "Max open files  1024  4096  files");
        }
        made.write("/proc/sys/fs/nr_open", "65536");
        let host = Host { servers: vec![7, 8, 9], ..made.host() };
        let found = testing::proposals(&KNOB, &host, &Wish::default());
        let set = Proposal::Set("65536 65536".to_string());
        assert_eq!(found.iter().map(|(_, to)| to).collect::<Vec<_>>(), [&set, &set]);
        let latency = Wish { profile: Profile::Latency, ..Wish::default() };
        assert!(matches!(testing::proposals(&KNOB, &host, &latency)[0].1, Proposal::Leave(_)));
        made.write("/proc/self/status", "CapEff:\t000001fffeffffff");
        let found = testing::proposals(&KNOB, &host, &Wish::default());
        assert_eq!(found[0].1, Proposal::Set("4096 4096".to_string()), "without the capability");
    }
}
