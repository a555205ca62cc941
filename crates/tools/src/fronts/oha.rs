//! `ceiling oha ..`: the command line and the layout of oha 1.16.

use super::{Front, Shown, or_dash, settled, steps};
use model::order::OrderBy as _;
use model::tick::ErrorClass;
use model::tool::Tool;
use std::cmp::Reverse;

pub(super) const FRONT: Front = Front {
    tool: Tool::Oha,
    example: "ceiling oha -z 10s -c 50 http://127.0.0.1:8083/read",
    line: &crate::oha::LINE,
    adds: Some(("Accept-Encoding: gzip, compress, deflate, br", "--disable-compression")),
    settle: settled,
    trusts_any: false,
    needs: None,
    has_long_dash: false,
    layout,
};

/// Most blocks of a bar.
const BAR: u64 = 32;

fn layout(shown: &Shown<'_>) -> String {
    let scale = Scale::of(shown);
    let codes: u64 = shown.codes().values().sum();
    let cut = cut(shown);
    let lost: u64 = shown.errors_of_requests().into_iter().map(|(_, count)| count).sum();
    let time = |ns: Option<u64>| scale.show(ns.map(|ns| ns as f64));
    let (times, bytes) = (shown.times(), shown.arrived().body);
    let rate = or_dash((codes + lost > 0).then(|| codes as f64 / (codes + lost) as f64), |share| {
        format!("{:.2}%", share * 100.0)
    });
    let each = bytes.checked_div(shown.responses()).map(|each| each as f64);
    format!(
        "Summary:\n  Success rate:\t{rate}\n  Total:\t{}\n  Slowest:\t{}\n  Fastest:\t{}\n  \
         Average:\t{}{}\n  Requests/sec:\t{:.4}\n\n  Total data:\t{}\n  Size/request:\t{}\n  \
         Size/sec:\t{}\n\nResponse time histogram:\n{}\nResponse time distribution:\n{}\n\n{}\n{}",
        scale.show(Some(shown.point.load.duration_s * 1e9)),
        time(times.max),
        time(times.min),
        time(times.mean),
        shown.untimed(),
        shown.per_second(codes + lost + cut),
        binary(bytes as f64),
        or_dash(each, binary),
        binary(shown.per_second(bytes).floor()),
        histogram(shown, &scale),
        distribution(shown, &scale),
        details(shown, &scale),
        outcomes(shown, cut)
    )
}

/// Requests in flight when the time was over, which oha cuts off and counts in the rate.
fn cut(shown: &Shown<'_>) -> u64 {
    let requests = &shown.point.requests;
    let lost = shown.errors(ErrorClass::is_of_requests);
    let ended = shown.codes().values().sum::<u64>() + lost;
    shown.asked_s().map_or(0, |_| requests.sent.saturating_sub(ended))
}

fn histogram(shown: &Shown<'_>, scale: &Scale) -> String {
    let rows = steps(shown);
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let digits = most.to_string().len() + 2;
    let whole = |end_ns: f64| (end_ns / scale.ns).trunc().to_string().len();
    let width = rows.iter().map(|(end_ns, _)| whole(*end_ns)).max().unwrap_or(0) + 4;
    let row = |(end_ns, count): (f64, u64)| {
        let blocks = (count * BAR).checked_div(most).unwrap_or(0) as usize;
        let (cell, bar) = (format!("[{count}]"), "\u{25a0}".repeat(blocks));
        format!("  {:>width$.3} {} {cell:digits$} |{bar}\n", end_ns / scale.ns, scale.unit)
    };
    rows.into_iter().map(row).collect()
}

fn distribution(shown: &Shown<'_>, scale: &Scale) -> String {
    let line = |share: f64| {
        format!("  {:.2}% in {}\n", share * 100.0, scale.show(shown.quantile_ns(share)))
    };
    [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999].map(line).concat()
}

/// Of requests that opened a connection.
fn details(shown: &Shown<'_>, scale: &Scale) -> String {
    let (dialup, opened) = shown.dialup_ns();
    let cells = |values: [Option<f64>; 3]| values.map(|value| scale.show(value)).join(", ");
    let is_cut = opened > 0 && dialup[1].is_none();
    let why = if is_cut { "  (the ends with a handshake are not known)" } else { "" };
    format!(
        "Details (average, fastest, slowest):\n  DNS+dialup:\t{}{why}\n  DNS-lookup:\t{}  \
         (names are looked up before the load)\n",
        cells(dialup),
        cells([None; 3])
    )
}

fn outcomes(shown: &Shown<'_>, cut: u64) -> String {
    let mut text = String::from("Status code distribution:\n");
    let mut codes: Vec<_> = shown.codes().into_iter().collect();
    codes.order_by_key(|(_, count)| Reverse(*count));
    for (code, count) in codes {
        text += &format!("  [{code}] {count} responses\n");
    }
    let mut lost = shown.errors_of_requests();
    lost.extend((cut > 0).then(|| ("aborted due to deadline".to_string(), cut)));
    lost.order_by_key(|(_, count)| Reverse(*count));
    if !lost.is_empty() {
        text += "\nError distribution:\n";
        lost.iter().for_each(|(name, count)| text += &format!("  [{count}] {name}\n"));
    }
    text
}

/// The one unit in which all times are printed.
struct Scale {
    ns: f64,
    unit: &'static str,
}

impl Scale {
    /// The largest below the slowest response.
    fn of(shown: &Shown<'_>) -> Self {
        let units = [
            (3600e9, "hr"),
            (600e9, "10 min"),
            (60e9, "min"),
            (10e9, "10 sec"),
            (1e9, "sec"),
            (1e6, "ms"),
            (1e3, "us"),
        ];
        let slowest_ns = shown.times().max.unwrap_or(0) as f64;
        let (ns, unit) = units.into_iter().find(|(ns, _)| slowest_ns > *ns).unwrap_or((1.0, "ns"));
        Self { ns, unit }
    }

    fn show(&self, ns: Option<f64>) -> String {
        let value = or_dash(ns, |ns| format!("{:.4}", ns / self.ns));
        format!("{value} {}", self.unit)
    }
}

/// Bytes as oha prints them.
fn binary(bytes: f64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let found = units.into_iter().find(|(_, bits)| bytes >= f64::from(1 << bits));
    found.map_or_else(
        || format!("{bytes:.0} B"),
        |(unit, bits)| format!("{:.2} {unit}", bytes / f64::from(1 << bits)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_as_oha_writes_them() {
        let sizes = [0.0, 16.0, 1023.0, 307_568.0, 3.0 * 1024.0 * 1024.0].map(binary);
        assert_eq!(sizes, ["0 B", "16 B", "1023 B", "300.36 KiB", "3.00 MiB"]);
    }
}
