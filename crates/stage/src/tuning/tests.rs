//! What plans would change on made-up hosts.

use super::*;
use crate::fake_host::MadeUp;
use std::collections::BTreeMap;

fn tune(values: &[(&str, &str)]) -> Tune {
    let of = |(word, value): &(&str, &str)| (word.to_string(), value.to_string());
    Tune { values: values.iter().map(of).collect(), ..Tune::default() }
}

/// What a cell would write, at both moments.
fn writes(tune: &Tune, host: &tune::Host) -> Result<Vec<(String, String)>, String> {
    let mut all = planned(tune, host, When::Before)?;
    all.extend(planned(tune, host, When::Beside)?);
    let change = |one: Planned| Some((one.row.place, one.change?.wanted));
    Ok(all.into_iter().filter_map(change).collect())
}

fn pair(place: &str, value: &str) -> (String, String) {
    (place.to_string(), value.to_string())
}

#[test]
fn one_value_is_never_written_to_places_of_several_kinds() {
    let made = MadeUp::new();
    let file = |name: &str| format!("/proc/sys/net/{name}");
    for (name, value) in [
        ("ipv4/tcp_tw_reuse", "2"),
        ("ipv4/tcp_tw_reuse_delay", "1000"),
        ("core/netdev_budget", "300"),
        ("core/netdev_budget_usecs", "8000"),
    ] {
        made.write(&file(name), value);
    }
    let host = made.host();
    for (knob, files) in [
        ("tcp-tw-reuse", "tcp_tw_reuse, tcp_tw_reuse_delay"),
        ("T26", "netdev_budget, netdev_budget_usecs"),
    ] {
        let tune = tune(&[(knob, "1")]);
        let wish = Wish { values: tune.values.clone(), ..Wish::default() };
        let why = tune::check_values(&host, &wish).unwrap_err();
        assert!(why.contains(files), "{why}");
        assert_eq!(writes(&tune, &host).unwrap_err(), why, "neither when it is turned");
    }
    let one = tune(&[("tcp-tw-reuse/tcp_tw_reuse", "1")]);
    assert_eq!(writes(&one, &host).unwrap(), [pair(&file("ipv4/tcp_tw_reuse"), "1")]);
    // Some values of a knob may be set already, as long as one is not.
    let both = tune(&[
        ("netdev-budget/netdev_budget", "600"),
        ("netdev-budget/netdev_budget_usecs", "8000"),
    ]);
    assert_eq!(writes(&both, &host).unwrap(), [pair(&file("core/netdev_budget"), "600")]);
    let unknown = tune(&[("netdev-budget/netdev_budgets", "1")]);
    assert!(writes(&unknown, &host).unwrap_err().contains("no 'netdev_budgets' here"));
}

#[test]
fn places_of_one_kind_take_one_value() {
    let made = MadeUp::new();
    let mask = |queue| format!("/sys/class/net/eth0/queues/rx-{queue}/rps_cpus");
    (0..2).for_each(|queue| made.write(&mask(queue), "00000000"));
    let tune = tune(&[("rps", "0-1")]);
    let expected = [pair(&mask(0), "0-1"), pair(&mask(1), "0-1")];
    assert_eq!(writes(&tune, &made.host()).unwrap(), expected);
}

#[test]
fn what_may_not_be_set_is_refused_with_a_value_as_well() {
    let made = MadeUp::new();
    made.write("/proc/sys/net/ipv4/ip_local_port_range", "32768 60999");
    let tune = tune(&[("ip-local-port-range", "1024 65535")]);
    assert_eq!(writes(&tune, &made.host()).unwrap().len(), 1);
    made.write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "65535");
    let why = writes(&tune, &made.host()).unwrap_err();
    assert!(why.contains("no unprivileged ports are left"), "{why}");
}

/// A host with hardware, two nodes and all kinds of knobs, as a distribution leaves it.
fn whole() -> MadeUp {
    let made = MadeUp::new();
    let eth0 = |file: &str| format!("/sys/class/net/eth0/{file}");
    for (file, value) in [
        ("queues/rx-0/rps_cpus", "00000000"),
        ("queues/rx-0/rps_flow_cnt", "0"),
        ("queues/tx-0/xps_cpus", "00000000"),
        ("queues/tx-0/byte_queue_limits/limit_max", "1879048192"),
        ("queues/tx-1/xps_cpus", "00000000"),
        ("threaded", "0"),
        ("gro_flush_timeout", "0"),
        ("napi_defer_hard_irqs", "0"),
        ("device/local_cpulist", "0-3"),
    ] {
        made.write(&eth0(file), value);
    }
    for (file, value) in [
        ("core/busy_poll", "0"),
        ("core/busy_read", "0"),
        ("core/dev_weight", "64"),
        ("core/dev_weight_rx_bias", "1"),
        ("core/dev_weight_tx_bias", "1"),
        ("core/flow_limit_cpu_bitmap", "00000000"),
        ("core/flow_limit_table_len", "4096"),
        ("core/netdev_budget", "300"),
        ("core/netdev_budget_usecs", "8000"),
        ("core/netdev_max_backlog", "1000"),
        ("core/netdev_tstamp_prequeue", "1"),
        ("core/rmem_max", "212992"),
        ("core/rps_sock_flow_entries", "0"),
        ("core/somaxconn", "4096"),
        ("core/wmem_max", "212992"),
        ("ipv4/ip_local_port_range", "32768 60999"),
        ("ipv4/tcp_abort_on_overflow", "0"),
        ("ipv4/tcp_autocorking", "1"),
        ("ipv4/tcp_congestion_control", "cubic"),
        ("ipv4/tcp_limit_output_bytes", "1048576"),
        ("ipv4/tcp_max_orphans", "8192"),
        ("ipv4/tcp_max_syn_backlog", "512"),
        ("ipv4/tcp_max_tw_buckets", "8192"),
        ("ipv4/tcp_mem", "1 2 3"),
        ("ipv4/tcp_notsent_lowat", "4294967295"),
        ("ipv4/tcp_rmem", "4096 131072 6291456"),
        ("ipv4/tcp_slow_start_after_idle", "1"),
        ("ipv4/tcp_syncookies", "1"),
        ("ipv4/tcp_tw_reuse", "2"),
        ("ipv4/tcp_wmem", "4096 16384 4194304"),
    ] {
        made.write(&format!("/proc/sys/net/{file}"), value);
    }
    for (file, value) in [
        ("/proc/sys/kernel/numa_balancing", "1"),
        ("/proc/sys/vm/min_free_kbytes", "67584"),
        ("/proc/sys/vm/swappiness", "60"),
        ("/sys/devices/system/cpu/smt/control", "on"),
        ("/sys/devices/system/node/online", "0-1"),
        ("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never"),
    ] {
        made.write(file, value);
    }
    let pid = std::process::id();
    let zeros = " 0".repeat(18);
    made.write(&format!("/proc/{pid}/stat"), &format!("{pid} (ceiling) S{zeros} 4711 0 0"));
    made.write(&format!("/proc/{pid}/task/{pid}/status"), "Cpus_allowed_list:\t0-3");
    made
}

/// The way of each knob that can be tested on a host, shown.
fn ways(host: &tune::Host, server: Rehearsed) -> BTreeMap<&'static str, Tune> {
    let of = |knob: &&&Knob| Some((knob.name, way(host, knob.name, server).ok()?));
    tune::REGISTRY.iter().filter_map(|knob| of(&knob)).collect()
}

#[test]
fn whatever_a_plan_is_written_for_changes_something() {
    let made = whole();
    for server in [Rehearsed::Started, Rehearsed::StartedOnCpus, Rehearsed::Running] {
        let mut host = made.host();
        let ways = ways(&host, server);
        host.servers = vec![std::process::id()];
        for (name, tune) in &ways {
            let writes = writes(tune, &host).unwrap_or_else(|why| panic!("{name}: {why}"));
            assert!(!writes.is_empty(), "{name}: {tune:?}");
        }
        let profile = |name: &str| ways.get(name).map(|tune| tune.profile.as_str());
        // By the default profile, by another one, divided, by a value, and by none.
        assert_eq!(profile("rps"), Some("throughput"));
        assert_eq!(profile("busy-poll"), Some("latency"));
        assert_eq!(profile("tcp-tw-reuse"), Some("churn"));
        assert_eq!(profile("tcp-max-syn-backlog"), Some("seeds"));
        let is_divided = ways.get("numa-balancing").is_some_and(|tune| !tune.cpus.is_empty());
        assert_eq!(is_divided, server == Rehearsed::Started);
        assert!(ways["dev-weight"].values.contains_key("dev-weight/dev_weight"));
        for name in ["flow-limit", "tcp-mem", "smt", "tcp-abort-on-overflow", "queues", "generator"]
        {
            assert!(!ways.contains_key(name), "{name}");
        }
        // If the server is already running nothing is started, and its processes are not known.
        let is_ours = server != Rehearsed::Running;
        assert_eq!(ways.contains_key("somaxconn"), is_ours);
        assert_eq!(ways.contains_key("transparent-hugepages"), is_ours);
        assert_eq!(ways.contains_key("server-cpus"), server == Rehearsed::Started);
    }
    let ways = ways(&made.host(), Rehearsed::Started);
    assert_eq!(ways["server-cpus"].cpus, "0/1-3");
    assert!(ways.len() > 20, "{:?}", ways.keys());
}

#[test]
fn what_is_as_meant_already_cannot_be_tested() {
    let made = whole();
    made.write("/proc/sys/net/core/netdev_max_backlog", "100000");
    let why = way(&made.host(), "netdev-max-backlog", Rehearsed::Started).unwrap_err();
    assert!(why.contains("100000 is enough"), "{why}");
}

#[test]
fn hosts_count_as_changed_until_the_last_of_them_is_as_before() {
    let backlog = "/proc/sys/net/core/netdev_max_backlog";
    let hosts = [MadeUp::new(), MadeUp::new()];
    hosts.iter().for_each(|made| made.write(backlog, "1000"));
    let tune = tune(&[("netdev-max-backlog", "7000")]);
    let stop = AtomicBool::new(false);
    let turned = |made: &MadeUp| {
        let mut turned = Turned::new(&tune, Hands::Here(made.ground(), String::new()), &stop);
        turned.turn(When::Beside, None).unwrap();
        turned
    };
    let (first, second) = (turned(&hosts[0]), turned(&hosts[1]));
    second.put_back().1.unwrap();
    assert_eq!((hosts[0].read(backlog), hosts[1].read(backlog)), ("7000".into(), "1000".into()));
    assert!(is_turned(), "on the first");
    first.put_back().1.unwrap();
    assert_eq!(hosts[0].read(backlog), "1000");
}

/// irqbalance runs on some hosts and not on others: a plan that pins interrupts fits both.
#[test]
fn what_is_ensured_may_be_so_already_and_what_a_cell_is_named_after_may_not() {
    let backlog = "/proc/sys/net/core/netdev_max_backlog";
    let stat = "/proc/700/stat";
    let state = |letter: &str| format!("700 (irqbalance) {letter}{} 4711 0 0", " 0".repeat(18));
    let values = BTreeMap::from([("netdev-max-backlog".to_string(), "7000".to_string())]);
    let ensure = vec!["irqbalance".to_string()];
    let ensured = Tune { values, ensure, ..Tune::default() };
    let named = Tune { only: vec!["irqbalance".to_string()], ..Tune::default() };
    let stop = AtomicBool::new(false);
    for (runs, was) in [(true, "S"), (true, "T"), (false, "")] {
        let made = MadeUp::new();
        made.write(backlog, "1000");
        if runs {
            made.write(stat, &state(was));
            made.write("/proc/700/comm", "irqbalance");
        }
        let turn = |tune| {
            let mut turned = Turned::new(tune, Hands::Here(made.ground(), String::new()), &stop);
            let told = turned.turn(When::Beside, None);
            let now = (made.read(backlog), runs.then(|| made.read(stat)));
            told.and_then(|()| turned.holds(None)).map(|()| (now, turned.put_back()))
        };
        let ((value, daemon), (rows, back)) = turn(&ensured).unwrap();
        assert_eq!((value.as_str(), back), ("7000", Ok(())), "{was}");
        assert_eq!(daemon, runs.then(|| state("T")), "it is paused meanwhile");
        assert_eq!(runs.then(|| made.read(stat)), runs.then(|| state(was)), "and as before again");
        let of_daemon: Vec<_> = rows.iter().filter(|one| one.row.knob == "T2").collect();
        let fate = if was == "S" { Fate::Reverted } else { Fate::Already };
        assert_eq!(of_daemon.iter().map(|one| one.row.fate).collect::<Vec<_>>(), [fate], "{was}");
        // The cell that is named after it would be like the one without it.
        let told = turn(&named);
        assert_eq!(told.is_ok(), was == "S");
        assert!(told.err().is_none_or(|why| why.contains("tune.ensure")));
    }
}

#[test]
fn a_cell_that_finds_everything_as_it_ensures_is_measured() {
    let made = MadeUp::new();
    let tune = Tune { ensure: vec!["T2".to_string(), "cron".to_string()], ..Tune::default() };
    let stop = AtomicBool::new(false);
    let mut turned = Turned::new(&tune, Hands::Here(made.ground(), String::new()), &stop);
    assert_eq!(turned.turn(When::Before, None), Ok(()));
    assert_eq!(turned.turn(When::Beside, None), Ok(()));
    assert_eq!(turned.holds(None), Ok(()));
    let (rows, back) = turned.put_back();
    assert_eq!((rows.len(), back), (2, Ok(())), "{rows:?}");
    let absent = Tune { ensure: vec!["rps".to_string()], ..Tune::default() };
    let mut turned = Turned::new(&absent, Hands::Here(made.ground(), String::new()), &stop);
    assert!(turned.turn(When::Beside, None).is_err(), "a host that cannot have it");
}
