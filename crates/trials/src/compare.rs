//! Two runs side by side. Differences are stated, not tested: a run shows how much its rate varies
//! inside a window, but not how much another run of the same would differ.

use crate::across;
use crate::settings::{cut, differences, flatten};
use figures::visit::known_of;
use judge::{ramp, stats, steady};
use model::across::{Bound, Difference};
use model::comparison::{
    COMPARISON_SCHEMA, Comparison, FunctionChange, PointPair, PointSide, ProfileDifference, Ratios,
    WaitChange,
};
use model::figure::Figure;
use model::maps::IntoMap;
use model::order::OrderBy as _;
use model::profile::{MergedProfile, ProfileKind, ProfileRecord, Waiter};
use model::run::{LoadInfo, Outcome, Point, Record};
use model::standing::Standing;
use model::units::show_count;
use model::visit::best_point;
use model::wall::Side;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The most functions and settings that are listed.
const LISTED_MAX: usize = 100;
/// Settings that differ between any two runs, or that are compared elsewhere.
const NO_SETTINGS: [&str; 8] = [
    "host.sysctls.fs.file-nr",
    "trial.seed",
    "trial.driver_reason",
    "trial.requests",
    "trial.resolution",
    "target.server.pid",
    "target.server.pids",
    "target.server.pinned_threads",
];

/// Compares A with B, and decides these bounds as far as two visits can.
pub fn compare(a: &Record, b: &Record, bounds: &[Bound]) -> Comparison {
    let points = pairs(a, b);
    Comparison {
        schema: COMPARISON_SCHEMA.to_string(),
        a: a.id.clone(),
        b: b.id.clone(),
        warnings: warnings(a, b, &points),
        settings: settings(a, b),
        points,
        profiles: profiles(a, b),
        bounds: across::of_runs(a, b, bounds),
    }
}

fn warnings(a: &Record, b: &Record, points: &[PointPair]) -> Vec<String> {
    let mut warnings = Vec::new();
    for (name, run) in [("A", a), ("B", b)] {
        if run.outcome != Outcome::Complete {
            warnings.push(format!("{name} ended early"));
        }
        if matches!(run.verdict.side, Side::Client | Side::Measurement) {
            let wall = run.verdict.wall.word();
            warnings.push(format!("the wall of {name} is not the server but {wall}"));
        }
    }
    warnings.extend(unknown("A", points, |pair| pair.a.as_ref()));
    warnings.extend(unknown("B", points, |pair| pair.b.as_ref()));
    for pair in points {
        if let (Some(a), Some(b)) = (&pair.a, &pair.b)
            && a.profiled != b.profiled
        {
            warnings.push(format!("only one side was profiled at {}", pair.load));
        }
    }
    warnings.extend(kernel_missing(a.profile.as_ref(), b.profile.as_ref()));
    let host = |run: &Record| {
        let host = &run.host;
        (host.hostname.clone(), host.cpu_model.clone(), host.cpus_online.len(), host.memory_bytes)
    };
    if host(a) != host(b) {
        warnings.push("the generator ran on another host, see the settings".to_string());
    }
    if points.iter().all(|pair| pair.a.is_none() || pair.b.is_none()) {
        warnings.push("no load was measured in both".to_string());
    }
    warnings
}

/// Loads at which the rate of a side is not known, with the reason at the first of them.
fn unknown(
    name: &str,
    points: &[PointPair],
    side: fn(&PointPair) -> Option<&PointSide>,
) -> Option<String> {
    let why = |pair| Some((pair, side(pair)?.rate_unknown.as_ref()?));
    let all: Vec<(&PointPair, &String)> = points.iter().filter_map(why).collect();
    let (first, why) = all.first()?;
    let loads = match all.len() {
        1 => first.load.clone(),
        more => format!("{more} of {} loads", points.len()),
    };
    Some(format!("the rate of {name} is not known at {loads}: {why}"))
}

/// Points of equal load. Of several visits the last one counts, which is the steady one; of the
/// trials of a search at its answer, the one that shows it.
fn pairs(a: &Record, b: &Record) -> Vec<PointPair> {
    let mut loads: Vec<Load> = Vec::new();
    for run in [a, b] {
        for load in run.points.iter().map(Load::of) {
            if !loads.contains(&load) {
                loads.push(load);
            }
        }
    }
    let pair = |load: &Load| {
        let [a, b] = [a, b].map(|run| Some(side(run, visit_at(run, load)?)));
        let ratios = a.as_ref().zip(b.as_ref()).map_or_else(Ratios::default, ratios);
        let is_ambiguous = loads
            .iter()
            .any(|other| other != load && other.words(show_count) == load.words(show_count));
        let words =
            if is_ambiguous { load.words(|rate| rate.to_string()) } else { load.words(show_count) };
        PointPair { load: words, a, b, ratios }
    };
    loads.iter().map(pair).collect()
}

/// Index of the visit of a load that counts.
fn visit_at(run: &Record, load: &Load) -> Option<usize> {
    let last = ramp::last_visits(&run.points);
    let visits = || last.iter().copied().filter(|at| Load::of(&run.points[*at]) == *load);
    let best = run.search.as_ref().and_then(|_| best_point(run)).map(|(at, _)| at);
    visits().find(|at| Some(*at) == best).or_else(|| visits().next_back())
}

/// A load, by what visits of one load have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Load {
    one: &'static str,
    connections: u32,
    depth: u32,
    /// Requests or connections per second, in open loop.
    rate: Option<f64>,
}

impl Load {
    fn of(point: &Point) -> Self {
        let LoadInfo { connections, depth, rate, .. } = point.load;
        let one = if point.is_of_devices() { "devices" } else { "connections" };
        Self { one, connections, depth, rate }
    }

    /// The load in words.
    fn words(&self, rate_in_words: fn(f64) -> String) -> String {
        let mut words = format!("{} {}", self.connections, self.one);
        if self.depth > 1 {
            words.push_str(&format!(", depth {}", self.depth));
        }
        if let Some(rate) = self.rate {
            words.push_str(&format!(", {}/s asked", rate_in_words(rate)));
        }
        words
    }
}

fn side(run: &Record, at: usize) -> PointSide {
    let point = &run.points[at];
    let rate = point.headline_rate();
    let rates = steady::independent_rates_of(point);
    let same = Load::of(point);
    let mut others = known_of(point);
    others.retain(|figure, _| !Figure::COMPARED.contains(figure));
    let broken = point.gates.iter().filter(|gate| gate.ok == Some(false));
    let struck = [Figure::P50, Figure::P99].into_iter().filter(|figure| {
        matches!(
            point.standing.of(*figure),
            Standing::Bounded { high: Some(_), .. } | Standing::NotKnown { .. }
        )
    });
    PointSide {
        point: at,
        visits: run.points.iter().filter(|other| Load::of(other) == same).count(),
        rate,
        rate_interval: stats::rate_interval(&rates),
        p50_ns: point.latency_ns.p50,
        p99_ns: point.latency_ns.p99,
        client_us_per_request: point.cpu.client_us_per_request,
        server_us_per_request: point.cpu.server_us_per_request,
        figures: others,
        wall: point.verdict.wall.word().to_string(),
        failed_gates: broken.map(|gate| gate.id.to_string()).collect(),
        rate_unknown: point.standing.of(Figure::Rate).reason_unknown(),
        struck: struck.map(|figure| figure.name().to_string()).collect(),
        profiled: point.profiled,
    }
}

fn ratios((a, b): (&PointSide, &PointSide)) -> Ratios {
    let over = |a: f64, b: f64| (a > 0.0).then(|| b / a);
    let of = |a: Option<f64>, b: Option<f64>| a.zip(b).and_then(|(a, b)| over(a, b));
    let ns = |side: &PointSide, figure: Figure, ns: Option<u64>| {
        let is_one = !side.struck.iter().any(|name| name == figure.name());
        ns.filter(|_| is_one).map(|ns| ns as f64)
    };
    let p50 = |side: &PointSide| ns(side, Figure::P50, side.p50_ns);
    let p99 = |side: &PointSide| ns(side, Figure::P99, side.p99_ns);
    let rate = over(a.rate, b.rate);
    // Half widths as parts of the rates; the two are independent.
    let part = |side: &PointSide| {
        let (low, high) = side.rate_interval?;
        (side.rate > 0.0).then(|| (high - low) / 2.0 / side.rate)
    };
    let spread = part(a).zip(part(b)).zip(rate).map(|((a, b), rate)| rate * a.hypot(b));
    Ratios {
        rate,
        rate_spread: spread,
        p50: of(p50(a), p50(b)),
        p99: of(p99(a), p99(b)),
        client_us: of(a.client_us_per_request, b.client_us_per_request),
        server_us: of(a.server_us_per_request, b.server_us_per_request),
    }
}

/// What differs in command, trial, target and hosts, by path in the record.
fn settings(a: &Record, b: &Record) -> Vec<Difference> {
    let (mut of_a, mut of_b) = (flat(a), flat(b));
    // Levels that only one run has are not settings of it, one by one.
    if a.trial.levels.len() != b.trial.levels.len() {
        for (settings, run) in [(&mut of_a, a), (&mut of_b, b)] {
            settings.retain(|name, _| !name.starts_with("trial.levels."));
            let levels = run.trial.levels.iter().map(|level| level.connections.to_string());
            let levels = levels.collect::<Vec<_>>().join(", ");
            settings.insert("trial.levels".to_string(), cut(&levels));
        }
    }
    let mut all = differences(&of_a, &of_b);
    all.truncate(LISTED_MAX);
    all
}

fn flat(run: &Record) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    settings.insert("command".to_string(), cut(&run.command[1.min(run.command.len())..].join(" ")));
    settings.insert("version".to_string(), run.version.clone());
    let target = serde_json::json!({
        "server": run.target.server,
        "probe": run.target.probe.as_ref().map(|far| (&far.host, &far.server)),
        "tls": run.target.tls,
    });
    // A record consists of values that JSON can represent.
    let value = |value: Result<Value, serde_json::Error>| value.unwrap_or(Value::Null);
    flatten("trial", &value(serde_json::to_value(&run.trial)), &mut settings);
    flatten("host", &value(serde_json::to_value(&run.host)), &mut settings);
    flatten("target", &target, &mut settings);
    settings.retain(|name, _| {
        !NO_SETTINGS.iter().any(|no| {
            name.strip_prefix(no).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    });
    settings
}

/// Which of two profiles lack time in the kernel.
fn kernel_missing(a: Option<&ProfileRecord>, b: Option<&ProfileRecord>) -> Option<String> {
    let names = match (a?.lacks_kernel(), b?.lacks_kernel()) {
        (true, false) => "the profile of A only",
        (false, true) => "the profile of B only",
        (true, true) => "both profiles",
        (false, false) => return None,
    };
    Some(format!("time in the kernel is missing in {names}"))
}

fn profiles(a: &Record, b: &Record) -> Vec<ProfileDifference> {
    let (Some(a), Some(b)) = (&a.profile, &b.profile) else { return Vec::new() };
    let both = a.kinds.iter().filter_map(|of_a| {
        let of_b = b.kinds.iter().find(|of_b| of_b.kind == of_a.kind)?;
        Some(ProfileDifference {
            kind: of_a.kind,
            functions: functions(of_a, of_b),
            waits: waits(of_a, of_b),
        })
    });
    both.collect()
}

/// Share and value per request of a function; zero only if all functions are known.
fn cost(merged: &MergedProfile, function: &str) -> (Option<f64>, Option<f64>) {
    let own = merged.top.iter().filter(|cost| cost.flat != 0).count();
    let is_whole = own >= merged.functions;
    let listed = merged.top.iter().find(|cost| cost.function == function).map(|cost| cost.flat);
    let flat = listed.or(is_whole.then_some(0)).map(|flat| flat as f64);
    let over = |whole: f64| flat.filter(|_| whole > 0.0).map(|flat| flat / whole);
    (over(merged.total as f64), merged.requests.and_then(over))
}

fn functions(a: &MergedProfile, b: &MergedProfile) -> Vec<FunctionChange> {
    // For a profile of waits, the call site says more than the function of the runtime.
    if a.kind.is_of_waits() {
        return Vec::new();
    }
    let own = a.top.iter().chain(&b.top).filter(|cost| cost.flat > 0);
    let names: BTreeSet<&String> = own.map(|cost| &cost.function).collect();
    let change = |function: &String| {
        let ((a_share, a_each), (b_share, b_each)) = (cost(a, function), cost(b, function));
        FunctionChange { function: function.clone(), a_share, b_share, a_each, b_each }
    };
    let mut changes: Vec<_> = names.into_iter().map(change).collect();
    let apart =
        |one: &FunctionChange| (one.a_share.unwrap_or(0.0) - one.b_share.unwrap_or(0.0)).abs();
    changes.order_by(|one, other| apart(other).total_cmp(&apart(one)));
    changes.truncate(LISTED_MAX);
    changes
}

fn waits(a: &MergedProfile, b: &MergedProfile) -> Vec<WaitChange> {
    if a.kind != ProfileKind::Block {
        return Vec::new();
    }
    let shares = |merged: &MergedProfile| -> BTreeMap<(String, String), Option<f64>> {
        let of_requests = merged.waits.iter().filter(|wait| wait.waiter == Waiter::Request);
        of_requests.map(|wait| ((wait.site.clone(), wait.call.clone()), wait.share)).into_map()
    };
    let (a, b) = (shares(a), shares(b));
    let sites: BTreeSet<_> = a.keys().chain(b.keys()).cloned().collect();
    let change = |key: (String, String)| WaitChange {
        a_share: a.get(&key).copied().flatten(),
        b_share: b.get(&key).copied().flatten(),
        site: key.0,
        call: key.1,
    };
    let mut changes: Vec<_> = sites.into_iter().map(change).collect();
    let most = |one: &WaitChange| one.a_share.unwrap_or(0.0).max(one.b_share.unwrap_or(0.0));
    changes.order_by(|one, other| most(other).total_cmp(&most(one)));
    changes.truncate(LISTED_MAX);
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::objective::ObjectiveStanding;
    use model::profile::{Capture, FunctionCost, Profiled, Wait};
    use model::search::{Answer, Ended, Purpose, SearchConfig, SearchRecord, SearchTrial, Trust};
    use model::verdict::{CeilingKind, Confidence};

    fn merged(kind: ProfileKind, top: &[(&str, i64)], waits: Vec<Wait>) -> MergedProfile {
        let cost = |(function, flat): &(&str, i64)| FunctionCost {
            function: (*function).to_string(),
            flat: *flat,
            cum: *flat,
        };
        MergedProfile {
            kind,
            processes: 1,
            duration_s: 1.0,
            requests: Some(10.0),
            requests_absent: None,
            total: top.iter().map(|(_, flat)| flat).sum(),
            top: top.iter().map(cost).collect(),
            functions: top.len(),
            flame: Vec::new(),
            waits,
        }
    }

    /// A run with visits of these planned and reached rates.
    fn run(visits: &[(f64, f64)]) -> Record {
        let text = include_str!("../../judge/tests/replay/base.json");
        let base: Value = serde_json::from_str(text).unwrap();
        let text = include_str!("../../judge/tests/kept/idle-event-loop.json");
        let kept: Value = serde_json::from_str(text).unwrap();
        let kept: Record = serde_json::from_value(kept["record"].clone()).unwrap();
        let document = serde_json::json!({
            "schema": "ceiling.run/1", "id": "", "version": "", "started_at": "", "command": [],
            "seed": 1, "outcome": "complete", "trial": base["trial"], "host": base["host"],
            "target": {
                "url": "", "addresses": [], "addresses_used": [], "sources_used": [],
                "server": null,
            }, "points": [],
            "verdict": judge::undecided(),
            "expectations": [], "perturbations": [], "notices": [], "definitions": {},
        });
        let visit = |(asked, reached): &(f64, f64)| {
            let mut point = kept.points[0].clone();
            (point.load.connections, point.load.rate) = (8, Some(*asked));
            (point.attempt, point.rate) = (1, *reached);
            point
        };
        let record: Record = serde_json::from_value(document).unwrap();
        Record { points: visits.iter().map(visit).collect(), ..record }
    }

    fn reached(of: &Comparison) -> Vec<(&str, Option<f64>, Option<f64>)> {
        let rate = |side: &Option<PointSide>| side.as_ref().map(|side| side.rate);
        of.points.iter().map(|pair| (pair.load.as_str(), rate(&pair.a), rate(&pair.b))).collect()
    }

    #[test]
    fn the_last_visit_of_a_load_counts_and_for_a_search_the_one_that_shows_its_answer() {
        let a = run(&[(1000.0, 900.0), (1000.0, 990.0), (1000.0, 950.0)]);
        let b = run(&[(1000.0, 500.0), (1000.0, 600.0)]);
        let load = "8 connections, 1000/s asked";
        assert_eq!(reached(&compare(&a, &b, &[])), [(load, Some(950.0), Some(600.0))]);
        let trial = |standing| SearchTrial {
            rate: 1000.0,
            duration_s: 5.0,
            purpose: Purpose::Verify,
            standing,
            trust: Trust::Sound,
        };
        let (met, missed) = (ObjectiveStanding::Met, ObjectiveStanding::Missed);
        let config = SearchConfig {
            lowest: 100.0,
            highest: 10_000.0,
            precision: 0.1,
            budget_ns: 1,
            trial_ns: 1,
            answers_min: 1,
            confidence: 0.95,
            errors_added_percent: None,
        };
        let answer = Answer {
            rate: Some(1000.0),
            kind: CeilingKind::Ceiling,
            misses_at: None,
            width: None,
            ended: Ended::Narrowed,
            confidence: Confidence::Probable,
            below: None,
            above: None,
            notes: Vec::new(),
        };
        let trials = [missed, met, missed].map(trial).to_vec();
        let found =
            Record { search: Some(SearchRecord { config, trials, answer: Some(answer) }), ..a };
        assert_eq!(reached(&compare(&found, &b, &[])), [(load, Some(990.0), Some(600.0))]);
    }

    #[test]
    fn figures_of_hosts_stand_beside_each_other_as_far_as_they_are_known() {
        let busy = Figure::parse("busy.server").unwrap();
        let drops = Figure::parse("listen.drops.server").unwrap();
        let with = |hosts: &[(Figure, f64)]| {
            let mut record = run(&[(1000.0, 900.0)]);
            record.points[0].hosts = hosts.iter().copied().into_map();
            let of = compare(&record, &record, &[]).points.remove(0).a.unwrap();
            [busy, drops, Figure::Rate].map(|figure| of.figures.get(&figure).copied())
        };
        assert_eq!(with(&[(busy, 0.4), (drops, 0.0)]), [Some(0.4), Some(0.0), None]);
        assert_eq!(with(&[]), [None; 3], "they were not read");
    }

    #[test]
    fn a_bound_of_a_figure_whose_variation_is_not_known_is_undecided_between_two_runs() {
        let busy = Figure::parse("busy.server").unwrap();
        let with = |value| {
            let mut record = run(&[(1000.0, 900.0)]);
            record.points[0].hosts = [(busy, value)].into();
            record
        };
        let bounds = ["busy.server>10%".parse().unwrap()];
        let of = compare(&with(0.1), &with(0.9), &bounds);
        let said = of.bounds.iter().map(|one| (one.outcome, one.ratio)).collect::<Vec<_>>();
        assert_eq!(said, [(model::across::Outcome::Undecided, None)]);
    }

    #[test]
    fn rates_that_print_alike_are_not_one_load() {
        let a = run(&[(12_340.0, 12_000.0), (12_341.5, 11_000.0)]);
        let b = run(&[(12_341.5, 9_000.0)]);
        let expected = [
            ("8 connections, 12340/s asked", Some(12_000.0), None),
            ("8 connections, 12341.5/s asked", Some(11_000.0), Some(9_000.0)),
        ];
        assert_eq!(reached(&compare(&a, &b, &[])), expected);
    }

    #[test]
    fn functions_are_ordered_by_change_of_share() {
        let a = merged(ProfileKind::Cpu, &[("write", 60), ("lock", 40)], Vec::new());
        let mut b = merged(ProfileKind::Cpu, &[("write", 100)], Vec::new());
        let changes = functions(&a, &b);
        assert_eq!(changes[0].function, "lock");
        assert_eq!((changes[0].a_share, changes[0].b_share), (Some(0.4), Some(0.0)));
        assert_eq!((changes[1].a_each, changes[1].b_each), (Some(6.0), Some(10.0)));
        // If some functions were too small to be kept, none is known to be zero.
        b.functions = 9;
        assert_eq!(functions(&a, &b)[0].b_share, None);
    }

    #[test]
    fn profiles_of_which_one_lacks_the_kernel_are_hard_to_compare() {
        let profile = |lacks_kernel| ProfileRecord {
            visit: Profiled::Point,
            point: 0,
            window_ns: (0, 1),
            rate: 1.0,
            in_flight: None,
            p50_ns: None,
            server_us_per_request: None,
            captures: vec![Capture {
                kind: ProfileKind::Perf,
                pid: Some(1),
                source: "perf cpu-clock".to_string(),
                file: String::new(),
                begin_ns: 0,
                end_ns: 1,
                duration_ns: Some(1),
                samples: 1,
                total: 1,
                lacks_kernel,
            }],
            failures: Vec::new(),
            kinds: Vec::new(),
        };
        let (whole, user) = (profile(false), profile(true));
        let missing = kernel_missing(Some(&whole), Some(&user));
        assert_eq!(
            missing.as_deref(),
            Some("time in the kernel is missing in the profile of B only")
        );
        assert!(kernel_missing(Some(&user), Some(&whole)).is_some_and(|why| why.contains(" A ")));
        let missing = kernel_missing(Some(&user), Some(&user));
        assert!(missing.is_some_and(|why| why.ends_with("missing in both profiles")));
        for (a, b) in [(Some(&whole), Some(&whole)), (None, Some(&user))] {
            assert_eq!(kernel_missing(a, b), None);
        }
    }

    #[test]
    fn waits_are_those_of_requests() {
        let wait = |site: &str, waiter, share| Wait {
            site: site.to_string(),
            call: "Lock".to_string(),
            waiter,
            known_by: None,
            count: 1,
            blocked_s: 1.0,
            share,
            gain_max: None,
        };
        let of_a = vec![wait("rng", Waiter::Request, Some(0.2)), wait("idle", Waiter::Other, None)];
        let a = merged(ProfileKind::Block, &[], of_a);
        let b = merged(ProfileKind::Block, &[], vec![wait("pool", Waiter::Request, Some(0.1))]);
        let changes = waits(&a, &b);
        let shares: Vec<_> =
            changes.iter().map(|one| (one.site.as_str(), one.a_share, one.b_share)).collect();
        assert_eq!(shares, [("rng", Some(0.2), None), ("pool", None, Some(0.1))]);
        assert!(functions(&a, &b).is_empty());
    }

    #[test]
    fn a_ratio_varies_by_both_sides() {
        let side = |rate: f64, half: f64| PointSide {
            point: 0,
            visits: 1,
            rate,
            rate_interval: Some((rate - half, rate + half)),
            p50_ns: Some(10),
            p99_ns: None,
            client_us_per_request: None,
            server_us_per_request: Some(5.0),
            figures: BTreeMap::new(),
            wall: "none".to_string(),
            failed_gates: Vec::new(),
            rate_unknown: None,
            struck: Vec::new(),
            profiled: false,
        };
        let found = ratios((&side(100.0, 3.0), &side(200.0, 8.0)));
        assert_eq!((found.rate, found.p50, found.p99), (Some(2.0), Some(1.0), None));
        assert!((found.rate_spread.unwrap() - 0.1).abs() < 1e-9, "{found:?}");
        assert_eq!(ratios((&side(0.0, 0.0), &side(1.0, 0.0))).rate, None);
        let struck = PointSide { struck: vec!["p50".to_string()], ..side(200.0, 8.0) };
        let found = ratios((&side(100.0, 3.0), &struck));
        assert_eq!((found.rate, found.p50), (Some(2.0), None), "a percentile with bounds");
    }
}
