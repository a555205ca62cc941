//! The values of a reading, by the declaration of its source.

use crate::metric::{Declaration, Metric};
use crate::reading::Data;
use serde_json::{Number, Value};

/// One value of a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample<'a> {
    /// Its metric.
    pub metric: &'a Metric,
    /// What tells it apart from others of the metric: names and values.
    pub labels: Vec<(String, String)>,
    /// The value.
    pub number: Number,
}

impl Declaration {
    /// The values of a reading of this source.
    pub fn samples(&self, data: &Data) -> Vec<Sample<'_>> {
        let mut samples = Vec::new();
        // Readings have names as keys and finite numbers, which always have a JSON form.
        if let Ok(mut value) = serde_json::to_value(data) {
            self.add_rows(&value["values"].take(), &mut Vec::new(), &mut samples);
        }
        samples
    }

    fn add_rows<'a>(
        &'a self,
        value: &Value,
        outer: &mut Vec<(String, String)>,
        samples: &mut Vec<Sample<'a>>,
    ) {
        match value {
            Value::Array(rows) => rows.iter().for_each(|row| self.add_rows(row, outer, samples)),
            Value::Object(fields) => self.add_row(fields, outer, samples),
            _ => {}
        }
    }

    fn add_row<'a>(
        &'a self,
        fields: &serde_json::Map<String, Value>,
        outer: &mut Vec<(String, String)>,
        samples: &mut Vec<Sample<'a>>,
    ) {
        let label = |field: &String| match fields.get(field)? {
            Value::String(text) => Some((field.clone(), text.clone())),
            Value::Object(_) | Value::Array(_) => None,
            other => Some((field.clone(), other.to_string())),
        };
        let labels = self.each.iter().chain(&self.over).filter_map(label);
        let labels: Vec<_> = outer.iter().cloned().chain(labels).collect();
        let one = Value::from(1);
        for (field, value) in fields.iter().chain([(&"#".to_string(), &one)]) {
            if self.each.contains(field) || self.over.contains(field) {
                continue;
            }
            let number = match value {
                Value::Number(number) => number.clone(),
                Value::Array(numbers) => {
                    numbers.iter().filter_map(Value::as_u64).sum::<u64>().into()
                }
                Value::Object(_) => {
                    // One level down: the key is a label, named by the next field of the rows.
                    let name = self.each.get(outer.len()).cloned().unwrap_or_default();
                    outer.push((name, field.clone()));
                    self.add_rows(value, outer, samples);
                    outer.pop();
                    continue;
                }
                _ => continue,
            };
            let of_metric = |metric: &'a Metric| Some((metric, metric.labels_of(field)?));
            if let Some((metric, more)) = self.metrics.iter().find_map(of_metric) {
                let labels = labels.iter().cloned().chain(more).collect();
                samples.push(Sample { metric, labels, number });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::{QuotaUse, Softnet, Values};
    use crate::unit::Unit;
    use std::collections::BTreeMap;

    fn texts(declared: &Declaration, data: &Data) -> Vec<String> {
        let text = |sample: Sample<'_>| {
            let labels: Vec<_> =
                sample.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("{} {} {}", sample.metric.name, labels.join(","), sample.number)
        };
        declared.samples(data).into_iter().map(text).collect()
    }

    #[test]
    fn rows_have_the_labels_that_were_declared() {
        let declared = Declaration::new("softnet", "")
            .over("cpu")
            .counter32("dropped", Unit::Count, "")
            .sum("#", Unit::Count, "");
        let row = |cpu| Softnet { cpu, dropped: 5 + cpu, ..Softnet::default() };
        let expected = ["dropped cpu=0 5", "# cpu=0 1", "dropped cpu=1 6", "# cpu=1 1"];
        assert_eq!(texts(&declared, &Data::Softnet(vec![row(0), row(1)])), expected);
        let declared =
            Declaration::new("server_quota", "").each("group").counter("{name}", Unit::Count, "");
        let quota = QuotaUse { group: "/a".to_string(), periods: 3, ..QuotaUse::default() };
        let texts = texts(&declared, &Data::ServerQuota(vec![quota]));
        assert!(texts.contains(&"{name} group=/a,name=periods 3".to_string()), "{texts:?}");
        assert!(!texts.iter().any(|text| text.contains("quota_us")), "absent is not zero");
    }

    #[test]
    fn names_of_the_kernel_become_labels() {
        let declared = Declaration::new("x", "").mean("{name}_available", Unit::Count, "").counter(
            "{resource}.{kind}",
            Unit::Us,
            "",
        );
        let values = [("cpu.some", 7u64), ("a_available", 2), ("alone", 3)];
        let data = Data::values("x", values.map(|(name, value)| (name.to_string(), value)));
        let expected = ["{name}_available name=a 2", "{resource}.{kind} resource=cpu,kind=some 7"];
        assert_eq!(texts(&declared, &data), expected);
    }

    #[test]
    fn maps_of_maps_and_lists_are_rows_and_sums() {
        let drops = BTreeMap::from([("rx_drops".to_string(), 4u64)]);
        let data = Data::values("drivers", [("eth0".to_string(), drops)]);
        let declared =
            Declaration::new("drivers", "").each("interface").counter("{name}", Unit::Count, "");
        assert_eq!(texts(&declared, &data), ["{name} interface=eth0,name=rx_drops 4"]);
        let data = Data::Values(Values::new("softirqs", [("NET_RX".to_string(), vec![1u64, 2])]));
        let declared = Declaration::new("softirqs", "").counter("{kind}", Unit::Count, "");
        assert_eq!(texts(&declared, &data), ["{kind} kind=NET_RX 3"]);
    }
}
