//! CPU quotas of control groups: the share of periods in which the group was throttled.

use super::HostChart;
use super::side::{Drawn, Lines, Side};
use crate::page::Axis;
use model::maps::IntoMap;
use model::metric::Kind;
use model::reading::{Data, QuotaUse};
use model::unit::Unit;
use observe::Line;
use std::collections::BTreeMap;

pub(super) fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let mut lines = of(side, "server_quota", "server");
    lines.extend(of(side, "client_quota", "generator"));
    if lines.is_empty() {
        // The groups were read, and none has a limit.
        return Drawn::Zero;
    }
    let y = Axis::linear("periods throttled", Unit::Percent);
    side.lines(chart, Lines::new(lines, y, "Of the periods in which a group had something to run."))
}

/// Throttled share of the groups that have a quota.
fn of(side: &Side<'_>, source: &str, whose: &str) -> BTreeMap<String, Line> {
    let grown = |field: fn(&QuotaUse) -> u64| {
        let pick = |data: &Data| match data {
            Data::ClientQuota(groups) | Data::ServerQuota(groups) => {
                let limited = groups.iter().filter(|group| group.quota_us.is_some());
                limited.map(|group| (group.group.clone(), field(group) as f64)).collect()
            }
            _ => Vec::new(),
        };
        side.time.growth(side.clocked, (source, Kind::Counter), pick)
    };
    let throttled = grown(|group| group.throttled_periods);
    let share = |(throttled, of): (&Option<f64>, &Option<f64>)| match ((*throttled)?, (*of)?) {
        (_, 0.0) => Some(0.0),
        (throttled, of) => Some(100.0 * throttled / of),
    };
    let line = |(group, of): (String, Line)| {
        let throttled = throttled.get(&group)?;
        Some((format!("{whose}: {group}"), throttled.iter().zip(&of).map(share).collect()))
    };
    grown(|group| group.periods).into_iter().filter_map(line).into_map()
}
