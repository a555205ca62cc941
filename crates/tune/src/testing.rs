//! Made-up hosts of plain files, made-up signals of runs, and what knobs do with both; for tests.

use crate::CpuSet;
use crate::host::{Host, Profile, Split, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::knobs::REGISTRY;
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
    /// A host with this many CPUs, all possible, online and allowed.
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

    /// A device with this many queues in each direction, steering off.
    pub fn device(self, name: &str, queues: u32) -> Self {
        // As wide as it will be written: a file keeps the zeros that the kernel would strip.
        let zero = vec!["00000000"; self.cpus.div_ceil(32) as usize].join(",");
        for queue in 0..queues {
            let rx = format!("/sys/class/net/{name}/queues/rx-{queue}");
            self.write(&format!("{rx}/rps_cpus"), &zero).write(&format!("{rx}/rps_flow_cnt"), "0");
            self.write(&format!("/sys/class/net/{name}/queues/tx-{queue}/xps_cpus"), &zero);
        }
        self
    }

    /// Hardware behind a device: interrupts from `first` on, one for each queue and one before them
    /// that only manages, named and placed as the driver of Amazon's adapters does it.
    pub fn hardware(self, name: &str, first: u32, cpus_of_queues: &[u32]) -> Self {
        let device = format!("/sys/class/net/{name}/device");
        let mut table = format!("{:>10}", "");
        (0..self.cpus).for_each(|cpu| table.push_str(&format!(" CPU{cpu:<7}")));
        let mut interrupt = |irq: u32, cpu: u32, what: &str| {
            self.write(&format!("{device}/msi_irqs/{irq}"), "msix");
            for file in ["smp_affinity_list", "effective_affinity_list"] {
                self.write(&format!("/proc/irq/{irq}/{file}"), &cpu.to_string());
            }
            let counts = (0..self.cpus).map(|column| if column == cpu { 3_113_306 } else { 0 });
            let counts: String = counts.map(|count| format!(" {count:>10}")).collect();
            table.push_str(&format!("\n{irq:>4}:{counts} PCI-MSI 1048576-edge {what}"));
        };
        interrupt(first - 1, 0, "ena-mgmnt@pci:0000:5f:00.0");
        for (irq, (queue, cpu)) in (first..).zip(cpus_of_queues.iter().enumerate()) {
            interrupt(irq, *cpu, &format!("{name}-Tx-Rx-{queue}"));
        }
        self.write("/proc/interrupts", &table);
        self.write(&format!("{device}/local_cpulist"), &format!("0-{}", self.cpus - 1));
        let queues = cpus_of_queues.len();
        for (setting, value, most) in [
            ("channels", format!("combined {queues}"), format!("combined {queues}")),
            ("rings", "rx 1024 tx 1024".into(), "rx 16384 tx 1024".into()),
            ("indirection", format!("equal {queues}"), String::new()),
            ("coalescing", "adaptive-rx 0 rx-usecs 0 tx-usecs 64".into(), String::new()),
            ("rx-gro", "on".into(), String::new()),
            ("tx-tcp-segmentation", "on".into(), String::new()),
        ] {
            self.write(&format!("/ethtool/{name}/{setting}"), &value);
            self.write(&format!("/ethtool/{name}/{setting}.most"), &most);
        }
        self
    }

    /// Kernel parameters and a running irqbalance, as a distribution starts them.
    pub fn distribution(self) -> Self {
        self.write("/proc/sys/net/core/rps_sock_flow_entries", "0");
        self.process(700, "irqbalance", &[700])
    }

    /// A process with threads that may run everywhere.
    pub fn process(self, pid: u32, name: &str, tids: &[u32]) -> Self {
        let zeros = " 0".repeat(18);
        self.write(&format!("/proc/{pid}/stat"), &format!("{pid} ({name}) S{zeros} 4711 0 0"));
        self.write(&format!("/proc/{pid}/comm"), name);
        for tid in tids {
            let list = format!("Cpus_allowed_list:\t0-{}", self.cpus - 1);
            self.write(&format!("/proc/{pid}/task/{tid}/status"), &list);
        }
        self
    }

    /// Two CPUs and a virtual device with one queue.
    pub fn two_cpus() -> Self {
        Self::new("two", 2).device("eth0", 1).distribution()
    }

    /// A c6i.2xlarge: 8 CPUs, 8 queues, interrupts 28 to 35.
    pub fn c6i_2xlarge() -> Self {
        let cpus: Vec<u32> = (0..8).collect();
        Self::new("c6i", 8).device("ens5", 8).hardware("ens5", 28, &cpus).distribution()
    }

    /// A c6in.8xlarge: 32 CPUs, 16 queues, one for each of the first CPUs.
    pub fn c6in_8xlarge() -> Self {
        let cpus: Vec<u32> = (0..16).collect();
        Self::new("c6in", 32).device("ens5", 16).hardware("ens5", 40, &cpus).distribution()
    }

    /// A c8i.32xlarge: 128 CPUs, 16 queues in two clusters of CPUs, interrupts 143 to 158.
    pub fn c8i_32xlarge() -> Self {
        let cpus: Vec<u32> = (91..=96).chain(1..=10).collect();
        Self::new("c8i", 128).device("enp95s0", 16).hardware("enp95s0", 143, &cpus).distribution()
    }

    /// 300 CPUs, which no power of two and no group of 32 divides; 32 queues.
    pub fn three_hundred_cpus() -> Self {
        let cpus: Vec<u32> = (0..32).map(|queue| queue * 9).collect();
        Self::new("300", 300).device("eth0", 32).hardware("eth0", 64, &cpus).distribution()
    }

    /// The host as knobs see it.
    pub fn host(&self) -> Host {
        Host::look(Root::below(&self.folder))
    }
}

/// A wish for a profile.
pub fn wish(profile: Profile) -> Wish {
    Wish { profile, ..Wish::default() }
}

/// A wish for a profile with CPUs for packets and for the server.
pub fn split(profile: Profile, network: &str, server: &str) -> Wish {
    let set = |list| CpuSet::parse_list(list).unwrap();
    Wish { split: Some(Split { network: set(network), server: set(server) }), ..wish(profile) }
}

/// What a knob would set at each of its places that exist.
pub fn asked(knob: &Knob, host: &Host, wish: &Wish) -> Vec<(Place, Proposal)> {
    assert!(host.root.path("/").exists(), "this made-up host was dropped too early");
    let Act::Settable { places, propose, .. } = &knob.act else { return Vec::new() };
    let places = places(host, wish);
    let of = |(index, place): (usize, &Place)| {
        let now = place.read(host).unwrap()?.value;
        let ask = Ask { host, wish, place, index, count: places.len(), now: &now };
        Some((place.clone(), propose(&ask)))
    };
    places.iter().enumerate().filter_map(of).collect()
}

/// What one place would be set to; nothing when it would be left, or does not exist.
pub fn wanted(knob: &Knob, host: &Host, wish: &Wish, place: &str) -> Option<String> {
    let all = asked(knob, host, wish);
    let (_, proposal) = all.into_iter().find(|(of, _)| of.show() == place)?;
    if let Proposal::Set(value) = proposal { Some(value) } else { None }
}

/// Everything that all knobs would change, place and bytes, in the order of the catalogue.
pub fn writes(host: &Host, wish: &Wish) -> Vec<(String, String)> {
    let all = REGISTRY.iter().flat_map(|knob| asked(knob, host, wish));
    let changed = |(place, proposal): (Place, Proposal)| {
        let Proposal::Set(value) = proposal else { return None };
        let now = place.read(host).unwrap()?;
        let bytes = match &place {
            Place::File { format, .. } => format.bytes(&value, &now.raw),
            _ => value.clone(),
        };
        (now.value != place.settles_to(&value)).then(|| (place.show(), bytes))
    };
    all.filter_map(changed).collect()
}

/// A run at a wall: four CPUs, each with this share busy and this share in softirq.
pub fn at(wall: WallId, busy: f64, softirq: f64) -> Signals {
    let mut signals = Signals { wall: Some(Named::Wall(wall)), ..Signals::default() };
    let cpus = (0..4).map(|cpu| CpuSignal { cpu, busy, softirq });
    signals.server.cpus = Some(cpus.collect());
    signals
}

/// A run at the wall K4 with one CPU full of softirq and the others mostly idle.
pub fn one_full_cpu(queues: u32) -> Signals {
    let mut signals = at(WallId::K4, 0.3, 0.0);
    let cpus = signals.server.cpus.as_mut().unwrap();
    cpus[2] = CpuSignal { cpu: 2, busy: 1.0, softirq: 0.9 };
    signals.server.rx_queues = Some(queues);
    signals
}

/// What each prediction must do: nothing when its resource is idle, an interval at its limit, and
/// no figure when nothing was measured; with a sum and a counter each time.
pub fn assert_predicts(knob: &Knob, idle: &Signals, at_limit: &Signals) {
    let cases = [
        (idle, Basis::NoEffect),
        (at_limit, Basis::Bounded),
        (&Signals::default(), Basis::Unknown),
    ];
    for (signals, basis) in cases {
        let said = (knob.predict)(signals);
        assert_eq!(said.basis, basis, "{}: {said:?}", knob.id);
        assert!(!said.arithmetic.is_empty() && !said.reconsider.is_empty(), "{said:?}");
        let has_figures = said.arithmetic.chars().any(|letter| letter.is_ascii_digit());
        assert!(basis == Basis::Unknown || has_figures, "{said:?}");
    }
    let mut elsewhere = at_limit.clone();
    elsewhere.wall = Some(Named::Wall(WallId::C1));
    elsewhere.client_is_wall = true;
    let said = (knob.predict)(&elsewhere);
    let promises = said.basis == Basis::Bounded && said.high.is_none_or(|high| high > 0.03);
    assert!(!promises, "{}: the generator was the wall: {said:?}", knob.id);
}

impl Drop for MadeUp {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Signals of a run that names its wall, and nothing else.
pub fn at_wall(wall: WallId) -> Signals {
    let client_is_wall = matches!(wall.side(), model::wall::Side::Client);
    Signals { wall: Some(Named::Wall(wall)), client_is_wall, ..Signals::default() }
}

/// What the journal's runs on two large hosts of one LAN measured: an idle server, a full
/// generator, no counter above zero.
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

/// What a knob would do at each of its places on a host, by the shown name of the place.
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
    let of = |profile| {
        let wish = Wish { profile, ..Wish::default() };
        let all = proposals(knob, &made.host(), &wish);
        all.into_iter().find(|(place, _)| place == path).expect("the file is a place").1
    };
    Profile::ALL.into_iter().map(of).collect()
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
    for wall in [WallId::S1, WallId::A8, WallId::N1] {
        let mut signals = at_wall(wall);
        set(&mut signals, Some(7));
        let said = (knob.predict)(&signals);
        let promises = said.high.is_none_or(|high| high > crate::predict::noise(&signals));
        assert!(!promises || knob.relieves.contains(&wall), "{} at {wall}: {said:?}", knob.id);
    }
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

/// The current value that an advice shows, on a host made up of these files.
pub fn now(knob: &Knob, files: &[(&str, &str)]) -> Option<String> {
    let made = MadeUp::new("now", 2);
    files.iter().for_each(|(path, text)| {
        made.write(path, text);
    });
    let Act::Advice { now, advice } = &knob.act else { panic!("{} is settable", knob.id) };
    assert!(!advice.is_empty());
    now(&made.host())
}
