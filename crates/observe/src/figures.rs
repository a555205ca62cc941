//! Figures of any source in a window, by its own declaration.

use model::metric::{Declaration, Kind, Metric, Sample};
use model::reading::Reading;
use std::collections::BTreeMap;

/// A figure of a source in a window.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure<'a> {
    /// Its metric.
    pub metric: &'a Metric,
    /// The values of its labels in order, which tell it apart from others of the same metric.
    pub labels: Vec<String>,
    /// Growth, mean or largest value, as its kind says, in its unit.
    pub value: f64,
}

/// One row's values, collected reading by reading.
struct MetricValues<'a> {
    metric: &'a Metric,
    first: f64,
    last: f64,
    /// Growth from read to read of a counter of 32 bits, which may wrap several times in a window;
    /// nothing when it began anew.
    grown32: Option<f64>,
    sum: f64,
    most: f64,
    count: u64,
}

/// How much a counter grew; nothing when it began anew, as that of a device that was added again.
///
/// One of 32 bits that stepped back has wrapped, if that makes it grow by less than half of its
/// range: in the time between two reads no counter grows by more. This holds as well for a sum of
/// such counters of which one has wrapped.
pub(crate) fn growth(kind: Kind, first: f64, last: f64) -> Option<f64> {
    let grown = last - first;
    let wrapped = grown + 2f64.powi(32);
    match kind {
        _ if grown >= 0.0 => Some(grown),
        Kind::Counter32 => (0.0..2f64.powi(31)).contains(&wrapped).then_some(wrapped),
        _ => None,
    }
}

/// By how much a counter of 32 bits grew; nothing where it was reset.
pub(crate) fn growth32(first: u64, last: u64) -> Option<u64> {
    growth(Kind::Counter32, first as f64, last as f64).map(|grown| grown as u64)
}

impl MetricValues<'_> {
    /// Nothing for a counter that began anew. States do not grow.
    fn growth(&self) -> Option<f64> {
        match self.metric.kind {
            Kind::Counter32 => self.grown32,
            kind @ (Kind::Counter | Kind::Untyped) => growth(kind, self.first, self.last),
            Kind::Sum | Kind::Mean | Kind::Max => Some(0.0),
        }
    }
}

/// The figures of a source over the readings of a window, which are in time order and may be of
/// other sources as well. Rows that the source declares to add up are added up. A counter that was
/// read once, or that stepped back, has none.
pub fn figures<'a>(declared: &'a Declaration, readings: &[&Reading]) -> Vec<Figure<'a>> {
    let mut reads: Vec<&Reading> =
        readings.iter().copied().filter(|read| read.data.source() == declared.name).collect();
    let by_ends = |metric: &Metric| metric.kind.is_difference() && metric.kind != Kind::Counter32;
    if reads.len() > 2 && declared.metrics.iter().all(by_ends) {
        reads.drain(1..reads.len() - 1);
    }
    let mut rows: BTreeMap<(usize, Vec<String>, Vec<String>), MetricValues<'_>> = BTreeMap::new();
    for sample in reads.iter().flat_map(|read| declared.samples(&read.data)) {
        let Sample { metric, labels, number } = sample;
        let value = number.as_f64().unwrap_or(0.0);
        let place = declared.metrics.iter().position(|one| std::ptr::eq(one, metric)).unwrap_or(0);
        let (hidden, shown): (Vec<_>, Vec<_>) =
            labels.into_iter().partition(|(name, _)| declared.over.contains(name));
        let text = |(name, text): (String, String)| match text.as_str() {
            "true" => name,
            "false" => format!("not {name}"),
            _ => text,
        };
        let texts = |labels: Vec<(String, String)>| labels.into_iter().map(text);
        let key = (place, texts(shown).collect(), texts(hidden).collect());
        let new = MetricValues {
            metric,
            first: value,
            last: value,
            grown32: Some(0.0),
            sum: 0.0,
            most: value,
            count: 0,
        };
        let row = rows.entry(key).or_insert(new);
        let since_last = growth(Kind::Counter32, row.last, value);
        row.grown32 = row.grown32.zip(since_last).map(|(grown, more)| grown + more);
        (row.last, row.most) = (value, row.most.max(value));
        (row.sum, row.count) = (row.sum + value, row.count + 1);
    }
    let mut figures: BTreeMap<(usize, Vec<String>), (MetricValues<'_>, f64)> = BTreeMap::new();
    for ((place, shown, _), row) in rows {
        if row.metric.kind.is_difference() && row.count < 2 {
            continue;
        }
        let Some(growth) = row.growth() else { continue };
        match figures.get_mut(&(place, shown.clone())) {
            None => {
                figures.insert((place, shown), (row, growth));
            }
            Some((all, grown)) => {
                *grown += growth;
                (all.sum, all.count) = (all.sum + row.sum, all.count + row.count);
                all.most = all.most.max(row.most);
            }
        }
    }
    let figure = |((_, labels), (row, growth)): ((usize, Vec<String>), (MetricValues<'a>, f64))| {
        let value = match row.metric.kind {
            Kind::Counter | Kind::Counter32 | Kind::Untyped => growth,
            Kind::Sum => row.sum / reads.len() as f64,
            Kind::Mean => row.sum / row.count as f64,
            Kind::Max => row.most,
        };
        Figure { metric: row.metric, labels, value }
    };
    figures.into_iter().map(figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::reading::{Data, Doing, Softnet, ThreadNow};
    use model::unit::Unit;

    fn values(declared: &Declaration, data: &[Data]) -> Vec<(Vec<String>, f64)> {
        let reading = |data: &Data| Reading { begin_ns: 0, end_ns: 0, data: data.clone() };
        let readings: Vec<Reading> = data.iter().map(reading).collect();
        let readings: Vec<&Reading> = readings.iter().collect();
        let pair = |figure: Figure<'_>| (figure.labels, figure.value);
        figures(declared, &readings).into_iter().map(pair).collect()
    }

    #[test]
    fn counters_of_all_cpus_add_up_and_wrap() {
        let declared =
            Declaration::new("softnet", "").over("cpu").counter32("dropped", Unit::Count, "");
        let read = |dropped: [u32; 2]| {
            let row =
                |cpu: u32| Softnet { cpu, dropped: dropped[cpu as usize], ..Softnet::default() };
            Data::Softnet(vec![row(0), row(1)])
        };
        let reads = [read([u32::MAX, 10]), read([1, 11]), read([4, 12])];
        assert_eq!(values(&declared, &reads), [(vec![], 7.0)]);
        assert_eq!(values(&declared, &reads[..1]), [], "one read shows no growth");
        let anew = [read([900, 10]), read([3, 12])];
        assert_eq!(values(&declared, &anew), [(vec![], 2.0)], "how far one of them got is unknown");
    }

    #[test]
    fn counters_that_stepped_back_have_no_figure() {
        let declared = Declaration::new("x", "").counter("bytes", Unit::Bytes, "").untyped(
            "{name}",
            Unit::Count,
            "",
        );
        let read = |bytes: u64, other: u64| {
            let pairs = [("bytes", bytes), ("other", other)];
            Data::values("x", pairs.map(|(name, value)| (name.to_string(), value)))
        };
        let grown = [(vec![], 4.0), (vec!["other".to_string()], 0.0)];
        assert_eq!(values(&declared, &[read(5, 7), read(9, 7)]), grown);
        assert_eq!(values(&declared, &[read(5, 7), read(3, 6)]), [], "they began anew");
    }

    #[test]
    fn states_are_means_or_the_largest_over_time() {
        let declared = Declaration::new("x", "").max("{name}_max", Unit::Count, "").mean(
            "{name}",
            Unit::Count,
            "",
        );
        let read = |value: u64| {
            Data::values("x", [("a_max", value), ("b", value)].map(|(n, v)| (n.to_string(), v)))
        };
        let expected = [(vec!["a".to_string()], 9.0), (vec!["b".to_string()], 4.0)];
        assert_eq!(values(&declared, &[read(9), read(1), read(2)]), expected);
    }

    #[test]
    fn rows_that_were_not_there_in_a_read_count_as_none() {
        let declared =
            Declaration::new("server_threads_now", "").each("doing").sum("#", Unit::Count, "");
        let thread = |doing| ThreadNow { pid: 1, tid: 1, doing, futex: None, timeout_ns: None };
        let reads = [
            Data::ServerThreadsNow(vec![thread(Doing::Futex), thread(Doing::Futex)]),
            Data::ServerThreadsNow(vec![thread(Doing::Running)]),
        ];
        let expected = [(vec!["futex".to_string()], 1.0), (vec!["running".to_string()], 0.5)];
        assert_eq!(values(&declared, &reads), expected);
    }
}
