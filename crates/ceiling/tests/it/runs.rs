//! Stored runs are listed, found by the beginning of their ids, and removed on request or when they
//! are too many.

use crate::harness::{Finished, Folder, ceiling, count, run, turn};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

/// Makes a run without a server; returns its id and the output.
fn made(runs: &str, seed: &str, more: &[&str]) -> (String, Finished) {
    let load = ["load", "http://null/", "--driver", "null", "-n", "200", "-t", "1", "-c", "1"];
    let kept = ["--warmup", "0", "--json", "--seed", seed, "--runs", runs];
    let said = run(&[&load[..], &kept, more].concat());
    (said.record()["id"].as_str().unwrap().to_string(), said)
}

/// Copies a run under the id of another time.
fn copied(runs: &str, id: &str, as_id: &str) {
    let (from, to) = (PathBuf::from(runs).join(id), PathBuf::from(runs).join(as_id));
    fs::create_dir(&to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

fn listed(runs: &str, more: &[&str]) -> Value {
    run(&[&["runs", "--json", "--runs", runs], more].concat()).record()
}

fn ids(runs: &str) -> Vec<String> {
    let list = listed(runs, &["--limit", "all"]);
    let ids = list["runs"].as_array().unwrap().iter();
    ids.map(|run| run["id"].as_str().unwrap().to_string()).collect()
}

const OLD: &str = "20260101T120000-0000abcd";
const OLDER: &str = "20250101T120000-0000abef";

#[test]
fn runs_are_listed_and_named_by_last_and_by_few_letters() {
    let _turn = turn();
    let folder = Folder::new("runs");
    let runs = folder.file("runs");
    let none = run(&["runs", "--runs", &runs]);
    assert_eq!((none.code, none.stderr.as_str()), (0, ""));
    assert!(none.stdout.contains("There are no runs."), "{}", none.stdout);
    let nothing = run(&["show", "last", "--runs", &runs]);
    assert_eq!(nothing.code, 2);
    assert!(nothing.stderr.contains("no run is kept in"), "{}", nothing.stderr);

    let (id, _) = made(&runs, "7", &[]);
    copied(&runs, &id, OLD);
    copied(&runs, &id, OLDER);
    let list = listed(&runs, &["--limit", "2"]);
    assert_eq!((list["schema"].as_str(), count(&list, "/count")), (Some("ceiling.runs/1"), 3));
    assert_eq!(list["runs"].as_array().unwrap().len(), 2);
    let newest = &list["runs"][0];
    assert_eq!(newest["id"], *id);
    assert_eq!((&newest["command"], &newest["url"]), (&"load".into(), &"http://null/".into()));
    assert!(newest["rate"].as_f64().is_some() && count(newest, "/bytes") > 1000, "{newest}");
    let text = run(&["runs", "--runs", &runs, "--limit", "1"]).stdout;
    assert!(text.contains("00000007") && text.contains("2 older runs not listed"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");

    let show = |asked: &str| run(&["show", asked, "--json", "--runs", &runs]);
    for asked in ["last", "last~0", "last~2", &id, "00000007", "0000abe", "2025", OLD] {
        assert_eq!(show(asked).code, 0, "{asked}: {}", show(asked).stderr);
    }
    let several = show("0000ab");
    assert_eq!(several.code, 2);
    assert!(several.stderr.contains(&format!("{OLD}, {OLDER}")), "{}", several.stderr);
    let unknown = show("last~3");
    assert!(unknown.code == 2 && unknown.stderr.contains(&id), "{}", unknown.stderr);
    let compared = run(&["compare", "last~1", "last", "--runs", &runs]);
    assert_eq!(compared.code, 0, "{}", compared.stderr);
    let advised = run(&["advise", "last", "--runs", &runs]);
    assert!([0, 4].contains(&advised.code), "{}", advised.stderr);
}

#[test]
fn prune_removes_the_oldest_and_says_what() {
    let _turn = turn();
    let folder = Folder::new("prune");
    let runs = folder.file("runs");
    let (id, _) = made(&runs, "7", &[]);
    copied(&runs, &id, OLD);
    copied(&runs, &id, OLDER);
    fs::write(folder.file("runs/20240101T120000-report.html"), "by -o").unwrap();
    let prune = |more: &[&str]| run(&[&["runs", "prune", "--runs", &runs], more].concat());
    let bare = prune(&[]);
    assert!(bare.code == 2 && bare.stderr.contains("--keep"), "{}", bare.stderr);
    for (wrong, word) in [("--older=1y", "30d"), ("--keep=-1", "50"), ("--max-size=x", "500MB")] {
        let said = prune(&[wrong]);
        assert!(said.code == 2 && said.stderr.contains(word), "{}", said.stderr);
    }
    let rehearsed = prune(&["--keep", "1", "--dry-run"]);
    assert!(rehearsed.stdout.contains("would remove 2 runs"), "{}", rehearsed.stdout);
    assert_eq!(ids(&runs).len(), 3, "nothing was removed");
    let aged = prune(&["--older", "300d", "--json"]).record();
    let too_old = aged["removed"].as_array().unwrap();
    assert!(too_old.iter().any(|run| run["id"] == OLDER), "{aged}");
    copied(&runs, &id, "20260102T120000-0000abcd");
    let own = folder.file("runs/20260102T120000-0000abcd/notes.txt");
    fs::write(&own, "mine").unwrap();
    let said = prune(&["--keep", "1"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("left 20260102T120000-0000abcd: 'notes.txt'"), "{}", said.stdout);
    assert_eq!(ids(&runs), [id.as_str(), "20260102T120000-0000abcd"]);
    let all = prune(&["--max-size", "0"]);
    assert!(all.stdout.contains(&format!("removed {id} (")), "{}", all.stdout);
    assert!(fs::exists(folder.file("runs/20240101T120000-report.html")).unwrap());
}

#[test]
fn a_run_that_is_being_written_stays() {
    let _turn = turn();
    let folder = Folder::new("prune-written");
    let runs = folder.file("runs");
    let load = ["load", "http://null/", "--driver", "null", "-t", "1", "-d", "50", "--warmup", "0"];
    let mut command = ceiling(&[&load[..], &["--runs", &runs]].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begin = std::time::Instant::now();
    while ids(&runs).is_empty() && begin.elapsed() < crate::harness::PATIENCE {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let list = listed(&runs, &[]);
    assert_eq!(list["runs"][0]["state"], "being-written");
    let said = run(&["runs", "prune", "--keep", "0", "--runs", &runs]);
    assert!(said.stdout.contains("it is being written"), "{}", said.stdout);
    assert_eq!(ids(&runs).len(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_directory_keeps_as_many_as_it_is_told_and_a_named_one_keeps_all() {
    let _turn = turn();
    let folder = Folder::new("keep-runs");
    let runs = folder.file("runs");
    let (first, _) = made(&runs, "1", &[]);
    copied(&runs, &first, OLD);
    copied(&runs, &first, OLDER);
    let experiment = PathBuf::from(&runs).join("20240101T120000-04-ramp");
    fs::create_dir(&experiment).unwrap();
    fs::write(experiment.join("experiment.json"), "{}").unwrap();
    let (second, said) = made(&runs, "2", &[]);
    assert!(!said.stderr.contains("removed"), "{}", said.stderr);
    let (third, said) = made(&runs, "3", &["--keep-runs", "3"]);
    let told: Vec<_> = said.stderr.lines().filter(|line| line.contains("removed")).collect();
    assert!(told.len() == 1 && told[0].contains("oldest 2 runs"), "{}", said.stderr);
    assert!(told[0].contains("--keep-runs all"), "{}", said.stderr);
    let (mut left, mut expected) = (ids(&runs), vec![first, second, third]);
    assert_eq!(left.pop().as_deref(), Some("20240101T120000-04-ramp"), "experiments stay");
    left.sort_unstable();
    expected.sort_unstable();
    assert_eq!(left, expected);
}

#[test]
fn the_default_directory_has_a_cap() {
    let _turn = turn();
    let folder = Folder::new("cap");
    let runs = folder.file("ceiling/runs");
    let (id, _) = made(&runs, "1", &[]);
    for at in 0..205 {
        copied(&runs, &id, &format!("20250101T120000-{at:08x}"));
    }
    let load = ["load", "http://null/", "--driver", "null", "-n", "200", "-t", "1", "-c", "1"];
    let again = || {
        let mut command = ceiling(&[&load[..], &["--warmup", "0"]].concat());
        command.env_remove("CEILING_RUNS").env("XDG_STATE_HOME", &folder.path);
        command
    };
    let all = Finished::of(again().env("CEILING_KEEP_RUNS", "all").output().unwrap());
    assert!(!all.stderr.contains("removed"), "{}", all.stderr);
    assert_eq!(ids(&runs).len(), 207);
    let capped = Finished::of(again().output().unwrap());
    assert!(capped.stderr.contains("removed the oldest 8 runs"), "{}", capped.stderr);
    assert_eq!(ids(&runs).len(), 200);
}

/// A home that cannot be written takes no result, and measuring needs none.
#[test]
fn without_a_home_a_run_is_measured_and_not_kept() {
    let _turn = turn();
    let load = ["load", "http://null/", "--driver", "null", "-n", "200", "-t", "1", "-c", "1"];
    let homes: [&[(&str, &str)]; 5] = [
        &[("HOME", "/proc/nowhere")],
        &[("HOME", "/dev/null")],
        &[("HOME", "")],
        &[("HOME", "/proc/nowhere"), ("XDG_STATE_HOME", "relative")],
        &[],
    ];
    for home in homes {
        let mut command = ceiling(&[&load[..], &["--warmup", "0"]].concat());
        for name in ["CEILING_RUNS", "XDG_STATE_HOME", "HOME"] {
            command.env_remove(name);
        }
        let said = Finished::of(command.envs(home.iter().copied()).output().unwrap());
        assert!([0, 4].contains(&said.code), "{home:?}: {}", said.stderr);
        assert!(said.stdout.contains("200 requests"), "{home:?}: {}", said.stdout);
        let told: Vec<&str> =
            said.stderr.lines().filter(|line| line.contains("not kept")).collect();
        assert!(told.len() == 1 && told[0].contains("--runs DIR"), "{home:?}: {}", said.stderr);
        assert!(!said.stderr.contains("run kept in"), "{home:?}: {}", said.stderr);
    }
}
