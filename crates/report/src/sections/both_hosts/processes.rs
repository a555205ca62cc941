//! What used the CPUs of a host: the processes of the run, and everything else.

use super::HostChart;
use super::side::{Drawn, Lines, Side};
use crate::page::Axis;
use model::unit::Unit;
use observe::{Line, Process, STATES, Shares};

pub(super) fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let mut lines: Vec<(String, Line)> = Vec::new();
    for (name, process) in [("generator", Process::Client), ("server", Process::Server)] {
        lines.extend(together(side, process).map(|line| (name.to_string(), line)));
    }
    let rest: Line = busy(side)
        .into_iter()
        .enumerate()
        .map(|(part, busy)| {
            let used: Option<f64> = lines.iter().map(|(_, line)| line[part]).sum();
            // Both are sampled, at slightly different instants.
            Some((busy? - used?).max(0.0))
        })
        .collect();
    if rest.iter().any(Option::is_some) {
        lines.push(("everything else".to_string(), rest));
    }
    let y = Axis::linear("CPUs", Unit::Cpus);
    side.lines(chart, Lines::new(lines, y, NOTE))
}

const NOTE: &str = "CPUs' worth of time. Everything else is the other busy time of the host: it \
    includes interrupts that were charged to no process, and excludes time taken by the \
    hypervisor.";

/// CPUs' worth of time, all threads together.
fn together(side: &Side<'_>, process: Process) -> Option<Line> {
    let threads = side.time.threads(side.clocked, process);
    let add = |left: Option<f64>, right: &Option<f64>| match (left, right) {
        (None, right) => *right,
        (left, None) => left,
        (Some(left), Some(right)) => Some(left + right),
    };
    threads
        .into_values()
        .reduce(|sum, line| sum.into_iter().zip(&line).map(|(sum, used)| add(sum, used)).collect())
}

/// CPUs' worth of busy time of the whole host.
fn busy(side: &Side<'_>) -> Line {
    let cpus = side.facts.cpus_online.len() as f64;
    let is_busy = |state: &str| !matches!(state, "steal" | "iowait" | "idle");
    let percent = |shares: Shares| -> f64 {
        let busy = STATES.iter().zip(shares).filter(|(state, _)| is_busy(state));
        busy.map(|(_, share)| share).sum()
    };
    let states = side.time.cpu_states(side.clocked);
    states.into_iter().map(|shares| Some(percent(shares?) / 100.0 * cpus)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::charts::REGISTRY;
    use super::super::side::sides;
    use super::*;
    use crate::fixtures;
    use crate::page::{Block, Chart};
    use model::reading::{Data, Reading};
    use model::run::Run;

    fn charts(run: &Run) -> Vec<Chart> {
        let chart = REGISTRY.iter().find(|chart| chart.id == "cpu-processes").unwrap();
        let drawn = |side: &Side<'_>| match side.draw(chart) {
            Drawn::Blocks(mut blocks) => match blocks.remove(0) {
                Block::Chart(chart) => chart,
                other => panic!("{other:?}"),
            },
            _ => panic!("no chart of {}", side.whose),
        };
        sides(run).iter().map(drawn).collect()
    }

    fn names(chart: &Chart) -> Vec<&str> {
        chart.views[0].series.iter().map(|series| series.label.as_str()).collect()
    }

    #[test]
    fn everything_else_is_a_line_where_the_host_was_read() {
        let mut run = fixtures::ramp_two_hosts();
        let each = charts(&run);
        assert_eq!(each.len(), 2, "a chart for each host");
        assert_eq!(names(&each[0]), ["generator", "everything else"]);
        assert_eq!(names(&each[1]), ["server", "everything else"]);
        run.readings.retain(|reading| !matches!(reading.data, Data::Cpus(_)));
        assert_eq!(names(&charts(&run)[0]), ["generator"], "absent, not zero");
    }

    #[test]
    fn what_is_read_rarely_is_drawn_all_the_way() {
        let mut run = fixtures::ramp_quota();
        let is_server = |reading: &Reading| matches!(reading.data, Data::ServerThreads(_));
        let mut nth = 0;
        run.readings.retain(|reading| {
            nth += usize::from(is_server(reading));
            !is_server(reading) || nth % 4 == 1
        });
        let chart = &charts(&run)[0];
        let server = chart.views[0].series.iter().find(|series| series.label == "server").unwrap();
        let known: Vec<usize> =
            (0..server.y.len()).filter(|part| server.y[*part].is_some()).collect();
        assert!(known.len() > 90 && known.windows(2).all(|two| two[1] == two[0] + 1), "{known:?}");
    }

    #[test]
    fn everything_else_is_what_is_left_of_the_busy_time() {
        let run = fixtures::ramp_quota();
        let busy = busy(&sides(&run)[0]);
        let view = &charts(&run)[0].views[0];
        let mut known = 0;
        for (part, busy) in busy.into_iter().enumerate() {
            let all: Option<f64> = view.series.iter().map(|series| series.y[part]).sum();
            let Some((all, busy)) = all.zip(busy) else { continue };
            let processes: f64 = view.series[..2].iter().filter_map(|series| series.y[part]).sum();
            assert!((all - busy.max(processes)).abs() < 1e-9, "{all} of {busy}");
            known += 1;
        }
        assert!(known > 50, "{known}");
    }
}
