//! Remarks on synthetic journals.

use super::*;
use crate::fixture::{Folder, entry, finding, of_rate, readings, record, slug};
use crate::{Journal, World};
use judge::rejudge;
use model::facts::{ClockOffset, FarHost, Privilege};
use model::reading::{Data, Reading};
use model::run::Record;
use observe::{Observed, Raw};
use std::fs;
use std::slice;

/// The kinds of all remarks on one entry, except those on runs, which have no readings here.
fn kinds(journal: &Journal, name: &str) -> Vec<Kind> {
    let remarks = remarks(journal).into_iter();
    let of = remarks.filter(|one| one.entry.as_ref().is_none_or(|slug| slug.as_str() == name));
    of.map(|one| one.kind).filter(|kind| *kind != Kind::NotJudged).collect()
}

fn remarks(journal: &Journal) -> Vec<Remark> {
    check(&journal.entries().unwrap(), |_| true).remarks
}

fn why(journal: &Journal, kind: Kind) -> String {
    let remarks = remarks(journal);
    let one = remarks.iter().find(|one| one.kind == kind);
    one.unwrap_or_else(|| panic!("no {kind:?} in {remarks:?}")).why.clone()
}

#[test]
fn a_finding_holds_is_stale_is_undecided_or_leads_to_nothing() {
    for (condition, kind) in [
        ("cells.a.rate > 900", None),
        ("cells.a.rate > 2000", Some(Kind::Stale)),
        ("cells.a.rate > 1000", Some(Kind::Undecided)),
        ("cells.a.p99 < 1s and cells.a.rate > 2000", Some(Kind::Stale)),
        ("cells.b.rate > 1", Some(Kind::Dangling)),
        ("entries.b.cells.a.rate > 1", Some(Kind::Dangling)),
        ("results.20250101T000000-a.cells.a.rate > 1", Some(Kind::Dangling)),
        ("results.20260101T000000-a.cells.a.rate > 1", None),
        ("runs.gone.rate > 1", Some(Kind::Dangling)),
        ("cells.a.rate > 2ms", Some(Kind::Invalid)),
    ] {
        let folder = Folder::new("findings");
        let journal = Journal::open_or_make(&folder.0).unwrap();
        entry(&journal, "a", &finding(condition), Some(of_rate(1000.0, "6.1")));
        let found = kinds(&journal, "a");
        assert_eq!(found, kind.into_iter().collect::<Vec<_>>(), "{condition}");
        let checked = check(&journal.entries().unwrap(), |_| true);
        assert_eq!(checked.holding(), (usize::from(kind.is_none()), 1), "{condition}");
        let weight = kind.map_or(Weight::Doubtful, Kind::weight);
        assert_eq!(checked.worst(), Some(weight), "runs without readings are doubtful");
    }
}

#[test]
fn what_is_dangling_is_open_until_there_is_a_result() {
    let folder = Folder::new("open");
    let journal = Journal::open_or_make(&folder.0).unwrap();
    let made = entry(&journal, "a", &finding("cells.a.rate > 1"), None);
    fs::write(made.path.join("notes.md"), "{{cells.a.rate}} and {{cells.a.rate|ms}}").unwrap();
    assert_eq!(kinds(&journal, "a"), [Kind::Dangling; 3], "it is done");
    made.write_status("planned").unwrap();
    assert_eq!(kinds(&journal, "a"), [], "it is planned");
    fs::write(made.path.join("notes.md"), "{{cells.a}} {{x y}}").unwrap();
    assert_eq!(kinds(&journal, "a"), [Kind::Invalid], "what cannot be read never will");
}

#[test]
fn a_wrong_prediction_and_another_wall_are_results() {
    let folder = Folder::new("predicted");
    let journal = Journal::open_or_make(&folder.0).unwrap();
    let hypothesis = "[hypothesis]\nwalls = { a = \"S1\" }\n[[hypothesis.prediction]]\n\
                      condition = \"cells.a.rate > 2000\"\n[[hypothesis.prediction]]\n\
                      condition = \"cells.a.rate > 1000\"\n";
    entry(&journal, "a", hypothesis, Some(of_rate(1000.0, "6.1")));
    let found = kinds(&journal, "a");
    assert_eq!(found, [Kind::WrongPrediction, Kind::OpenPrediction, Kind::OtherWall]);
    assert!(found.iter().all(|kind| kind.weight() == Weight::Result));
    assert!(why(&journal, Kind::OtherWall).contains("K14"), "{}", why(&journal, Kind::OtherWall));
}

#[test]
fn a_predicted_interval_follows_from_other_entries_and_waits_for_a_result() {
    let folder = Folder::new("untested");
    let journal = Journal::open_or_make(&folder.0).unwrap();
    entry(&journal, "c", "", Some(of_rate(1000.0, "6.1")));
    let predicted = |name: &str, condition: &str, result| {
        let text = format!("[hypothesis]\n[[hypothesis.prediction]]\ncondition = \"{condition}\"");
        let made = entry(&journal, name, &text, result);
        made.write_status("predicted").unwrap();
        kinds(&journal, name)
    };
    let twice = "cells.a.rate within (0.9 to 1.1) * 2 * entries.c.cells.a.rate";
    assert_eq!(predicted("op", twice, None), [Kind::Untested]);
    // 0.9 and 1.1 times twice 980 to 1020, in the digits that its width justifies.
    assert_eq!(why(&journal, Kind::Untested), format!("{twice}: 1,760 to 2,240/s"));
    let lost = "cells.a.rate within 2 * entries.gone.cells.a.rate";
    assert_eq!(predicted("out", lost, None), [Kind::Dangling], "its cost is not kept");
    assert_eq!(predicted("held", twice, Some(of_rate(2000.0, "6.1"))), []);
    let wrong = predicted("wrong", twice, Some(of_rate(3000.0, "6.1")));
    assert_eq!(wrong, [Kind::WrongPrediction]);
    let partly = predicted("partly", twice, Some(of_rate(2240.0, "6.1")));
    assert_eq!(partly, [Kind::OpenPrediction]);
}

#[test]
fn the_same_question_is_told_with_the_finding_it_contradicts() {
    let folder = Folder::new("again");
    let journal = Journal::open_or_make(&folder.0).unwrap();
    entry(&journal, "aa", &finding("cells.a.rate > 900"), Some(of_rate(1000.0, "6.1")));
    let second = finding("cells.a.rate < 600");
    let later = entry(&journal, "bbb", &second, Some(of_rate(500.0, "6.1")));
    assert_eq!((kinds(&journal, "aa"), kinds(&journal, "bbb")), (vec![], vec![]));
    let file = later.path.join("entry.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("How fast is bbb?", "how fast, is AA")).unwrap();
    assert_eq!(kinds(&journal, "aa"), [Kind::Contradiction]);
    assert_eq!(kinds(&journal, "bbb"), [Kind::Contradiction, Kind::AskedAgain]);
    let said = why(&journal, Kind::Contradiction);
    assert!(said.contains("500/s (490 to 510) > 900/s"), "{said}");
    // Only one entry is selected, and the statements of the other still count.
    let only = check(&journal.entries().unwrap(), |one| *one == slug("bbb"));
    assert_eq!(only.entries.len(), 1);
    assert_eq!(only.remarks.iter().filter(|one| one.kind == Kind::Contradiction).count(), 2);
    let text = fs::read_to_string(folder.0.join("aa/entry.toml")).unwrap();
    let by = "status = \"superseded\"\nsuperseded_by = \"bbb\"";
    let text = text.replace("status = \"done\"", by);
    fs::write(folder.0.join("aa/entry.toml"), text).unwrap();
    assert_eq!((kinds(&journal, "aa"), kinds(&journal, "bbb")), (vec![], vec![]));
}

#[test]
fn a_successor_must_be_there() {
    let folder = Folder::new("successor");
    let journal = Journal::open_or_make(&folder.0).unwrap();
    let made = entry(&journal, "a", &finding("cells.gone.rate > 1"), None);
    let file = made.path.join("entry.toml");
    let text = fs::read_to_string(&file).unwrap();
    let by = "status = \"superseded\"\nsuperseded_by = \"b\"";
    fs::write(&file, text.replace("status = \"done\"", by)).unwrap();
    assert_eq!(kinds(&journal, "a"), [Kind::NoSuccessor]);
    entry(&journal, "b", "", Some(of_rate(1.0, "6.1")));
    assert_eq!(kinds(&journal, "a"), []);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("question =", "followed_by = [\"b\", \"c\"]\nquestion ="))
        .unwrap();
    assert_eq!(kinds(&journal, "a"), [Kind::NoSuccessor], "c follows it");
}

#[test]
fn hosts_of_results_that_are_compared_are_held_against_each_other() {
    let folder = Folder::new("hosts");
    let journal = Journal::open_or_make(&folder.0).unwrap();
    entry(&journal, "aa", "", Some(of_rate(1000.0, "6.1")));
    let condition = finding("cells.a.rate > 1.5 * entries.aa.cells.a.rate");
    entry(&journal, "bbb", &condition, Some(of_rate(2000.0, "6.12")));
    assert_eq!(kinds(&journal, "bbb"), [Kind::HostsDiffer]);
    let said = why(&journal, Kind::HostsDiffer);
    assert!(said.contains("client kernel '6.1' and '6.12'"), "{said}");
    entry(&journal, "cccc", &condition, Some(of_rate(2000.0, "6.1")));
    assert_eq!(kinds(&journal, "cccc"), [], "the same kernel");
}

#[test]
fn hosts_of_added_runs_are_held_against_each_other() {
    let folder = Folder::new("hosts-runs");
    let journal = Journal::open_or_make(&folder.0).unwrap();
    let condition = finding("runs.one.rate > entries.aa.runs.two.rate");
    let made = [entry(&journal, "aa", "", None), entry(&journal, "bbb", &condition, None)];
    let add = |nth: usize, name: &str, kernel: &str| {
        let mut record = record(100.0);
        record.host.kernel = kernel.to_string();
        let run = made[nth].path.join("runs").join(name);
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("run.json"), serde_json::to_vec(&record).unwrap()).unwrap();
    };
    add(0, "two", "6.1");
    add(1, "one", "6.12");
    // Neither has an interval, so the condition is undecided.
    assert_eq!(kinds(&journal, "bbb"), [Kind::Undecided, Kind::HostsDiffer]);
    let said = why(&journal, Kind::HostsDiffer);
    assert!(said.starts_with("aa/runs/two and bbb/runs/one: "), "{said}");
    assert!(said.contains("client kernel '6.1' and '6.12'"), "{said}");
    add(1, "one", "6.1");
    assert_eq!(kinds(&journal, "bbb"), [Kind::Undecided]);
}

#[test]
fn a_table_that_was_copied_is_told_at_the_later_entry() {
    let of = |shared: usize, row: fn(usize) -> String| {
        let folder = Folder::new("copied");
        let journal = Journal::open_or_make(&folder.0).unwrap();
        let table = |own: &str, rows: usize| -> String {
            let rows = (0..rows).map(|at| format!("{}\n", row(at)));
            format!("| conns | rate | p99 |\n|---|---|---|\n{own}\n{}", rows.collect::<String>())
        };
        for (name, own) in [("aaa", "| 1 | 2 | 3 |"), ("bbb", "| 4 | 5 | 6 |")] {
            let made = entry(&journal, name, "", None);
            fs::write(made.path.join("notes.md"), table(own, shared)).unwrap();
        }
        let remarks = remarks(&journal).into_iter().filter(|one| one.kind == Kind::Copied);
        remarks.map(|one| (one.entry.unwrap().to_string(), one.why)).collect::<Vec<_>>()
    };
    let figures = |at: usize| format!("|  {at}k | 4.45M | 90.1 ms |");
    let why = "3 rows of figures are in both, such as 0k | 4.45M | 90.1 ms; a table that was \
               copied is no second measurement";
    assert_eq!(of(3, figures), [("bbb".to_string(), why.to_string())]);
    assert_eq!(of(2, figures), [], "rows may be repeated to compare with them");
    assert_eq!(of(3, |_| "| 2k | 4.45M | 90.1 ms |".to_string()), [], "one row three times");
    let references = |at: usize| format!("| {at} | {{{{cells.a.rate}}}} | {{{{cells.a.p99}}}} |");
    assert_eq!(of(3, references), [], "figures of our own results");
}

#[test]
fn the_same_hosts_in_any_number_do_not_differ() {
    let folder = Folder::new("hosts-many");
    let journal = Journal::open_or_make(&folder.0).unwrap();
    let condition = finding("cells.a.rate > 1.5 * entries.aa.cells.a.rate");
    let on = |rate: f64, kernels: &[&str]| {
        let mut of = of_rate(rate, kernels[0]);
        let hosts = &mut of.analysis.as_mut().unwrap().hosts;
        let first = hosts[0].clone();
        let more = kernels[1..]
            .iter()
            .map(|one| model::analysis::HostSeen { kernel: one.to_string(), ..first.clone() });
        hosts.extend(more);
        of
    };
    entry(&journal, "aa", "", Some(on(1000.0, &["6.1", "6.12"])));
    entry(&journal, "bbb", &condition, Some(on(2000.0, &["6.12", "6.1"])));
    assert_eq!(kinds(&journal, "bbb"), [], "the same two");
    entry(&journal, "cccc", &condition, Some(on(2000.0, &["6.1"])));
    assert_eq!(kinds(&journal, "cccc"), [Kind::HostsDiffer], "one is not there");
    let said = why(&journal, Kind::HostsDiffer);
    assert_eq!(said.matches("client kernel '6.12' and '6.1'").count(), 1, "{said}");
}

#[test]
fn added_runs_are_judged_again_when_the_named_result_is_missing() {
    let folder = Folder::new("result-gone");
    let journal = Journal::open_or_make(&folder.0).unwrap();
    let made = entry(&journal, "a", "result = \"20250101T000000-gone\"\n", None);
    let run = made.path.join("runs/hand");
    fs::create_dir_all(&run).unwrap();
    fs::write(run.join("run.json"), serde_json::to_vec(&record(100.0)).unwrap()).unwrap();
    let remarks = remarks(&journal);
    let is_of_run = |one: &&Remark| one.kind == Kind::NotJudged && one.about == "run hand";
    assert_eq!(remarks.iter().filter(is_of_run).count(), 1, "{remarks:?}");
}

/// That record, with its server on another host.
fn far_record() -> Record {
    let mut record = record(100.0);
    record.target.probe = Some(FarHost {
        address: "10.0.0.2:9417".to_string(),
        host: record.host.clone(),
        server: record.target.server.take(),
        privilege: Privilege::None,
        clock: ClockOffset { offset_ns: 0, error_ns: 1_000, round_trips: 9 },
        lost: None,
    });
    record
}

#[test]
fn far_readings_that_end_before_a_window_say_nothing_about_it_however_they_are_read() {
    let (record, all) = (far_record(), readings());
    let window_ns = record.points[0].window_ns;
    let far_of = |far: &[Reading]| {
        let whole = Raw { near: &all, far }.observed_in(&record, window_ns);
        let (near, far) = (all.iter().cloned().map(Ok), far.iter().cloned().map(Ok));
        let Ok::<_, ()>(one_by_one) =
            Observed::in_windows(&record.host, &record.target, &[window_ns], near, far)
        else {
            panic!("no reading fails")
        };
        assert_eq!(one_by_one, slice::from_ref(&whole));
        *whole.far.expect("a probe is there")
    };
    assert!(far_of(&all).cpus.is_some());
    let middle_ns = window_ns.0.midpoint(window_ns.1);
    let mut early = all.clone();
    for late in early.iter_mut().filter(|one| one.end_ns > middle_ns) {
        (late.begin_ns, late.end_ns) = (middle_ns, middle_ns);
    }
    assert!(Observed::of(early.iter().cloned(), 1).cpus.is_some());
    assert_eq!(far_of(&early), Observed::default());
}

#[test]
fn without_the_readings_of_the_server_a_run_is_not_judged_again() {
    let record = far_record();
    let (readings, latencies) = (readings(), vec![]);
    let server_readings = readings.clone();
    let run = model::run::Run { record, readings, server_readings, latencies };
    assert_eq!(crate::data::unread(&run), None);
    let run = model::run::Run { server_readings: vec![], ..run };
    assert!(crate::data::unread(&run).unwrap().contains("of the server's host are missing"));
}

#[test]
fn what_another_tool_printed_is_found_by_path() {
    let folder = Folder::new("foreign");
    let journal = Journal::open_or_make(&folder.0).unwrap();
    let text = finding("foreign.wrk.rate > 4.8M and foreign.wrk.rate.outcome == impossible");
    let made = entry(&journal, "a", &text, None);
    let figure = r#"{"value": 4.9e6, "low": 4.89e6, "high": 4.91e6, "line": 3, "printed": "4.9M"}"#;
    let audit = format!(
        r#"{{"schema": "ceiling.audit/1", "given": {{}}, "together": [], "accounts": [{{
            "file": "foreign/wrk.txt", "name": "", "foreign": {{}}, "claims": [{{
                "name": "rate", "unit": "per_second", "figure": {figure},
                "outcome": "impossible", "bound": null, "findings": []}}]}}]}}"#
    );
    fs::create_dir(made.path.join("foreign")).unwrap();
    fs::write(made.path.join("foreign/wrk.audit.json"), audit).unwrap();
    assert_eq!(kinds(&journal, "a"), []);
    let entries = journal.entries().unwrap().entries;
    let world = World::of(&entries);
    let notes = crate::language::filled("{{foreign.wrk.rate|M/s}}", &world.within(&entries[0]));
    assert_eq!(crate::language::plain(&notes), "4.9M/s");
    // Nothing refers to this file.
    fs::write(made.path.join("foreign/oha.audit.json"), "{").unwrap();
    assert_eq!(kinds(&journal, "a"), [Kind::Invalid]);
}

#[test]
fn a_hostile_document_names_no_file_outside() {
    let folder = Folder::new("hostile");
    let journal = Journal::open_or_make(&folder.0.join("journal")).unwrap();
    let mut of = of_rate(1000.0, "6.1");
    let made = entry(&journal, "a", &finding("cells.a.errors >= 0"), Some(of.clone()));
    assert_eq!(kinds(&journal, "a"), []);
    for cell in &mut of.cells {
        let run = "../../../../../outside".to_string();
        cell.fate = model::experiment::Fate::Measured { run };
    }
    fs::create_dir(folder.0.join("outside")).unwrap();
    let run = made.result_path("20260101T000000-a").join("runs/a-1/run.json");
    fs::copy(run, folder.0.join("outside/run.json")).unwrap();
    let document = made.result_path("20260101T000000-a").join("experiment.json");
    fs::write(&document, serde_json::to_vec(&of).unwrap()).unwrap();
    assert_eq!(kinds(&journal, "a"), [Kind::Undecided]);
    fs::write(&document, "{").unwrap();
    assert!(kinds(&journal, "a").contains(&Kind::Dangling));
}

/// Such a run is held in memory with a part of its readings, and was judged with all of them.
#[test]
fn a_run_with_very_many_readings_is_judged_again_by_all_of_them() {
    let place = Folder::new("check-long");
    let journal = Journal::open_or_make(&place.0.join("journal")).unwrap();
    let made = entry(&journal, "long", "", Some(of_rate(100.0, "6.1")));
    let kept = made.visits("20260101T000000-a").unwrap()[0].clone().unwrap();
    let folder = made.result_path("20260101T000000-a").join("runs").join(&kept.name);
    let mut all = readings();
    // In one reading, which a part of them leaves out, all requests wait unread at the server.
    let samples = all.iter_mut().filter_map(|one| match &mut one.data {
        Data::Connections(sockets) => Some(sockets),
        _ => None,
    });
    for socket in samples.skip(1).take(1).flatten() {
        socket.receive_queue = 1000;
    }
    let end_ns = record(100.0).points[0].window_ns.1;
    all.extend((1..=40_000).map(|nth| {
        let (begin_ns, values) = (end_ns + nth, [("rounds".to_string(), nth)]);
        Reading { begin_ns, end_ns: begin_ns, data: Data::values("cost", values) }
    }));
    // By a clock that is ahead of ours.
    let ahead_ns = 7_000_000_000;
    let there = |one: &Reading| Reading {
        begin_ns: one.begin_ns + ahead_ns,
        end_ns: one.end_ns + ahead_ns,
        ..one.clone()
    };
    let of_server: Vec<Reading> = all.iter().map(there).collect();
    let mut watched = record(100.0);
    let clock = ClockOffset { offset_ns: ahead_ns as i64, error_ns: 1_000, round_trips: 9 };
    watched.target.probe = Some(FarHost {
        address: "10.0.0.2:9417".to_string(),
        host: watched.host.clone(),
        server: watched.target.server.take(),
        privilege: Privilege::None,
        clock,
        lost: None,
    });
    for (record, far) in [(record(100.0), &[][..]), (watched, &of_server)] {
        let live = rejudge::again(record, Raw { near: &all, far });
        let json = serde_json::to_string(&live).unwrap();
        let lines = |all: &[Reading]| -> String {
            all.iter().map(|one| serde_json::to_string(one).unwrap() + "\n").collect()
        };
        for (name, text) in [
            ("run.json", json),
            ("readings.ndjson", lines(&all)),
            ("server-readings.ndjson", lines(far)),
            ("points.ndjson", String::new()),
            ("latencies.json", "[]".to_string()),
        ] {
            fs::write(folder.join(name), text).unwrap();
        }
        let run = made.whole_run(&kept).unwrap();
        assert!(run.readings.len() < all.len() * 2 / 3, "{}", run.readings.len());
        let observed = made.observed(&kept, &run).unwrap();
        let again = rejudge::again_from(run.record.clone(), &observed);
        assert!(again == live, "{:?}", crate::check::again::gates(&live, &again));
        let of_part = rejudge::again(live, Raw::from(&run));
        assert!(of_part != again, "a part of them says something else");
        let remarks = remarks(&journal);
        let of_run = |one: &&Remark| {
            one.about.contains("block 1") && matches!(one.kind, Kind::Rejudged | Kind::Gates)
        };
        assert_eq!(remarks.iter().filter(of_run).collect::<Vec<_>>(), [] as [&Remark; 0]);
    }
}
