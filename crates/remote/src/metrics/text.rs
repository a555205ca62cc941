//! Counters as text, as their sources declare them. Prometheus makes rates of them.

use super::Latest;
use super::totals::Totals;
use model::metric::{Declaration, Kind, Metric, Rows, Sample};
use model::unit::Unit;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Everything that was read recently. `clock_tick_ns` is the unit of CPU times.
pub fn text(
    declared: &[Declaration],
    latest: &Latest,
    now_ns: u64,
    clock_tick_ns: u64,
    totals: &mut Totals,
) -> String {
    let mut page = String::new();
    totals.scrape();
    for source in declared {
        let samples = samples(source, latest, now_ns);
        for metric in &source.metrics {
            let of_metric = samples.iter().filter(|sample| std::ptr::eq(sample.metric, metric));
            family(&mut page, source, metric, of_metric, clock_tick_ns, totals);
        }
    }
    page
}

/// What was recently read of a source; figures of the server's own network namespace have a label
/// for that.
fn samples<'a>(source: &'a Declaration, latest: &Latest, now_ns: u64) -> Vec<Sample<'a>> {
    let read = |is_inside| {
        let reading = latest.of(&source.name, is_inside, now_ns);
        reading.map_or_else(Vec::new, |reading| source.samples(reading.data.opened().0))
    };
    let (mut samples, mut inside) = (read(false), read(true));
    let label = || ("network".to_string(), "server".to_string());
    inside.iter_mut().for_each(|sample| sample.labels.push(label()));
    samples.append(&mut inside);
    samples
}

/// One metric with all its values. For rows that come and go by the thousand it is the sum or the
/// mean; counters of such rows have no sum that only grows, and are left out.
fn family<'a>(
    page: &mut String,
    source: &Declaration,
    metric: &Metric,
    samples: impl Iterator<Item = &'a Sample<'a>>,
    clock_tick_ns: u64,
    totals: &mut Totals,
) {
    let is_many = source.rows == Rows::Many;
    if is_many && metric.kind.is_difference() {
        return;
    }
    let unit_ns = metric.unit.ns_of_host(clock_tick_ns).map_or(1e9, |ns| ns as f64);
    let scale = if metric.unit == Unit::Khz { 1e3 } else { unit_ns / 1e9 };
    let mut rows: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for sample in samples {
        let is_shown = |(name, _): &&(String, String)| !is_many || !source.over.contains(name);
        let labels = sample.labels.iter().filter(is_shown).map(|(name, text)| label(name, text));
        let labels = labels.collect::<Vec<_>>().join(",");
        rows.entry(labels).or_default().push(sample.number.as_f64().unwrap_or(0.0));
    }
    if rows.is_empty() {
        return;
    }
    let name = name(source, metric);
    let kind = match metric.kind {
        Kind::Counter | Kind::Counter32 => "counter",
        Kind::Untyped => "untyped",
        Kind::Sum | Kind::Mean | Kind::Max => "gauge",
    };
    // Writing to a string cannot fail.
    let _ = writeln!(page, "# HELP {name} {}\n# TYPE {name} {kind}", metric.help);
    for (labels, values) in rows {
        let sum: f64 = values.iter().sum();
        let value = match metric.kind {
            Kind::Mean => sum / values.len() as f64,
            Kind::Max => values.into_iter().fold(0.0, f64::max),
            Kind::Counter | Kind::Counter32 => {
                let series = format!("{name}{{{labels}}}");
                totals.shown(series, (metric.kind, metric.unit), unit_ns, sum)
            }
            Kind::Untyped | Kind::Sum => sum,
        };
        let value = value * scale;
        let _ = match labels.is_empty() {
            true => writeln!(page, "{name} {value}"),
            false => writeln!(page, "{name}{{{labels}}} {value}"),
        };
    }
}

/// Source, figure and unit.
fn name(source: &Declaration, metric: &Metric) -> String {
    let unit = match metric.unit {
        Unit::Bytes => "bytes",
        Unit::Khz => "hertz",
        unit if unit.is_time() => "seconds",
        _ => "",
    };
    let total = match metric.kind {
        Kind::Counter | Kind::Counter32 => "total",
        _ => "",
    };
    let prefix = source.exposed_as.as_ref().unwrap_or(&source.name);
    let words = ["ceiling", prefix, &metric.stem(), unit, total];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}

/// A label with any value, escaped.
fn label(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::reading::{
        CpuTimes, Data, Listener, ProbeCost, QuotaUse, Reading, Softnet, ThreadTimes,
    };

    fn latest(data: impl IntoIterator<Item = Data>) -> Latest {
        let mut latest = Latest::default();
        for data in data {
            latest.keep(Reading { begin_ns: 1, end_ns: 2, data });
        }
        latest
    }

    fn text(declared: &[Declaration], latest: &Latest, clock_tick_ns: u64) -> String {
        super::text(declared, latest, 2, clock_tick_ns, &mut Totals::default())
    }

    #[test]
    fn a_counter_of_one_cpu_that_wraps_takes_nothing_back() {
        let declared = probe::source::declared();
        let mut totals = Totals::default();
        let mut shown = |per_cpu: [u64; 2]| {
            let softirqs = [("NET_RX".to_string(), model::reading::Value::PerCpu(per_cpu.into()))];
            let latest = latest([Data::values("softirqs", softirqs)]);
            super::text(&declared, &latest, 2, 1, &mut totals)
        };
        let line = |count: u64| format!("ceiling_softirqs_total{{kind=\"NET_RX\"}} {count}\n");
        let most = u64::from(u32::MAX);
        let before = shown([most - 9, 5_000]);
        assert!(before.contains(&line(most + 4_991)), "{before}");
        let after = shown([10, 5_000]);
        assert!(after.contains(&line(most + 5_011)), "{after}");
    }

    #[test]
    fn counters_of_the_servers_own_network_have_a_label() {
        let tcp = |count: u64| Data::values("tcp", [("Tcp.OutSegs".to_string(), count)]);
        let latest = latest([tcp(7), Data::Inside(Box::new(tcp(9)))]);
        let text = text(&probe::source::declared(), &latest, 1);
        assert!(text.contains("{name=\"Tcp.OutSegs\"} 7\n"), "{text}");
        assert!(text.contains("network=\"server\"} 9\n"), "{text}");
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
        let pressure = [("cpu.some".to_string(), 2_500_000u64)];
        let cost = ProbeCost { cpu_ns: 250_000_000, rounds: 12, ..ProbeCost::default() };
        let text = text(
            &probe::source::declared(),
            &latest([
                Data::Cpus(vec![cpu]),
                Data::ServerQuota(vec![quota]),
                Data::values("pressure", pressure),
                Data::ProbeCost(cost),
            ]),
            10_000_000,
        );
        let expected = include_str!("golden.prom");
        assert_eq!(text, expected);
    }

    #[test]
    fn what_was_not_read_is_absent() {
        let declared = probe::source::declared();
        assert_eq!(text(&declared, &Latest::default(), 1), "");
        let softnet = Softnet { cpu: 1, dropped: 5, ..Softnet::default() };
        let tcp = [("TcpExt.ListenOverflows".to_string(), 42u64)];
        let listener = Listener { cookie: 7, queued: 5, backlog: 4 };
        let data = [
            Data::Softnet(vec![softnet]),
            Data::values("tcp", tcp),
            Data::Listeners(vec![listener]),
            Data::ServerThreads(vec![ThreadTimes::default(), ThreadTimes::default()]),
        ];
        let text = text(&declared, &latest(data), 1);
        for line in [
            "ceiling_softnet_dropped_total{cpu=\"1\"} 5\n",
            "# TYPE ceiling_listener_queued gauge\nceiling_listener_queued{cookie=\"7\"} 5\n",
            "# TYPE ceiling_netstat untyped\n",
            "ceiling_netstat{name=\"TcpExt.ListenOverflows\"} 42\n",
            "ceiling_server_threads_count 2\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(!text.contains("pressure") && !text.contains("tid"), "{text}");
    }

    #[test]
    fn every_figure_has_a_name_of_its_own() {
        let declared = probe::source::declared();
        let names = |source: &Declaration| -> Vec<String> {
            source.metrics.iter().map(|metric| name(source, metric)).collect()
        };
        let mut names: Vec<String> = declared.iter().flat_map(names).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all, "{names:?}");
    }
}
