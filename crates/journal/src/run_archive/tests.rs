//! What is read back says what was put in, of recorded runs; hostile archives are refused.

use super::*;
use judge::rejudge;
use model::reading::Reading;
use observe::Raw;
use proptest::prelude::*;
use serde_json::Value;

/// Recorded runs of small servers.
const RECORDED: [&str; 5] = [
    include_str!("../../../judge/tests/kept/pool-of-promises.json"),
    include_str!("../../../judge/tests/kept/five-calls-at-once.json"),
    include_str!("../../../judge/tests/kept/refuses-503.json"),
    include_str!("../../../judge/tests/kept/one-mutex.json"),
    include_str!("../../../judge/tests/kept/full-event-loop.json"),
];

fn recorded(text: &str) -> Run {
    let kept: Value = serde_json::from_str(text).unwrap();
    let record: Record = serde_json::from_value(kept["record"].clone()).unwrap();
    let readings: Vec<Reading> = serde_json::from_value(kept["readings"].clone()).unwrap();
    Run { record, readings, server_readings: vec![], latencies: vec![] }
}

fn to_keep(nth: usize, run: &Run) -> ToKeep {
    ToKeep {
        about: format!("cell a, block {nth}"),
        name: format!("run-{nth}"),
        record: run.record.clone(),
        latencies: None,
        observed: Ok(rejudge::observed(&run.record, Raw::from(run))),
    }
}

fn path() -> &'static Path {
    Path::new("results/a/runs.tar.zst")
}

#[test]
fn runs_are_judged_again_from_the_archive_as_from_their_readings() {
    let runs: Vec<Run> = RECORDED.into_iter().map(recorded).collect();
    let to_keep: Vec<ToKeep> =
        runs.iter().enumerate().map(|(nth, run)| to_keep(nth, run)).collect();
    let made = make(path(), &to_keep).unwrap();
    assert_eq!(made.left_out.len(), 1, "{:?}", made.left_out);
    let archive = RunArchive::parse(path(), &made.bytes).unwrap();
    for (run, kept) in runs.iter().zip(&to_keep) {
        let again = archive.run(&kept.name).unwrap();
        assert!(again.readings.is_empty());
        let observed = archive.observed(&kept.name).unwrap();
        let from_archive = rejudge::again_from(again.record, &observed);
        let fresh = rejudge::again(run.record.clone(), Raw::from(run));
        assert!(from_archive == fresh, "{}", kept.name);
        let walls = fresh.points.iter().map(|point| &point.verdict.wall);
        assert!(walls.clone().count() > 0 && !observed.is_empty());
    }
    assert!(!archive.has("run-9") && archive.record("run-9").is_err());
}

/// A value that JSON does not have.
#[test]
fn what_would_not_be_read_back_is_not_kept() {
    let run = recorded(RECORDED[0]);
    let mut one = to_keep(0, &run);
    let cpus = one.observed.as_mut().unwrap().iter_mut().find_map(|seen| seen.cpus.as_mut());
    cpus.expect("CPUs were read")[0].shares.user = f64::NAN;
    let error = make(path(), &[one]).unwrap_err().to_string();
    assert!(error.contains("would not be read back"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// A probe may miss any reading.
    #[test]
    fn what_was_observed_of_any_readings_is_read_back(
        which in 0..RECORDED.len(),
        kept in prop::collection::vec(any::<bool>(), 1..64),
    ) {
        let mut run = recorded(RECORDED[which]);
        let mut nth = 0;
        run.readings.retain(|_| {
            nth += 1;
            kept[nth % kept.len()]
        });
        let one = to_keep(0, &run);
        let made = make(path(), std::slice::from_ref(&one)).unwrap();
        let archive = RunArchive::parse(path(), &made.bytes).unwrap();
        prop_assert_eq!(archive.observed("run-0"), one.observed);
    }
}

/// Numbers that no host says.
const NUMBERS: [&str; 4] = ["9007199254740992", "4294967295", "0", "1"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_an_archive_says_was_observed_a_run_is_judged_again(
        which in 0..RECORDED.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..NUMBERS.len()), 1..40),
    ) {
        let run = recorded(RECORDED[which]);
        let observed = rejudge::observed(&run.record, Raw::from(&run));
        let mut text = serde_json::to_string(&observed).unwrap();
        for (place, number) in changes {
            let is_digit = |byte: u8| byte.is_ascii_digit() || b".-e+".contains(&byte);
            let bytes = text.as_bytes();
            let begins: Vec<usize> = (1..bytes.len())
                .filter(|at| is_digit(bytes[*at]) && b":,[".contains(&bytes[at - 1]))
                .collect();
            let begin = begins[place.index(begins.len())];
            let length = bytes[begin..].iter().take_while(|byte| is_digit(**byte)).count();
            let mut changed = text.clone();
            changed.replace_range(begin..begin + length, NUMBERS[number]);
            // A number that is too large for its place is refused.
            if document::<Vec<Observed>>(changed.as_bytes()).is_ok() {
                text = changed;
            }
        }
        rejudge::again_from(run.record, &document::<Vec<Observed>>(text.as_bytes()).unwrap());
    }
}

#[test]
fn a_large_archive_leaves_parts_out_and_names_them() {
    let mut run = recorded(RECORDED[0]);
    let mut seed = 1u64;
    let mut number = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        seed >> 33
    };
    let each = (0..500).map(|_| model::slow::SlowRequest {
        planned_ns: number(),
        took_ns: number(),
        ..Default::default()
    });
    let each: Vec<_> = each.collect();
    for point in &mut run.record.points {
        let (of, requests, at_least_ns, each) = (10_000, 500, 1, each.clone());
        point.slowest = Some(model::slow::Slowest { of, requests, at_least_ns, each });
    }
    let noise: Vec<u8> = (0..BYTES_MAX).map(|_| (number() % 251) as u8).collect();
    let large = ToKeep { latencies: Some(noise), ..to_keep(0, &run) };
    let left_out = |runs: &[ToKeep]| {
        let made = make(path(), runs).unwrap();
        (made.left_out.len(), RunArchive::parse(path(), &made.bytes).unwrap())
    };
    let (count, archive) = left_out(std::slice::from_ref(&large));
    assert_eq!((count, archive.latencies("run-0")), (3, None));
    assert!(archive.record("run-0").unwrap().points[0].slowest.is_some());
    let many: Vec<ToKeep> = (0..40)
        .map(|nth| {
            let mut one = to_keep(nth, &run);
            for point in &mut one.record.points {
                let slowest = point.slowest.as_mut().unwrap();
                slowest.each.iter_mut().for_each(|slow| slow.took_ns = number());
            }
            one
        })
        .collect();
    let (count, archive) = left_out(&many);
    assert_eq!(count, 4);
    assert_eq!(archive.record("run-0").unwrap().points[0].slowest, None);
}

/// With fewer digits the walls are the same, and so is how sure they are.
#[test]
fn fewer_digits_change_no_verdict() {
    for run in RECORDED.into_iter().map(recorded) {
        let kept = to_keep(0, &run);
        let observed = kept.observed.unwrap();
        let rounded = seen(&observed, &[Part::Digits]).unwrap();
        assert!(rounded != observed && !rounded.is_empty());
        let verdict = |observed: &[Observed]| {
            let again = rejudge::again_from(run.record.clone(), observed);
            let said = again.points.into_iter().map(|point| point.verdict);
            said.map(|said| (said.wall, said.confidence)).collect::<Vec<_>>()
        };
        assert_eq!(verdict(&rounded), verdict(&observed));
    }
}

#[test]
fn a_run_without_readings_is_kept_and_says_that_it_is_not_judged_again() {
    let run = recorded(RECORDED[0]);
    let observed = Err("its raw readings are missing".to_string());
    let made = make(path(), &[ToKeep { observed, ..to_keep(0, &run) }]).unwrap();
    let said = "what was observed in cell a, block 0: its raw readings are missing";
    assert_eq!(made.left_out[1], said);
    let archive = RunArchive::parse(path(), &made.bytes).unwrap();
    assert!(archive.run("run-0").unwrap().record == run.record);
    assert!(archive.observed("run-0").unwrap_err().contains("does not have what was observed"));
}

#[test]
fn an_archive_is_refused_that_is_changed_large_or_of_something_else() {
    let why = |files: &[(&str, &[u8])]| {
        let files = files.iter().map(|(name, bytes)| (name.to_string(), bytes.to_vec()));
        let packed = packed(&files.collect(), Effort::Quick).unwrap();
        RunArchive::parse(path(), &packed).unwrap_err().to_string()
    };
    assert!(why(&[("a/run.json", b"{}")]).contains("it has no about.json"));
    let other = br#"{"schema": "ceiling.runs-kept/9", "version": "9", "left_out": []}"#;
    assert!(why(&[("about.json", other)]).contains("its schema is not"));
    let zeros = vec![b' '; 8 << 20];
    assert!(why(&[("about.json", other), ("a/run.json", &zeros)]).contains("times"));
    let made = make(path(), &[to_keep(0, &recorded(RECORDED[0]))]).unwrap();
    for cut in [0, 10, made.bytes.len() / 2, made.bytes.len() - 1] {
        assert!(RunArchive::parse(path(), &made.bytes[..cut]).is_err(), "{cut}");
    }
}
