//! What the hosts do now, in lines of text: for the terminal, and for a page without scripts.
//!
//! In: the hosts of the latest message. Out: lines that fit a width. Never: a zero where nothing
//! was read; such a value is `-`.

use model::figure::{Figure, Whose};
use model::host_now::{CpuNow, HostNow, InterruptsNow, LinkNow};
use model::reading::CpuShares;
use model::unit::Unit;
use model::units::show_part;

/// Up to this many CPUs have a line each.
const CPUS_IN_FULL: usize = 2;
/// The states of a CPU that are not idle; the last, iowait, is not busy either.
const STATES_BUSY: usize = 5;
/// What a CPU is marked with, by how busy it is.
const MARKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Before the lines of a host but its first.
const INDENT: &str = "  ";

/// The name of a host.
pub(crate) fn name_of(sides: &[Whose]) -> &'static str {
    match sides {
        [Whose::Client] => "Generator's host",
        [Whose::Server] => "Server's host",
        _ => "Host of generator and server",
    }
}

/// The key of a figure under the name of its host: without the side.
fn key(figure: Figure) -> &'static str {
    match figure {
        Figure::Host(of, _) => of.key(),
        other => other.name(),
    }
}

/// The lines of a host, each of at most `width` columns. Its name begins the first.
pub(crate) fn lines(host: &HostNow, width: usize) -> Vec<String> {
    let figures = host.shown().map(|(figure, value)| {
        let value = value.map_or("-".to_string(), |value| figure.show(value));
        format!("{} {value}", key(figure))
    });
    let mut lines = wrapped(&format!("{}  ", name_of(&host.sides)), figures, width);
    lines.extend(cpus(host.cpus.as_deref(), width));
    lines.push(fitting("links  ", host.links.as_deref().map(|all| all.iter().map(link)), width));
    let queues = host.interrupts.as_deref().map(|all| all.iter().map(queue));
    lines.push(fitting("interrupts  ", queues, width));
    lines
}

/// Pieces behind a heading, in as many lines as they need.
fn wrapped(heading: &str, pieces: impl Iterator<Item = String>, width: usize) -> Vec<String> {
    let mut lines = vec![heading.to_string()];
    for piece in pieces {
        let used = lines.last().map_or(0, |line| line.chars().count());
        let is_first = lines.last().is_some_and(|line| line.ends_with("  "));
        let between = if is_first { "" } else { "  " };
        match lines.last_mut() {
            Some(line) if used + between.len() + piece.chars().count() <= width => {
                line.push_str(between);
                line.push_str(&piece);
            }
            _ => lines.push(format!("{INDENT}{piece}")),
        }
    }
    lines
}

/// The first pieces that fit into one line.
fn fitting(heading: &str, pieces: Option<impl Iterator<Item = String>>, width: usize) -> String {
    let Some(mut pieces) = pieces else { return format!("{INDENT}{heading}-") };
    let mut line = format!("{INDENT}{heading}");
    let Some(first) = pieces.next() else { return line + "none" };
    line.push_str(&first);
    for piece in pieces {
        if line.chars().count() + 2 + piece.chars().count() > width {
            break;
        }
        line.push_str(", ");
        line.push_str(&piece);
    }
    line
}

fn link(of: &LinkNow) -> String {
    let share = |at: usize| of.shares.map_or("-".to_string(), |all| percent(all[at]));
    let bytes = |value: f64| Unit::BytesPerSecond.show(value);
    let LinkNow { name, received, sent, .. } = of;
    let (received, sent) = (bytes(*received), bytes(*sent));
    format!("{name} received {received} ({}) sent {sent} ({})", share(0), share(1))
}

fn percent(share: f64) -> String {
    format!("{} %", show_part(100.0 * share))
}

fn queue((name, per_s): &InterruptsNow) -> String {
    format!("{name} {}", Unit::PerSecond.show(*per_s))
}

/// Few CPUs have a line each. Of many, each has a mark by how busy it is; where there are more than
/// columns, a mark is that of the busiest of some. The line below has the mean of all by state.
fn cpus(cpus: Option<&[CpuNow]>, width: usize) -> Vec<String> {
    let Some(cpus) = cpus.filter(|cpus| !cpus.is_empty()) else {
        return vec![format!("{INDENT}CPUs -")];
    };
    if cpus.len() <= CPUS_IN_FULL {
        let line = |(cpu, states): &CpuNow| {
            let states = states.map(f64::from);
            format!("{INDENT}CPU {cpu}  {} {}", mark(busy(states)), by_state(states))
        };
        return cpus.iter().map(line).collect();
    }
    let heading = format!("{INDENT}CPUs ");
    let room = width.saturating_sub(heading.len()).max(1);
    let each = cpus.len().div_ceil(room);
    let most = |few: &[CpuNow]| {
        let busy = few.iter().map(|(_, states)| busy(states.map(f64::from)));
        mark(busy.fold(0.0, f64::max))
    };
    let marks: String = cpus.chunks(each).map(most).collect();
    let mut mean = [0.0; model::host_now::STATES_SHOWN];
    for (_, states) in cpus {
        mean.iter_mut().zip(states).for_each(|(sum, state)| *sum += f64::from(*state));
    }
    let mean = by_state(mean.map(|sum| sum / cpus.len() as f64));
    let count = match each {
        1 => format!("{INDENT}{} CPUs  {mean}", cpus.len()),
        each => format!("{INDENT}{} CPUs, {each} to a mark  {mean}", cpus.len()),
    };
    vec![format!("{heading}{marks}"), count]
}

fn busy(states: [f64; model::host_now::STATES_SHOWN]) -> f64 {
    states[..STATES_BUSY].iter().sum()
}

fn mark(busy: f64) -> char {
    let at = (busy / 100.0 * MARKS.len() as f64) as usize;
    MARKS[at.min(MARKS.len() - 1)]
}

/// Percent by state.
fn by_state(states: [f64; model::host_now::STATES_SHOWN]) -> String {
    let named = CpuShares::STATES.iter().zip(states);
    let shown = named.map(|(name, percent)| format!("{name} {percent:.0}"));
    format!("{:>3.0} %  {}", busy(states), shown.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use model::figure::OfHost;

    /// A host with this many CPUs, of which some are busy.
    pub(crate) fn made_up(sides: &[Whose], cpus: u32) -> HostNow {
        let cpu = |cpu: u32| {
            let busy = (cpu * 37 % 101) as u8;
            (cpu, [busy / 2, busy / 4, busy / 8, 0, 0, 1])
        };
        let whose = *sides.last().unwrap();
        let values = [
            (OfHost::Busy, 0.573),
            (OfHost::Interrupts, 352_100.0),
            (OfHost::SoftirqDrops, 0.0),
            (OfHost::Established, 130.0),
            (OfHost::AcceptQueue, 7.0),
            (OfHost::SynDrops, 3.5),
        ];
        let values = values.into_iter().filter(|(of, _)| of.is_of(whose));
        let link = |name: &str, received, shares| LinkNow {
            name: name.to_string(),
            received,
            sent: 4.75e6,
            shares,
        };
        let queue = |nth: u32| (format!("virtio0-input.{nth}"), 1000.0 - f64::from(nth));
        HostNow {
            sides: sides.to_vec(),
            figures: values.map(|(of, value)| (Figure::Host(of, whose), value)).collect(),
            cpus: Some((0..cpus).map(cpu).collect()),
            links: Some(vec![link("eth0", 236e6, Some([0.038, 0.0008])), link("lo", 12e3, None)]),
            interrupts: Some((0..cpus.min(32)).map(queue).collect()),
        }
    }

    #[test]
    fn lines_of_any_number_of_cpus_fit_their_width() {
        for count in 1..=128 {
            let host = made_up(&[Whose::Server], count);
            let lines = lines(&host, 80);
            assert!(lines.len() <= 6, "{count}: {lines:?}");
            for line in lines {
                assert!(line.chars().count() <= 80, "{count}: {line}");
            }
        }
    }

    #[test]
    fn a_hot_cpu_is_seen_among_many() {
        let mut host = made_up(&[Whose::Server], 128);
        for (cpu, states) in host.cpus.as_mut().unwrap() {
            *states = if *cpu == 77 { [60, 40, 0, 0, 0, 0] } else { [0; 6] };
        }
        let marks = &lines(&host, 80)[2];
        assert_eq!(marks.matches(MARKS[7]).count(), 1, "{marks}");
        assert_eq!(marks.matches(MARKS[0]).count(), 63, "{marks}");
        assert_eq!(marks.chars().position(|mark| mark == MARKS[7]), Some(7 + 77 / 2));
    }

    #[test]
    fn what_was_not_read_is_a_dash_and_what_did_not_happen_is_none_or_zero() {
        let nothing = HostNow { sides: vec![Whose::Server], ..HostNow::default() };
        let text = lines(&nothing, 80).join("\n");
        assert!(!text.contains(char::is_numeric) && !text.contains("none"), "{text}");
        assert!(text.contains("softirq.drops -") && text.contains("CPUs -"), "{text}");
        let quiet = HostNow {
            links: Some(Vec::new()),
            interrupts: Some(Vec::new()),
            ..made_up(&[Whose::Client], 2)
        };
        let text = lines(&quiet, 80).join("\n");
        assert!(text.contains("softirq.drops 0/s"), "{text}");
        assert!(text.contains("links  none") && text.contains("interrupts  none"), "{text}");
        assert!(!text.contains("accept.queue"), "a client does not accept: {text}");
    }
}
