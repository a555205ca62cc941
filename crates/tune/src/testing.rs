//! Hosts made up of plain files, signals of runs made up, and what knobs say to both; for tests.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::Place;
use model::root::Root;
use model::tuning::{Basis, CpuSignal, Side, Signals};
use model::verdict::Named;
use model::wall::WallId;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that looks like a host to [`Host::look`]; removed when dropped.
#[derive(Debug)]
pub struct MadeUp {
    folder: PathBuf,
    cpus: u32,
}

impl MadeUp {
    /// A host with so many CPUs, all possible, online and allowed.
    pub fn new(name: &str, cpus: u32) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let unique = format!("ceiling-tune-{name}-{}-{number}", std::process::id());
        let made = Self { folder: std::env::temp_dir().join(unique), cpus };
        let list = if cpus == 1 { "0".to_string() } else { format!("0-{}", cpus - 1) };
        for file in ["possible", "online", "present"] {
            made.write(&format!("/sys/devices/system/cpu/{file}"), &list);
        }
        made.write("/proc/self/status", &format!("Cpus_allowed_list:\t{list}"));
        made.write("/proc/sys/kernel/random/boot_id", "00000000-0000-4000-8000-000000000001");
        made
    }

    /// Writes a file of the host, with a line end as the kernel does.
    pub fn write(&self, path: &str, text: &str) -> &Self {
        let file = Root::below(&self.folder).path(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("{text}\n")).unwrap();
        self
    }

    /// A device with so many queues in each direction, steering off.
    pub fn device(self, name: &str, queues: u32) -> Self {
        let zero = vec!["00000000"; self.cpus.div_ceil(32) as usize].join(",");
        for queue in 0..queues {
            let rx = format!("/sys/class/net/{name}/queues/rx-{queue}");
            self.write(&format!("{rx}/rps_cpus"), &zero).write(&format!("{rx}/rps_flow_cnt"), "0");
            self.write(&format!("/sys/class/net/{name}/queues/tx-{queue}/xps_cpus"), &zero);
        }
        self
    }

    /// Looks at it.
    pub fn host(&self) -> Host {
        Host::look(Root::below(&self.folder))
    }
}

impl Drop for MadeUp {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Signals of a run that says where its wall is, and nothing else.
pub fn at_wall(wall: WallId) -> Signals {
    let client_is_wall = matches!(wall.side(), model::wall::Side::Client);
    Signals { wall: Some(Named::Wall(wall)), client_is_wall, ..Signals::default() }
}

/// What the journal's runs on two large hosts of one LAN measured: a server that idles, a
/// generator that is full, no counter above zero.
pub fn seeds() -> Signals {
    let cpus = |busy| (0..128).map(|cpu| CpuSignal { cpu, busy, softirq: busy / 4.0 }).collect();
    let side = |busy| Side {
        cpus: Some(cpus(busy)),
        us_per_request: Some(3.0),
        hottest_thread: Some(busy),
        waiting_share: Some(0.0),
        throttled_share: Some(0.0),
        rx_queues: Some(16),
        tx_queues: Some(16),
        link_use: Some(0.04),
        backlog_drops: Some(0),
        time_squeezes: Some(0),
        device_drops: Some(0),
        qdisc_drops: Some(0),
        accept_overflows: Some(0),
        accept_queue_peak: Some(0.0),
        backlog: Some(4096),
        syn_drops: Some(0),
        retransmit_share: Some(0.0),
        time_wait: Some(0),
        time_wait_overflows: Some(0),
        ports_use: Some(0.02),
        files_use: Some(0.01),
        conntrack_use: Some(0.0),
        receive_window_limited: Some(0.0),
        send_buffer_limited: Some(0.0),
        memory_pressure: Some(0.0),
        clock_ratio: Some(1.0),
        ..Side::default()
    };
    Signals {
        rate: Some(790_000.0),
        noise: Some(0.02),
        connections: Some(512),
        connection_rate: Some(0.0),
        p50_ns: Some(650_000),
        bytes_per_response: Some(150.0),
        bytes_per_request: Some(60.0),
        rtt_us: Some(120.0),
        server: side(0.02),
        client: side(1.0),
        ..at_wall(WallId::C1)
    }
}

/// What a knob would do at each of its places on a host, by what is shown of the place.
pub fn proposals(knob: &Knob, host: &Host, wish: &Wish) -> Vec<(String, Proposal)> {
    let Act::Settable { places, propose, .. } = &knob.act else { panic!("{} is advice", knob.id) };
    let places = places(host, wish);
    let count = places.len();
    let proposal = |(index, place): (usize, &Place)| {
        let seen = place.read(host).unwrap()?;
        let ask = Ask { host, wish, place, index, count, now: &seen.value };
        Some((place.show(), propose(&ask)))
    };
    places.iter().enumerate().filter_map(proposal).collect()
}

/// A knob whose file has this text: what each profile would do, in the order of
/// [`Profile::ALL`].
pub fn by_profile(knob: &Knob, path: &str, text: &str) -> Vec<Proposal> {
    let made = MadeUp::new("profile", 4);
    made.write(path, text);
    let of = |profile: &(&str, Profile)| {
        let wish = Wish { profile: profile.1, ..Wish::default() };
        let all = proposals(knob, &made.host(), &wish);
        all.into_iter().find(|(place, _)| place == path).expect("the file is a place").1
    };
    Profile::ALL.iter().map(of).collect()
}

/// What a profile sets by [`by_profile`], with nothing for those that leave or refuse.
pub fn sets(knob: &Knob, path: &str, text: &str) -> Vec<Option<String>> {
    let set = |proposal| match proposal {
        Proposal::Set(value) => Some(value),
        Proposal::Leave(why) | Proposal::Refuse(why) => {
            assert!(!why.is_empty());
            None
        }
    };
    by_profile(knob, path, text).into_iter().map(set).collect()
}

/// A knob that a count decides: nothing at zero, something above, unknown when not measured.
pub fn follows_count(knob: &Knob, set: fn(&mut Signals, Option<u64>)) {
    let basis = |hits| {
        let mut signals = Signals::default();
        set(&mut signals, hits);
        (knob.predict)(&signals).basis
    };
    let found = [basis(Some(0)), basis(Some(7)), basis(None)];
    assert_eq!(found, [Basis::NoEffect, Basis::Bounded, Basis::Unknown], "{}", knob.id);
}

/// A knob that a share decides: nothing at zero, something at 99 %, unknown when not measured.
pub fn follows_share(knob: &Knob, set: fn(&mut Signals, Option<f64>)) {
    let basis = |share| {
        let mut signals = Signals::default();
        set(&mut signals, share);
        (knob.predict)(&signals).basis
    };
    let found = [basis(Some(0.0)), basis(Some(0.99)), basis(None)];
    assert_eq!(found, [Basis::NoEffect, Basis::Bounded, Basis::Unknown], "{}", knob.id);
}

/// A knob that the verdict decides: something at its wall, nothing at another, else unknown.
pub fn follows_wall(knob: &Knob, wall: WallId) {
    let basis = |signals: &Signals| (knob.predict)(signals).basis;
    let found = [basis(&at_wall(wall)), basis(&at_wall(WallId::N5)), basis(&Signals::default())];
    assert_eq!(found, [Basis::Bounded, Basis::NoEffect, Basis::Unknown], "{}", knob.id);
}

/// What an advice says there is now, on a host made up of these files.
pub fn now(knob: &Knob, files: &[(&str, &str)]) -> Option<String> {
    let made = MadeUp::new("now", 2);
    files.iter().for_each(|(path, text)| {
        made.write(path, text);
    });
    let Act::Advice { now, advice } = &knob.act else { panic!("{} is settable", knob.id) };
    assert!(!advice.is_empty());
    now(&made.host())
}
