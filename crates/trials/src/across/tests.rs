//! Two days in virtual time: what differs between them is known.

use super::*;
use model::analysis::{Analysis, Conditions, Excluded, HostSeen, VisitSeen};
use model::experiment::{Conclusion, Fate, SCHEMA};
use model::random::Random;

/// An experiment whose cells have these true logarithms, and a spread.
fn day(seed: u64, cells: &[(&str, f64, f64)], visits: u32) -> Experiment {
    let mut random = Random::new(seed, 0x6461_7931);
    let mut seen = Vec::new();
    for block in 1..=visits {
        for (cell, truth, spread) in cells {
            let rate = 10_000.0 * (truth + spread * random.normal()).exp();
            seen.push(VisitSeen {
                cell: (*cell).to_string(),
                block: Some(block),
                figures: [(Figure::Rate, rate)].into(),
                bounds: BTreeMap::new(),
                rate_is_at_least: false,
                load: None,
                levels: Vec::new(),
                wall: None,
                conditions: Conditions::default(),
            });
        }
    }
    let result = |cell: &VisitSeen| CellResult {
        host: None,
        name: cell.cell.clone(),
        block: cell.block,
        server: vec!["server".to_string(), "--db=127.0.0.1:4712".to_string()],
        command: ["ceiling", "load", "http://127.0.0.1:4711/read", "--server-pid=9"]
            .map(str::to_string)
            .to_vec(),
        expected: Vec::new(),
        fate: Fate::Measured { run: String::new() },
        tuned: Vec::new(),
        stopped: None,
    };
    Experiment {
        hosts: Vec::new(),
        schema: SCHEMA.to_string(),
        id: format!("day {seed}"),
        version: "1".to_string(),
        started_at: String::new(),
        plan: String::new(),
        question: String::new(),
        design: None,
        ended: None,
        took_s: None,
        cells: seen.iter().map(result).collect(),
        summaries: Vec::new(),
        contrasts: Vec::new(),
        levels: Vec::new(),
        predictions: Vec::new(),
        analysis: Some(Analysis { visits: seen, ..Analysis::default() }),
    }
}

fn bounds(text: &[&str]) -> Vec<Bound> {
    text.iter().map(|text| text.parse().unwrap()).collect()
}

fn outcomes(of: &Across) -> Vec<(&str, Outcome)> {
    of.bounds.iter().map(|one| (one.cell.as_str(), one.outcome)).collect()
}

#[test]
fn intervals_cover_the_ratio_as_often_as_they_say_also_with_unequal_spread() {
    let covers = |seed: u64| {
        let (a, b) = (4 + seed as u32 % 5, 5 + seed as u32 % 3);
        let (base, new) = (day(seed, &[("x", 0.0, 0.02)], a), day(!seed, &[("x", 0.05, 0.04)], b));
        let of = across(&base, &new, &[]);
        let (low, high) = (of.cells[0].low.unwrap(), of.cells[0].high.unwrap());
        low <= 0.05f64.exp() && 0.05f64.exp() <= high
    };
    let covered = (0..2000).filter(|seed| covers(*seed)).count();
    eprintln!("Welch: {covered} of 2000");
    assert!((1860..=1940).contains(&covered), "{covered} of 2000, 95 % asked");
}

#[test]
fn a_bound_that_is_just_kept_fails_in_fewer_than_one_of_twenty() {
    let cells = [("x", 0.0, 0.02), ("y", 0.0, 0.02)];
    let kept = cells.map(|(cell, _, spread)| (cell, (-0.03f64).ln_1p(), spread));
    let fails = |seed: u64| {
        let of = across(&day(seed, &cells, 8), &day(!seed, &kept, 8), &bounds(&["rate<-3%"]));
        of.bounds.iter().any(|one| one.outcome == Outcome::Failed)
    };
    let wrong = (0..1000).filter(|seed| fails(*seed)).count();
    eprintln!("bounds at their edge: {wrong} of 1000");
    assert!(wrong <= 40, "{wrong} of 1000, 2.5 % allowed");
}

#[test]
fn a_regression_fails_what_is_alike_holds_and_few_visits_decide_nothing() {
    let base = day(1, &[("slow", 0.0, 0.005), ("alike", 0.3, 0.005), ("noisy", 0.0, 0.05)], 6);
    let new = day(2, &[("slow", -0.1, 0.005), ("alike", 0.3, 0.005), ("noisy", -0.02, 0.05)], 6);
    let of = across(&base, &new, &bounds(&["rate<-3%"]));
    let expected =
        [("alike", Outcome::Holds), ("noisy", Outcome::Undecided), ("slow", Outcome::Failed)];
    assert_eq!(outcomes(&of), expected, "{of:?}");
    assert!(of.bounds[1].more_visits.is_some_and(|more| more > 1), "{of:?}");
    let said: Vec<_> = of.cells.iter().map(|one| (one.cell.as_str(), one.conclusion)).collect();
    let (less, same) = (Some(Conclusion::Less), Some(Conclusion::Same));
    assert_eq!(said[..2], [("slow", less), ("alike", same)], "in the order of the plan");
    let two = across(&base, &day(3, &[("slow", -0.5, 0.005)], 2), &bounds(&["rate<-3%"]));
    assert!(two.bounds.iter().all(|one| one.outcome == Outcome::Undecided), "{two:?}");
    assert_eq!(two.only_a, ["alike", "noisy"]);
    assert!(across(&new, &base, &bounds(&["rate>5%"])).bounds[2].outcome == Outcome::Failed);
}

#[test]
fn figures_of_hosts_are_compared_and_bounded_like_the_others() {
    let busy = Figure::parse("busy.server").unwrap();
    let with_hosts = |seed, busy_is: f64| {
        let mut of = day(seed, &[("x", 0.0, 0.005)], 6);
        for (nth, visit) in of.analysis.iter_mut().flat_map(|one| &mut one.visits).enumerate() {
            visit.figures.insert(busy, busy_is + 0.001 * nth as f64);
        }
        of
    };
    let (base, new) = (with_hosts(1, 0.4), with_hosts(2, 0.5));
    let of = across(&base, &new, &bounds(&["busy.server>10%", "busy.server>50%"]));
    let said: Vec<Outcome> = of.bounds.iter().map(|one| one.outcome).collect();
    assert_eq!(said, [Outcome::Failed, Outcome::Holds]);
    let cell = of.cells.iter().find(|one| one.figure == busy).unwrap();
    assert_eq!(cell.conclusion, Some(Conclusion::More));
}

/// The generator of one day reached its limit: each of its rates is a lower bound.
#[test]
fn what_only_bounds_are_known_of_is_decided_where_both_ends_agree() {
    let base = day(1, &[("x", 0.0, 0.003)], 6);
    let of = |truth: f64, limit: fn(&mut VisitSeen)| {
        let mut new = day(2, &[("x", truth, 0.003)], 6);
        new.analysis.as_mut().unwrap().visits.iter_mut().for_each(limit);
        let of = across(&base, &new, &bounds(&["rate<-3%"]));
        assert!(of.warnings[0].starts_with("only bounds of rate are known in 6 of 6"), "{of:?}");
        (of.cells[0].conclusion.unwrap(), of.bounds[0].outcome, of.bounds[0].more_visits)
    };
    let at_least = |visit: &mut VisitSeen| visit.rate_is_at_least = true;
    assert_eq!(of(-0.1, at_least), (Conclusion::Undecided, Outcome::Undecided, None));
    assert_eq!(of(0.0, at_least), (Conclusion::Undecided, Outcome::Holds, None));
    assert_eq!(of(0.1, at_least), (Conclusion::More, Outcome::Holds, None));
    let near = |visit: &mut VisitSeen| {
        let rate = visit.figures[&Figure::Rate];
        visit.bounds.insert(Figure::Rate, (rate, Some(rate * 1.02)));
    };
    assert_eq!(of(-0.1, near), (Conclusion::Less, Outcome::Failed, None));
    let wide = |visit: &mut VisitSeen| {
        let rate = visit.figures[&Figure::Rate];
        visit.bounds.insert(Figure::Rate, (rate * 0.9, Some(rate)));
    };
    assert_eq!(of(0.0, wide), (Conclusion::Undecided, Outcome::Undecided, None));
    let both = |visit: &mut VisitSeen| {
        let rate = visit.figures[&Figure::Rate];
        visit.bounds.insert(Figure::Rate, (rate * 0.9, Some(rate)));
        visit.rate_is_at_least = true;
    };
    assert_eq!(of(0.05, both), (Conclusion::Undecided, Outcome::Undecided, None));
    assert_eq!(of(0.2, both), (Conclusion::More, Outcome::Holds, None));
}

/// The rate of a generator at its limit is known as its own.
#[test]
fn a_plan_that_compares_generators_compares_their_rates() {
    let of = |options: [&str; 2]| {
        let [base, new] = [(1, 0.0), (2, -0.1)].map(|(seed, truth)| {
            let mut of = day(seed, &[("x", truth, 0.003), ("y", truth, 0.003)], 6);
            for cell in &mut of.cells {
                let at = usize::from(cell.name == "y");
                cell.command.push(options[at].to_string());
            }
            for visit in &mut of.analysis.as_mut().unwrap().visits {
                visit.rate_is_at_least = true;
            }
            of
        });
        let of = across(&base, &new, &bounds(&["rate<-3%"]));
        let is_bounded = of.warnings.iter().any(|one| one.starts_with("only bounds of rate"));
        let said: Vec<Outcome> = of.bounds.iter().map(|one| one.outcome).collect();
        (said, is_bounded)
    };
    let (failed, undecided) = (vec![Outcome::Failed; 2], vec![Outcome::Undecided; 2]);
    for options in [["--tool=wrk", "--tool=oha"], ["--threads=1", "--threads=2"]] {
        assert_eq!(of(options), (failed.clone(), false), "{options:?}");
    }
    for options in [["--tool=wrk", "--tool=wrk"], ["--connections=1", "--connections=2"]] {
        assert_eq!(of(options), (undecided.clone(), true), "{options:?}");
    }
}

/// The new build answers each request of these visits with an error.
fn refusing(visits: u32, of: u32, truth: f64) -> Experiment {
    let mut new = day(2, &[("x", truth, 0.003)], of);
    for visit in &mut new.analysis.as_mut().unwrap().visits {
        if visit.block <= Some(visits) {
            visit.figures.insert(Figure::Rate, 0.0);
        }
    }
    new
}

#[test]
fn a_bound_fails_where_most_visits_serve_nothing() {
    let base = day(1, &[("x", 0.0, 0.003)], 8);
    let asked = bounds(&["rate<-3%", "rate>5%", "rate<-90%"]);
    for count in [5, 8] {
        let of = across(&base, &refusing(count, 8, 0.0), &asked);
        let said: Vec<_> = of.bounds.iter().map(|one| one.outcome).collect();
        assert_eq!(said, [Outcome::Failed, Outcome::Holds, Outcome::Failed], "{of:?}");
        let one = &of.cells[0];
        assert_eq!((one.conclusion, one.visits), (Some(Conclusion::Less), (8, 8)));
        assert_eq!((one.ratio, one.means.1), (None, 0.0));
        let warning = format!("rate is zero in {count} of 8 visits of x in B");
        let found = of.warnings.iter().find(|one| one.starts_with(&warning)).expect(&warning);
        assert_eq!(found.contains("the other visits"), count < 8, "{found}");
    }
    let back = across(&refusing(8, 8, 0.0), &base, &asked);
    assert_eq!(back.bounds[0].outcome, Outcome::Holds);
    assert_eq!(back.bounds[1].outcome, Outcome::Failed);
    let neither = across(&refusing(8, 8, 0.0), &refusing(8, 8, 0.0), &asked);
    assert!(neither.bounds.iter().all(|one| one.outcome == Outcome::Undecided), "{neither:?}");
}

#[test]
fn nothing_rests_on_the_visits_that_still_served_something() {
    let base = day(1, &[("x", 0.0, 0.003)], 8);
    let of = |truth: f64| {
        let of = across(&base, &refusing(3, 8, truth), &bounds(&["rate<-3%", "rate>5%"]));
        assert_eq!(of.cells[0].visits, (8, 8), "zero is a figure");
        let warning = "rate is zero in 3 of 8 visits of x in B, which had no good response";
        assert!(of.warnings.iter().any(|one| one.starts_with(warning)), "{:?}", of.warnings);
        assert_eq!(of.bounds[0].more_visits, None);
        (of.cells[0].conclusion.unwrap(), of.bounds[0].outcome, of.bounds[1].outcome)
    };
    let (undecided, holds) = (Outcome::Undecided, Outcome::Holds);
    assert_eq!(of(0.0), (Conclusion::Undecided, undecided, holds), "the five are the same");
    assert_eq!(of(0.1), (Conclusion::Undecided, undecided, undecided), "the five are faster");
    assert_eq!(of(-0.1), (Conclusion::Less, Outcome::Failed, holds), "the five are slower");
}

#[test]
fn visits_without_a_rate_are_counted() {
    let base = day(1, &[("x", 0.0, 0.003)], 8);
    let mut new = base.clone();
    new.analysis.as_mut().unwrap().visits[2].figures.clear();
    let of = across(&base, &new, &[]);
    let warning = "rate is not known in 1 of 8 visits of x in B, which are left out";
    assert!(of.warnings.contains(&warning.to_string()), "{:?}", of.warnings);
    new.analysis.as_mut().unwrap().visits.iter_mut().for_each(|visit| visit.figures.clear());
    let of = across(&base, &new, &[]);
    let warning = warning.replace("1 of", "8 of");
    assert!(of.warnings.contains(&warning), "{:?}", of.warnings);
}

#[test]
fn an_experiment_without_a_measured_visit_is_said_to_be_such() {
    let mut base = day(1, &[("x", 0.0, 0.003)], 6);
    let host = HostSeen {
        side: "client".to_string(),
        hostname: "h".to_string(),
        kernel: "6.12".to_string(),
        cpu_model: String::new(),
        cpus: 2,
    };
    base.analysis.as_mut().unwrap().hosts.push(host);
    let mut failed = day(2, &[("x", 0.0, 0.003)], 6);
    for cell in &mut failed.cells {
        cell.fate = Fate::Failed { why: "it did not start".to_string() };
    }
    failed.analysis = Some(Analysis::default());
    let of = across(&base, &failed, &bounds(&["rate<-3%"]));
    assert_eq!(of.warnings, ["no visit of B was measured", "6 visits of B failed"]);
    assert_eq!(outcomes(&of), [("x", Outcome::Undecided)]);
    let of = across(&failed, &base, &[]);
    assert_eq!(of.warnings, ["no visit of A was measured", "6 visits of A failed"]);
    for visit in &mut base.analysis.as_mut().unwrap().visits {
        visit.block = None;
    }
    let of = across(&base, &base, &[]);
    assert_eq!(of.warnings[0], "A visited each cell once, without blocks");
}

/// Each request of six visits failed: how late they would have been is not known.
#[test]
fn a_percentile_that_only_has_bounds_in_some_visits_does_not_rest_on_the_others() {
    let as_p99 = |mut of: Experiment, unknown: u32| {
        for visit in &mut of.analysis.as_mut().unwrap().visits {
            let value = visit.figures.remove(&Figure::Rate).unwrap();
            if visit.block > Some(unknown) {
                visit.figures.insert(Figure::P99, value);
            } else {
                visit.bounds.insert(Figure::P99, (0.0, None));
            }
        }
        of
    };
    let base = as_p99(day(1, &[("x", 0.0, 0.003)], 8), 0);
    let of = |unknown: u32| {
        let new = as_p99(day(2, &[("x", 0.0, 0.003)], 8), unknown);
        across(&base, &new, &bounds(&["p99>10%"])).bounds[0].outcome
    };
    assert_eq!([0, 3, 8].map(of), [Outcome::Holds, Outcome::Undecided, Outcome::Undecided]);
}

/// Noise picks the best level of a ramp, and the latency at another level is another figure.
#[test]
fn latencies_at_different_loads_are_not_compared() {
    let at_loads = |seed: u64, p99: f64, loads: [u64; 6]| {
        let mut of = day(seed, &[("x", 0.0, 0.003)], 6);
        for (visit, load) in of.analysis.as_mut().unwrap().visits.iter_mut().zip(loads) {
            let rate = visit.figures[&Figure::Rate];
            visit.figures.insert(Figure::P99, rate * p99);
            visit.load = Some(load).filter(|load| *load > 0);
        }
        of
    };
    let of = |a: [u64; 6], p99: f64, b: [u64; 6]| {
        let (base, new) = (at_loads(1, 1.0, a), at_loads(2, p99, b));
        let of = across(&base, &new, &bounds(&["rate<-3%", "p99>10%"]));
        let is_said = of.warnings.iter().any(|one| one.starts_with("x has its best point at"));
        let p99 = of.cells.iter().find(|one| one.figure == Figure::P99).unwrap();
        let said = (p99.conclusion.unwrap(), p99.more_visits);
        assert_eq!(of.bounds[0].outcome, Outcome::Holds, "the rate has no such bound");
        (said, of.bounds[1].outcome, of.bounds[1].more_visits, is_said)
    };
    let (same, more) = ((Conclusion::Same, None), (Conclusion::More, None));
    let open = ((Conclusion::Undecided, None), Outcome::Undecided, None, true);
    assert_eq!(of([64; 6], 1.0, [64; 6]), (same, Outcome::Holds, None, false));
    assert_eq!(of([64; 6], 1.3, [64; 6]), (more, Outcome::Failed, None, false));
    assert_eq!(of([64; 6], 1.3, [128; 6]), open, "another level");
    assert_eq!(of([64; 6], 1.0, [128; 6]), open);
    assert_eq!(of([64; 6], 1.3, [64, 64, 64, 64, 64, 128]), open, "in one visit");
    assert_eq!(of([1000; 6], 1.3, [1004; 6]), (more, Outcome::Failed, None, false), "nearly");
    assert_eq!(of([0; 6], 1.3, [64; 6]), (more, Outcome::Failed, None, false), "not known in A");
    let of = across(&at_loads(1, 1.0, [64; 6]), &at_loads(2, 1.0, [128; 6]), &[]);
    let said = "x has its best point at a load of 64 in A and of 128 in B";
    assert!(of.warnings[0].starts_with(said), "{:?}", of.warnings);
}

#[test]
fn visits_that_do_not_count_are_left_out() {
    let base = day(1, &[("x", 0.0, 0.003)], 6);
    let mut new = day(2, &[("x", 0.0, 0.003)], 6);
    let analysis = new.analysis.as_mut().unwrap();
    analysis.visits[0].block = Some(0);
    analysis.visits[0].figures.insert(Figure::Rate, 1.0);
    analysis.visits[3].figures.insert(Figure::Rate, 1.0);
    analysis.excluded = vec![Excluded { cell: "x".into(), block: 4, why: String::new() }];
    let of = across(&base, &new, &[]);
    assert_eq!(of.cells[0].visits, (6, 4));
    assert_eq!(of.cells[0].conclusion, Some(Conclusion::Same), "{of:?}");
}

#[test]
fn what_differs_is_named_and_where_a_server_listens_does_not() {
    let base = day(1, &[("x", 0.0, 0.01)], 3);
    let mut new = day(2, &[("x", 0.0, 0.01)], 3);
    for cell in &mut new.cells {
        cell.command[2] = "http://127.0.0.1:5000/read".to_string();
        cell.command[3] = "--server-pid=10".to_string();
        cell.server[1] = "--db=127.0.0.1:5001".to_string();
    }
    assert_eq!(across(&base, &new, &[]).settings, []);
    new.version = "2".to_string();
    for cell in &mut new.cells {
        cell.server.push("--listeners".to_string());
    }
    let of = across(&base, &new, &[]);
    let named: Vec<_> = of.settings.iter().map(|one| one.setting.as_str()).collect();
    assert_eq!(named, ["version", "x.server"]);
    assert!(of.warnings.contains(&"the versions of ceiling differ".to_string()));
}
