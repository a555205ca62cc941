//! `bench truth`: do load generators report true latencies?
//!
//! A sink stalls for 100 ms in every second, so the wait of each request follows from its planned
//! instant. So the true percentiles can be computed and compared with those of each generator. A
//! second part checks whether `ceiling` sends requests when they are due.

mod arguments;
mod gaps;
mod generators;
mod release;
mod schedule;
mod stage;
mod table;

use crate::install::Peers;
use crate::options::{self, Setting};
use crate::supervise::Supervisor;
use crate::words::Words;
use anyhow::{Context, Result};
pub use arguments::Options;
use generators::{Arrivals, Ask, GENERATORS, Generator, Percentiles, Program, SHARES};
use release::Release;
use schedule::{Stalls, percentile};
use serde_json::{Value, json};
use stage::{Play, Played, play};
use std::process::ExitCode;
use table::Line;

const STALL_MS: u32 = 100;
const LENGTH_NS: u64 = 100_000_000;
const PERIOD_NS: u64 = 1_000_000_000;
const STALL: &str = "stall:100ms/1s";

/// Everything that a measurement needs.
struct Truth {
    options: Options,
    setting: Setting,
    supervisor: Supervisor,
    peers: Peers,
}

/// Measures, prints, and writes truth.json.
pub fn run(options: Options) -> Result<ExitCode> {
    options::check_cpus()?;
    let setting = options.setting();
    options::check_programs([&setting.programs.ceiling, &setting.programs.sink])?;
    let scratch = setting.scratch();
    std::fs::create_dir_all(&scratch).with_context(|| format!("{}", scratch.display()))?;
    let mut supervisor = Supervisor::new()?;
    let wanted = GENERATORS.iter().filter(|generator| options.wants(generator.name));
    let wanted: Vec<_> = wanted.filter_map(Generator::peer).collect();
    let peers = Peers::gather_only(&mut supervisor, &setting, &wanted)?;
    let mut truth = Truth { options, setting, supervisor, peers };
    print!("{}", truth.opening());
    let stalled = truth.stalled()?;
    let released = truth.released()?;
    let record = json!({
        "schema": "ceiling.truth/1",
        "seconds": truth.setting.seconds(),
        "delay": STALL,
        "stalled": stalled,
        "released": released,
    });
    let path = truth.setting.out.join("truth.json");
    std::fs::write(&path, serde_json::to_string_pretty(&record)? + "\n")?;
    println!("\nwrote {}", path.display());
    Ok(ExitCode::SUCCESS)
}

impl Truth {
    fn opening(&self) -> String {
        let versions: Vec<String> =
            self.peers.versions().map(|(name, version)| format!("{name} ({version})")).collect();
        let absent = GENERATORS.iter().filter(|generator| !self.has(generator));
        let absent: Vec<&str> = absent.map(|generator| generator.name).collect();
        format!("peers: {}\nabsent: {}\n", versions.join(", "), absent.join(", "))
    }

    fn has(&self, generator: &Generator) -> bool {
        generator.peer().is_none_or(|peer| self.peers.has(peer))
    }

    /// Every generator at every rate against stalls.
    fn stalled(&mut self) -> Result<Vec<Value>> {
        let mut records = Vec::new();
        for rate in self.options.rates.clone() {
            let connections = self.options.connections(rate, STALL_MS);
            print!("{}", table::heading(rate, self.setting.seconds(), connections));
            for generator in GENERATORS {
                if !self.options.wants(generator.name) || !self.has(generator) {
                    continue;
                }
                let line = self.against_stalls(generator, rate, connections)?;
                print!("{}", table::line(&line));
                records.push(record(&line, rate, connections));
            }
        }
        Ok(records)
    }

    fn ask(&self, rate: u32, connections: u32, url: &str) -> Ask {
        let (seconds, scratch) = (self.setting.seconds(), self.setting.scratch());
        Ask { url: url.to_owned(), rate, connections, seconds, scratch }
    }

    fn against_stalls(
        &mut self,
        generator: &Generator,
        rate: u32,
        connections: u32,
    ) -> Result<Line> {
        let ask = self.ask(rate, connections, "");
        let program = match generator.program {
            Program::Ceiling => self.setting.programs.ceiling.to_string_lossy().into_owned(),
            Program::Peer(_) => {
                generator.peer().map_or(String::new(), |peer| self.peers.program(peer))
            }
        };
        let behind = |arguments: Words| std::iter::once(program.clone()).chain(arguments).collect();
        let planned = u64::from(rate) * u64::from(ask.seconds);
        let played = play(
            &mut self.supervisor,
            &self.setting,
            &Play {
                sink: &["--delay", STALL],
                line: &|url| {
                    behind((generator.arguments)(&Ask { url: url.to_owned(), ..ask.clone() }))
                },
                report: generator.report.map(|report| behind(report(&ask))),
                accepts: &|code| generator.accepts(code),
                connections,
                expected: planned,
                stalls: Some((LENGTH_NS, PERIOD_NS)),
            },
        )?;
        let reported = played.printed.as_ref().map_err(Clone::clone);
        let reported = reported.and_then(|printed| (generator.read)(printed, &ask));
        Ok(Line {
            name: generator.name,
            arrivals: played.arrivals_ns.len(),
            planned,
            reported,
            truth: truth(generator, &played, &ask),
            served: served(&played.served),
        })
    }

    /// `ceiling` at every rate of the release part.
    fn released(&mut self) -> Result<Vec<Value>> {
        let mut records = Vec::new();
        if !self.options.wants("release") {
            return Ok(records);
        }
        let closed = self.released_by(0, &release::closed_loop)?;
        let closed = closed.printed.ok().and_then(|record| release::client_us_per_request(&record));
        print!("{}", table::release_heading(closed));
        for rate in self.options.release.clone() {
            for arrivals in release::ARRIVALS {
                let played = self.released_by(rate, &|ask| release::open_loop(ask, arrivals))?;
                let measured = played.printed.and_then(|record| {
                    release::measured(&record, &played.arrivals_ns, rate, arrivals)
                });
                let release = Release { rate, arrivals, measured };
                print!("{}", table::release(&release));
                records.push(release.record());
            }
        }
        Ok(records)
    }

    fn released_by(&mut self, rate: u32, line: &dyn Fn(&Ask) -> Words) -> Result<Played> {
        let ask = self.ask(rate, release::CONNECTIONS, "");
        let program = self.setting.programs.ceiling.to_string_lossy().into_owned();
        let line = |url: &str| {
            let arguments = line(&Ask { url: url.to_owned(), ..ask.clone() });
            std::iter::once(program.clone()).chain(arguments).collect()
        };
        play(
            &mut self.supervisor,
            &self.setting,
            &Play {
                sink: &[],
                line: &line,
                report: None,
                accepts: &|code| matches!(code, Some(0 | 4)),
                connections: release::CONNECTIONS,
                expected: u64::from(rate) * u64::from(ask.seconds),
                stalls: None,
            },
        )
    }
}

/// What a perfect client must have measured. A fixed rate is planned on a grid that starts with the
/// first arrivals, whatever the generator sent later. The plan of a Poisson process is known only
/// from its arrivals, which is right as long as no request waits for a connection.
fn truth(generator: &Generator, played: &Played, ask: &Ask) -> Percentiles {
    let origin_ns = played.served["start_ns"].as_u64();
    let baseline_ns = played.served["service_ns"]["p50"].as_u64();
    let begin_ns = schedule::grid_begin(&played.arrivals_ns, f64::from(ask.rate));
    let (Some(origin_ns), Some(baseline_ns), Some(begin_ns)) = (origin_ns, baseline_ns, begin_ns)
    else {
        return [None; 4];
    };
    let stalls = Stalls { origin_ns, length_ns: LENGTH_NS, period_ns: PERIOD_NS };
    let latencies = match generator.arrivals {
        Arrivals::Fixed => {
            let grid = schedule::grid(begin_ns, f64::from(ask.rate), ask.seconds);
            stalls.latencies_ns(grid, baseline_ns)
        }
        Arrivals::Poisson => stalls.latencies_ns(played.arrivals_ns.iter().copied(), baseline_ns),
    };
    SHARES.map(|share| percentile(&latencies, share))
}

/// The percentiles in the last line of the sink.
fn served(line: &Value) -> Percentiles {
    ["p50", "p90", "p99", "p99_9"].map(|name| line["service_ns"][name].as_u64())
}

fn record(line: &Line, rate: u32, connections: u32) -> Value {
    let named = |percentiles: &Percentiles| {
        let [p50, p90, p99, p99_9] = percentiles;
        json!({ "p50": p50, "p90": p90, "p99": p99, "p99_9": p99_9 })
    };
    let mut record = json!({
        "generator": line.name,
        "rate": rate,
        "connections": connections,
        "planned": line.planned,
        "arrivals": line.arrivals,
        "true_ns": named(&line.truth),
        "sink_ns": named(&line.served),
    });
    match &line.reported {
        Ok(reported) => record["reported_ns"] = named(reported),
        Err(reason) => record["failed"] = json!(reason),
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(arrivals_ns: Vec<u64>) -> Played {
        let served = json!({ "start_ns": 0, "service_ns": { "p50": 10_000, "p90": 20_000 } });
        Played { arrivals_ns, served, printed: Ok(String::new()) }
    }

    fn ask() -> Ask {
        let scratch = "".into();
        Ask { url: String::new(), rate: 1_000, connections: 64, seconds: 20, scratch }
    }

    /// A generator that pauses with the server does not change the truth, which follows from the
    /// plan.
    #[test]
    fn the_truth_of_a_fixed_rate_does_not_depend_on_who_paused() {
        let all: Vec<u64> = (0..20_000).map(|index| 550_000_000 + index * 1_000_000).collect();
        let stalls = Stalls { origin_ns: 0, length_ns: LENGTH_NS, period_ns: PERIOD_NS };
        let calm: Vec<u64> = all.iter().copied().filter(|at| stalls.wait_ns(*at) == 0).collect();
        let fixed = &GENERATORS[0];
        let of_all = truth(fixed, &played(all), &ask());
        assert_eq!(of_all, truth(fixed, &played(calm.clone()), &ask()));
        assert_eq!(of_all[0], Some(10_000));
        assert!((89_000_000..92_000_000).contains(&of_all[2].unwrap()), "{of_all:?}");
        let poisson = truth(&GENERATORS[1], &played(calm), &ask());
        assert_eq!(poisson[2], Some(10_000), "arrivals are all that is known of a random plan");
    }

    #[test]
    fn nothing_is_true_of_what_never_arrived() {
        assert_eq!(truth(&GENERATORS[0], &played(Vec::new()), &ask()), [None; 4]);
        assert_eq!(served(&Value::Null), [None; 4]);
    }

    #[test]
    fn a_failure_is_recorded_with_its_reason() {
        let reported = Err("no".to_owned());
        let (truth, served) = ([None; 4], [None; 4]);
        let line = Line { name: "oha", arrivals: 0, planned: 1, reported, truth, served };
        let record = record(&line, 1_000, 64);
        assert_eq!((&record["failed"], &record["true_ns"]["p50"]), (&json!("no"), &Value::Null));
    }
}
