//! Signals from a sound measurement with one thing changed, and what stays absent.

use super::*;
use crate::decide::undecided;
use crate::fixture::Fixture;
use model::facts::{NicSettings, Unreadable};
use model::reading::Data;
use model::verdict::{Confidence, Named};
use model::wall::WallId;
use observe::{ConntrackUse, InterruptUse, QueuePeak, SoftnetUse};

fn signals_of(fixture: &Fixture) -> Signals {
    of_case(&fixture.case(), &undecided())
}

fn nic(name: &str, speed_mbps: Option<u32>) -> Nic {
    let settings = NicSettings::default();
    let (driver, mtu) = (None, None);
    Nic { name: name.to_string(), driver, mtu, speed_mbps, rx_queues: 4, tx_queues: 2, settings }
}

fn remote(fixture: &mut Fixture) {
    fixture.trial.addresses = vec!["10.0.0.2:8083".parse().expect("an address")];
}

#[test]
fn unread_figures_are_absent_and_not_zero() {
    let mut fixture = Fixture::good();
    fixture.observed = Observed::default();
    fixture.unwatched();
    let signals = signals_of(&fixture);
    assert_eq!(signals.server, Side::default());
    let client = Side { process_cpus: Some(vec![0, 1]), ..Side::default() };
    assert_eq!(signals.client, client, "what we set ourselves is known");
    assert_eq!((signals.rtt_us, signals.is_one_host), (None, false));
}

#[test]
fn the_load_is_that_of_the_point() {
    let signals = signals_of(&Fixture::good());
    assert_eq!((signals.rate, signals.connections), (Some(1000.0), Some(8)));
    assert_eq!((signals.bytes_per_response, signals.bytes_per_request), (Some(130.0), Some(50.0)));
    assert_eq!(signals.connection_rate, Some(0.0), "kept connections");
    assert!(signals.noise.is_some_and(|noise| noise > 0.0 && noise < 0.02), "{signals:?}");
    assert!(signals.is_one_host);
}

#[test]
fn a_measurement_that_is_not_valid_has_no_wall() {
    let named = |wall: WallId| Verdict {
        wall: Named::Wall(wall),
        side: wall.side(),
        confidence: Confidence::Probable,
        ..undecided()
    };
    let of = |wall| of_case(&Fixture::good().case(), &named(wall));
    assert_eq!((of(WallId::M1).wall, of(WallId::M1).confidence), (None, None));
    let client = of(WallId::C2);
    assert_eq!((client.wall, client.client_is_wall), (Some(Named::Wall(WallId::C2)), true));
    assert!(!of(WallId::S1).client_is_wall);
}

#[test]
fn cpus_and_threads_are_those_of_their_own_host() {
    let mut fixture = Fixture::good();
    fixture.apart();
    fixture.softirq(0, 0.7, 0.28);
    fixture.server_threads(&[(7, 0.6), (7, 0.2)]);
    if let Some(threads) = &mut fixture.far().server_threads {
        threads[1].wait = 0.2;
    }
    let signals = signals_of(&fixture);
    let far = signals.server.cpus.unwrap()[0];
    assert!((far.busy - 0.98).abs() < 1e-9 && (far.softirq - 0.7).abs() < 1e-9, "{far:?}");
    assert!((signals.client.cpus.unwrap()[0].busy - 0.3).abs() < 1e-9);
    assert!((signals.server.waiting_share.unwrap() - 0.2).abs() < 1e-9, "0.2 of 1.0 wanted");
    assert_eq!(signals.server.hottest_thread, Some(0.6));
    assert_eq!(signals.server.process_cpus, Some(vec![0, 1]));
}

#[test]
fn the_link_is_the_one_that_carries_the_load() {
    let mut fixture = Fixture::good();
    fixture.host.nics = vec![nic("lo", None), nic("eth0", Some(1000))];
    let link = |name: &str, tx_bytes_s| LinkUse {
        name: name.to_string(),
        tx_bytes_s,
        rx_packets_s: 2000.0,
        tx_packets_s: 1000.0,
        ..LinkUse::default()
    };
    fixture.observed.links = Some(vec![link("lo", 9e6), link("eth0", 25e6)]);
    let near = signals_of(&fixture).server;
    assert_eq!((near.link.as_deref(), near.link_use), (Some("lo"), None), "no speed is known");
    remote(&mut fixture);
    let far = signals_of(&fixture).server;
    assert_eq!((far.link.as_deref(), far.link_use), (Some("eth0"), Some(0.2)));
    assert_eq!((far.rx_queues, far.tx_queues), (Some(4), Some(2)));
    assert_eq!(far.packets_per_s, Some(3000.0));
}

#[test]
fn counters_of_packets_are_summed_over_cpus() {
    let mut fixture = Fixture::good();
    let of_cpu = |cpu, processed_s, dropped, squeezed| SoftnetUse {
        cpu,
        processed: 1,
        processed_s,
        dropped,
        squeezed,
    };
    fixture.observed.softnet = Some(vec![of_cpu(0, 10.0, 3, 5), of_cpu(1, 20.0, 4, 0)]);
    fixture.host.nics = vec![nic("eth0", None)];
    let rate = |device: &str, per_s| InterruptUse {
        device: device.to_string(),
        per_s,
        ..InterruptUse::default()
    };
    fixture.observed.interrupts = Some(vec![
        rate("eth0-TxRx-0", 100.0),
        rate("virtio3-input.0", 20.0),
        rate("nvme0q1", 5000.0),
    ]);
    let side = signals_of(&fixture).server;
    assert_eq!((side.backlog_drops, side.time_squeezes), (Some(7), Some(5)));
    assert_eq!(side.packets_by_cpu, Some(vec![(0, 10.0), (1, 20.0)]));
    assert_eq!(side.interrupts_per_s, Some(120.0));
    fixture.observed.interrupts = Some(vec![rate("nvme0q1", 5000.0)]);
    assert_eq!(signals_of(&fixture).server.interrupts_per_s, None, "no known device");
}

#[test]
fn limits_are_shares_of_what_there_is() {
    let mut fixture = Fixture::good();
    fixture.observed.listeners =
        Some(QueuePeak { queued: 32, backlog: 128, mean_queued: 1.0, ..QueuePeak::default() });
    fixture.observed.server_files = Some(OpenFiles { pid: 7, open: 512, limit: 1024 });
    fixture.observed.sockets = Some(BTreeMap::from([("TCP.tw".to_string(), 92)]));
    let range = ("net.ipv4.ip_local_port_range".to_string(), "1000\t1099".to_string());
    fixture.host.sysctls = BTreeMap::from([range]);
    fixture.tcp("TcpExt.TCPReqQFullDrop", 2);
    let signals = signals_of(&fixture);
    let server = &signals.server;
    assert_eq!((server.accept_queue_peak, server.backlog), (Some(0.25), Some(128)));
    assert_eq!((server.files_use, server.accept_overflows), (Some(0.5), Some(0)));
    assert_eq!(signals.client.ports_use, Some(1.0), "8 open and 92 waiting of 100");
    assert_eq!(server.syn_drops, None, "one of the two counters was not read");
    fixture.tcp("TcpExt.TCPReqQFullDoCookies", 3);
    assert_eq!(signals_of(&fixture).server.syn_drops, Some(5));
}

#[test]
fn no_tracking_is_zero_and_an_unreadable_table_is_not() {
    let mut fixture = Fixture::good();
    assert_eq!(signals_of(&fixture).client.conntrack_use, Some(0.0));
    let source = "/proc/sys/net/netfilter/nf_conntrack_count".to_string();
    fixture.observed.unreadable = vec![Unreadable { source, why: "denied".to_string() }];
    assert_eq!(signals_of(&fixture).client.conntrack_use, None);
    let table = |count| ConntrackUse { count, max: 200, ..ConntrackUse::default() };
    fixture.observed.conntrack = Some(table(100));
    assert_eq!(signals_of(&fixture).client.conntrack_use, Some(0.5));
    fixture.observed.conntrack_inside = Some(table(150));
    assert_eq!(signals_of(&fixture).client.conntrack_use, Some(0.75), "the fuller one");
}

#[test]
fn clocks_are_those_of_cpus_that_worked() {
    let mut fixture = Fixture::good();
    fixture.cpu(1, 0.9);
    fixture.observed.clocks = Some(BTreeMap::from([(0, 0.3), (1, 0.8)]));
    assert_eq!(signals_of(&fixture).server.clock_ratio, Some(0.8));
    fixture.cpu(1, 0.1);
    assert_eq!(signals_of(&fixture).server.clock_ratio, None, "idle CPUs may be slow");
}

#[test]
fn clocks_and_interrupts_come_from_readings() {
    use model::reading::{CpuClock, Interrupt, Reading};
    let at =
        |s: u64, data| Reading { begin_ns: s * 1_000_000_000, end_ns: s * 1_000_000_000, data };
    let clock = |now_khz| {
        Data::CpuClocks(vec![CpuClock {
            cpu: 0,
            now_khz: Some(now_khz),
            max_khz: Some(4000),
            throttles: None,
        }])
    };
    let interrupt = |count| {
        let (irq, device) = ("24".to_string(), "eth0-TxRx-0".to_string());
        Data::Interrupts(vec![Interrupt { irq, device, per_cpu: vec![count, 0], allowed: None }])
    };
    let seen = Observed::of(
        [at(1, clock(4000)), at(1, interrupt(100)), at(2, clock(1000)), at(3, interrupt(300))],
        1,
    );
    assert_eq!(seen.clocks, Some(BTreeMap::from([(0, 0.25)])));
    assert_eq!(seen.interrupts.unwrap()[0].per_s, 100.0);
}

#[test]
fn the_best_point_is_a_valid_one() {
    let mut points = [Fixture::point(8, 1000.0), Fixture::point(16, 3000.0)];
    assert_eq!(best(&points).unwrap().load.connections, 16);
    Fixture::strike(&mut points[1]);
    assert_eq!(best(&points).unwrap().load.connections, 8);
    assert!(best(&[]).is_none());
}
