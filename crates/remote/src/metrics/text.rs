//! Counters as text. All are raw: Prometheus makes rates of them.

use super::Latest;
use model::reading::{CpuTimes, Data, Listener, QuotaUse, Softnet};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Everything that was read lately. `clock_tick_ns` is the unit of CPU times.
pub fn text(latest: &Latest, clock_tick_ns: u64) -> String {
    let mut page = Page(String::new());
    for reading in latest.values() {
        match &reading.data {
            Data::Cpus(cpus) => page.cpus(cpus, clock_tick_ns),
            Data::Softnet(rows) => page.softnet(rows),
            Data::Tcp(counters) => page.tcp(counters),
            Data::Pressure(stalls) => page.pressure(stalls),
            Data::ServerQuota(groups) => page.quotas(groups),
            Data::Listeners(listeners) => page.listeners(listeners),
            Data::ProbeCost(cost) => {
                let (name, help) = ("probe_cpu_seconds_total", "CPU time that reading has cost.");
                page.metric(name, "counter", help, [(String::new(), seconds(cost.cpu_ns))]);
                let (name, help) = ("probe_rounds_total", "Rounds of reading done.");
                page.metric(name, "counter", help, [(String::new(), cost.rounds.to_string())]);
            }
            _ => {}
        }
    }
    page.0
}

fn seconds(ns: u64) -> String {
    (ns as f64 / 1e9).to_string()
}

/// A label whose value may be anything.
fn label(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

struct Page(String);

impl Page {
    fn metric(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        values: impl IntoIterator<Item = (String, String)>,
    ) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP ceiling_{name} {help}\n# TYPE ceiling_{name} {kind}");
        for (labels, value) in values {
            let _ = match labels.is_empty() {
                true => writeln!(self.0, "ceiling_{name} {value}"),
                false => writeln!(self.0, "ceiling_{name}{{{labels}}} {value}"),
            };
        }
    }

    fn cpus(&mut self, cpus: &[CpuTimes], clock_tick_ns: u64) {
        let states = |cpu: &CpuTimes| {
            [
                ("user", cpu.user),
                ("nice", cpu.nice),
                ("system", cpu.system),
                ("idle", cpu.idle),
                ("iowait", cpu.iowait),
                ("irq", cpu.irq),
                ("softirq", cpu.softirq),
                ("steal", cpu.steal),
            ]
        };
        let values = cpus.iter().flat_map(|cpu| {
            let value = move |(state, ticks): (&str, u64)| {
                let labels =
                    format!("{},{}", label("cpu", &cpu.cpu.to_string()), label("state", state));
                (labels, seconds(ticks.saturating_mul(clock_tick_ns)))
            };
            states(cpu).map(value)
        });
        let help = "CPU time by state since boot, host-wide.";
        self.metric("cpu_seconds_total", "counter", help, values);
    }

    fn softnet(&mut self, rows: &[Softnet]) {
        type Field = fn(&Softnet) -> u32;
        let fields: [(&str, &str, Field); 4] = [
            ("processed", "Packets processed; 32 bits wide.", |row| row.processed),
            ("dropped", "Packets dropped, backlog full; 32 bits wide.", |row| row.dropped),
            ("time_squeeze", "Polls that ended with work left; 32 bits wide.", |row| {
                row.time_squeeze
            }),
            ("flow_limit", "Packets dropped by the flow limit; 32 bits wide.", |row| {
                row.flow_limit
            }),
        ];
        for (name, help, field) in fields {
            let value =
                |row: &Softnet| (label("cpu", &row.cpu.to_string()), field(row).to_string());
            self.metric(&format!("softnet_{name}_total"), "counter", help, rows.iter().map(value));
        }
    }

    /// Groups hold counters, states and constants alike, so their type is not said.
    fn tcp(&mut self, counters: &BTreeMap<String, u64>) {
        let value = |(name, value): (&String, &u64)| (label("name", name), value.to_string());
        let help = "/proc/net/snmp and /proc/net/netstat of this network namespace.";
        self.metric("netstat", "untyped", help, counters.iter().map(value));
    }

    fn pressure(&mut self, stalls: &BTreeMap<String, u64>) {
        let value = |(name, us): (&String, &u64)| {
            let (resource, kind) = name.split_once('.').unwrap_or((name, ""));
            let labels = format!("{},{}", label("resource", resource), label("kind", kind));
            (labels, seconds(us.saturating_mul(1000)))
        };
        let help = "Time that tasks stalled for want of a resource.";
        self.metric("pressure_seconds_total", "counter", help, stalls.iter().map(value));
    }

    fn listeners(&mut self, listeners: &[Listener]) {
        let each = |value: fn(&Listener) -> u32| {
            let labels = |socket: &Listener| label("cookie", &socket.cookie.to_string());
            listeners.iter().map(move |socket| (labels(socket), value(socket).to_string()))
        };
        let help = "Connections waiting to be accepted from a listening socket of the server.";
        self.metric("listener_queued", "gauge", help, each(|socket| socket.queued));
        let help = "Length that this queue may reach.";
        self.metric("listener_backlog", "gauge", help, each(|socket| socket.backlog));
    }

    fn quotas(&mut self, groups: &[QuotaUse]) {
        let each = |value: fn(&QuotaUse) -> String| {
            groups.iter().map(move |group| (label("group", &group.group), value(group)))
        };
        let help = "Periods in which a control group of the server had something to run.";
        let periods = each(|group| group.periods.to_string());
        self.metric("server_cpu_periods_total", "counter", help, periods);
        let help = "Those of them in which it was throttled.";
        let throttled = each(|group| group.throttled_periods.to_string());
        self.metric("server_cpu_throttled_periods_total", "counter", help, throttled);
        let help = "Time for which its tasks were throttled, summed over CPUs.";
        let time = each(|group| seconds(group.throttled_ns));
        self.metric("server_cpu_throttled_seconds_total", "counter", help, time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::keep;
    use model::reading::{ProbeCost, Reading};

    fn latest(data: impl IntoIterator<Item = Data>) -> Latest {
        let mut latest = Latest::new();
        for data in data {
            keep(&mut latest, Reading { begin_ns: 1, end_ns: 2, data });
        }
        latest
    }

    #[test]
    fn counters_as_prometheus_reads_them() {
        let cpu = CpuTimes { cpu: 3, user: 150, idle: 7, ..CpuTimes::default() };
        let quota = QuotaUse {
            group: "/web \"a\\b\"".to_string(),
            periods: 10,
            throttled_periods: 4,
            throttled_ns: 1_500_000_000,
            ..QuotaUse::default()
        };
        let pressure = BTreeMap::from([("cpu.some".to_string(), 2_500_000)]);
        let cost = ProbeCost { cpu_ns: 250_000_000, rounds: 12, ..ProbeCost::default() };
        let text = text(
            &latest([
                Data::Cpus(vec![cpu]),
                Data::ServerQuota(vec![quota]),
                Data::Pressure(pressure),
                Data::ProbeCost(cost),
            ]),
            10_000_000,
        );
        let expected = include_str!("golden.prom");
        assert_eq!(text, expected);
    }

    #[test]
    fn what_was_not_read_is_absent() {
        assert_eq!(text(&Latest::new(), 1), "");
        let softnet = Softnet { cpu: 1, dropped: 5, ..Softnet::default() };
        let tcp = BTreeMap::from([("TcpExt.ListenOverflows".to_string(), 42)]);
        let listener = Listener { cookie: 7, queued: 5, backlog: 4 };
        let data = [Data::Softnet(vec![softnet]), Data::Tcp(tcp), Data::Listeners(vec![listener])];
        let text = text(&latest(data), 1);
        for line in [
            "ceiling_softnet_dropped_total{cpu=\"1\"} 5\n",
            "# TYPE ceiling_listener_queued gauge\nceiling_listener_queued{cookie=\"7\"} 5\n",
            "# TYPE ceiling_netstat untyped\n",
            "ceiling_netstat{name=\"TcpExt.ListenOverflows\"} 42\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(!text.contains("pressure"), "{text}");
    }
}
