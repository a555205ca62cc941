//! How long a plan will take, as far as that is known before anything runs.
//!
//! In: the words of each cell's load. Out: the time of each visit with its parts, and the sum.
//! Never: a file, a resolver or the kernel. What only those know is left out, and the text says so.

use crate::cell::{Cell, Server};
use crate::cells::Plan;
use crate::load;
use crate::machine::Unasked;
use model::load::{Arrival, Level, Question, Stop, Trial, Warmup};
use model::units::NS_PER_S;

/// Start and end of a process that makes load, greeting and verdict included, nanoseconds.
const LOAD_NS: u64 = 1_000_000_000;
/// Start and end of a server that is started, nanoseconds. One that fills tables takes longer.
const SERVER_NS: u64 = 500_000_000;
/// The last responses of a level, nanoseconds.
const DRAIN_NS: u64 = 200_000_000;
/// A warm-up that ends when the rate has settled takes one part in this many of the longest.
const SETTLED: u64 = 3;

/// Options that name files, variables or hosts and do not change how long a load lasts.
const ELSEWHERE: [&str; 16] = [
    "auth-env",
    "bearer-file",
    "body-file",
    "targets",
    "cert",
    "key",
    "cacert",
    "probe",
    "probe-token-file",
    "proxy",
    "proxy-tunnel",
    "resolve",
    "connect-to",
    "expand",
    "profile",
    "cpus",
];

/// How long the visits of a plan last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lasts {
    /// Each visit, nanoseconds, its pause included; nothing where only the load itself knows.
    pub visits: Vec<Option<u64>>,
    /// The sum in words, with its parts.
    pub text: String,
}

/// One visit.
#[derive(Debug, Clone, PartialEq, Eq)]
struct One {
    ns: Option<u64>,
    parts: String,
}

impl Plan {
    /// How long the plan will take. An experiment that may end early takes less.
    pub fn lasts(&self) -> Lasts {
        let each: Vec<One> = self.cells.iter().map(of_cell).collect();
        let pause_ns = self.design.as_ref().map_or(0, |design| design.pause_ns);
        let visits = self.visits();
        let of_visits: Vec<Option<u64>> =
            visits.iter().map(|visit| Some(each[visit.cell].ns? + pause_ns)).collect();
        let known: u64 = of_visits.iter().flatten().sum();
        let unknown = of_visits.iter().filter(|ns| ns.is_none()).count();
        let mut text = match unknown {
            0 => format!("\nabout {}\n", rough(known)),
            count if count == of_visits.len() => "\nit is not known how long this takes\n".into(),
            count => format!("\nabout {}, and {count} visits of unknown length\n", rough(known)),
        };
        let mut listed: Vec<(&One, usize)> = Vec::new();
        for visit in &visits {
            match listed.iter_mut().find(|(one, _)| *one == &each[visit.cell]) {
                Some((_, count)) => *count += 1,
                None => listed.push((&each[visit.cell], 1)),
            }
        }
        for (one, count) in listed {
            let whole = one.ns.map_or("?".to_string(), rough);
            text += &format!("  {count} x {whole}: {}\n", one.parts);
        }
        if pause_ns > 0 {
            text += &format!("  {} x {}: pause\n", visits.len(), rough(pause_ns));
        }
        text += &self.early();
        Lasts { visits: of_visits, text }
    }

    /// What may end it early.
    fn early(&self) -> String {
        let Some(design) = &self.design else { return String::new() };
        let mut text = String::new();
        if let Some(budget) = design.budget_ns {
            text += &format!("  budget: no block starts after {}\n", rough(budget));
        }
        if design.until_decided || design.precision.is_some() {
            text += "  less, when the design reaches its goal before the last block\n";
        }
        text
    }
}

fn of_cell(cell: &Cell) -> One {
    let server_ns = match cell.server {
        Server::Started { .. } => SERVER_NS,
        Server::Running { .. } => 0,
    };
    let Some(trial) = trial(cell) else {
        return One { ns: None, parts: "as long as the file that the load reads says".to_string() };
    };
    let (load_ns, load) = of_trial(&trial);
    let around = server_ns + LOAD_NS;
    One {
        ns: load_ns.map(|ns| ns + around),
        parts: format!("{} to start and end + {load}", rough(around)),
    }
}

/// The trial of a cell, on a host that is not queried.
fn trial(cell: &Cell) -> Option<Trial> {
    let addr = match &cell.server {
        Server::Started { .. } => "127.0.0.1:1",
        Server::Running { addr } => addr,
    };
    let is_elsewhere = |word: &String| {
        let key = word.strip_prefix("--").unwrap_or_default();
        ELSEWHERE.contains(&key.split('=').next().unwrap_or_default())
    };
    let words = cell.load.words(addr, &[]).into_iter().filter(|word| !is_elsewhere(word));
    load::trial_of(&words.collect::<Vec<_>>(), &Unasked::default()).ok()
}

fn of_trial(trial: &Trial) -> (Option<u64>, String) {
    if let Some(search) = &trial.search {
        let text = format!("search of at most {}", rough(search.budget_ns));
        return (Some(search.budget_ns), text);
    }
    let window = match trial.stop {
        Stop::AfterNs(ns) => Some(ns),
        Stop::AfterRequests(requests) => requests_ns(requests, trial.levels.first()),
    };
    let warmup = match trial.warmup {
        Warmup::ForNs(ns) => ns,
        Warmup::SettleWithinNs(ns) => ns / SETTLED,
    };
    let life =
        trial.levels.first().map_or(0, |level| level.life.ramp_up_ns + level.life.ramp_down_ns);
    let levels = trial.levels.len() as u64 * u64::from(trial.visits);
    let mut parts = vec![match window {
        Some(ns) => format!("{} window", rough(ns)),
        None => "the time of its requests".to_string(),
    }];
    if warmup > 0 {
        parts.insert(0, format!("{} warm-up", rough(warmup)));
    }
    if life > 0 {
        parts.push(format!("{} ramp-up and ramp-down", rough(life)));
    }
    parts.push(format!("{} drain", rough(DRAIN_NS)));
    let mut text = parts.join(" + ");
    if levels > 1 {
        text = format!("{levels} levels x ({text})");
    }
    let confirm = trial.confirm.as_ref().map_or(0, |one| u64::from(one.pairs) * 2 * one.block_ns);
    if confirm > 0 {
        text += &format!(" + {} or more of --confirm", rough(confirm));
    }
    if trial.question == Question::Ramp && trial.repeats_max > 0 {
        text += ", and repeats of levels that are not steady";
    }
    (window.map(|ns| (warmup + ns + life + DRAIN_NS) * levels + confirm), text)
}

/// How long a number of requests takes at a planned rate.
fn requests_ns(requests: u64, level: Option<&Level>) -> Option<u64> {
    let Arrival::Open { curve, .. } = &level?.arrival else { return None };
    Some((requests as f64 / curve.constant_rate()? * NS_PER_S as f64) as u64)
}

/// A time as a person would say it.
pub fn rough(ns: u64) -> String {
    let tenths = (ns + NS_PER_S / 20) / (NS_PER_S / 10);
    let seconds = (ns + NS_PER_S / 2) / NS_PER_S;
    match seconds {
        _ if tenths < 100 && !tenths.is_multiple_of(10) => {
            format!("{}.{} s", tenths / 10, tenths % 10)
        }
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", (seconds + 30) / 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Targets;

    fn lasts(load: &str, design: &str) -> Lasts {
        let text = format!(
            "schema = \"ceiling.plan/1\"\nquestion = \"?\"\n[server]\naddr = \"192.0.2.7:80\"\n\
             [load]\n{load}\n{design}"
        );
        Plan::parse(&text, &Targets::absent(String::new()), &crate::GivenHosts::default())
            .unwrap()
            .lasts()
    }

    const S: u64 = NS_PER_S;

    #[test]
    fn a_ramp_lasts_as_long_as_its_levels() {
        let of = lasts("connections = \"1..4*2\"\nwarmup = \"1s\"\nduration = \"2s\"", "");
        // 1 + 3 x (1 + 2 + 0.2).
        assert_eq!(of.visits, [Some(10_600_000_000)]);
        assert!(of.text.starts_with("\nabout 11 s\n"), "{}", of.text);
        let parts = "1 x 11 s: 1 s to start and end + 3 levels x (1 s warm-up + 2 s window";
        assert!(of.text.contains(parts), "{}", of.text);
    }

    #[test]
    fn blocks_and_pauses_add_up() {
        let load = "command = \"load\"\nwarmup = \"0\"\nduration = \"30s\"\ndepth = 1";
        let design = "[[vary]]\nkey = \"load.depth\"\nvalues = [1, 2]\n[design]\nblocks = 10\n\
                      pause = \"5s\"\nbudget = \"5m\"\nuntil_decided = true\nwarmup_visits = 1";
        let of = lasts(load, design);
        assert_eq!((of.visits.len(), of.visits[0]), (21, Some(36 * S + 200_000_000)));
        assert!(of.text.starts_with("\nabout 13 min\n"), "{}", of.text);
        assert!(of.text.contains("no block starts after 5 min"), "{}", of.text);
        assert!(of.text.contains("less, when"), "{}", of.text);
    }

    #[test]
    fn what_is_not_known_is_said() {
        let of = lasts("command = \"load\"\nrequests = 1000", "");
        assert_eq!(of.visits, [None]);
        assert!(of.text.contains("not known how long"), "{}", of.text);
        assert_eq!(
            lasts("command = \"load\"\nrequests = 1000\nrate = \"100\"", "").visits,
            [Some(10 * S + LOAD_NS + DRAIN_NS)]
        );
        assert_eq!(lasts("command = \"load\"\nreplay = \"times.txt\"", "").visits, [None]);
        let file = "command = \"load\"\nduration = \"4s\"\nwarmup = \"0\"\nbody-file = \"big\"";
        assert_eq!(lasts(file, "").visits, [Some(4 * S + LOAD_NS + DRAIN_NS)]);
        let way = "command = \"load\"\nduration = \"4s\"\nwarmup = \"0\"\n\
                   resolve = [\"a.test:80:192.0.2.8\"]";
        assert_eq!(lasts(way, "").visits, [Some(4 * S + LOAD_NS + DRAIN_NS)]);
    }

    #[test]
    fn a_search_and_devices_have_lengths_of_their_own() {
        let find = lasts("command = \"find\"\nslo = \"p99<2ms\"\nbudget = \"90s\"", "");
        assert_eq!(find.visits, [Some(90 * S + LOAD_NS)]);
        let churn = "command = \"churn\"\nduration = \"10s\"\nramp-up = \"60s\"\nwarmup = \"0\"";
        assert_eq!(lasts(churn, "").visits, [Some(130 * S + LOAD_NS + DRAIN_NS)]);
    }

    #[test]
    fn times_are_said_as_people_do() {
        let shown = |seconds: f64| rough((seconds * 1e9) as u64);
        assert_eq!(
            [shown(0.5), shown(3.0), shown(9.96), shown(75.0)],
            ["0.5 s", "3 s", "10 s", "75 s"]
        );
        assert_eq!([shown(150.0), shown(7265.0)], ["3 min", "2 h 1 min"]);
    }
}
