//! A journal from an empty folder to a check that holds, and to one that no longer holds.

use crate::harness::{
    Finished, Folder, ceiling, root, run, signal, targets_file, turn, wait_until,
};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const PLAN: &str = r#"schema = "ceiling.plan/1"
question = "Do two cells of one server fail?"
server = { target = "sink", args = ["--threads", "1"] }
load = { command = "load", path = "/simple", requests = 300, connections = 2 }
design = { blocks = 3 }
[[cell]]
name = "one"
[[cell]]
name = "four deep"
load = { depth = 4 }
"#;

/// A journal of one test.
struct Journal {
    folder: Folder,
}

impl Journal {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        fs::write(folder.path.join("plan.toml"), PLAN).unwrap();
        Self { folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path.join("journal")
    }

    /// A command of `ceiling journal` on it.
    fn say(&self, arguments: &[&str]) -> Finished {
        let place = self.path().display().to_string();
        run(&[&["journal", arguments[0], "--journal", &place], &arguments[1..]].concat())
    }

    /// A command of `ceiling journal` on it, which must end with this code.
    fn says(&self, code: i32, arguments: &[&str]) -> Finished {
        let said = self.say(arguments);
        assert_eq!(said.code, code, "{arguments:?}: {}{}", said.stdout, said.stderr);
        said
    }

    fn new_entry(&self) {
        let plan = self.folder.file("plan.toml");
        self.says(0, &["new", "deep", "--plan", &plan, "--title", "Does depth fail?"]);
    }

    /// Runs the plan of the entry; returns the name of the result.
    fn run(&self, before: usize) -> String {
        self.run_ends(0, before)
    }

    /// Runs the plan of the entry, which must end with this code; returns the name of the result.
    fn run_ends(&self, code: i32, before: usize) -> String {
        let _turn = turn();
        self.says(code, &["run", "deep", "--servers", &targets_file(), "-q"]);
        let mut results = names(&self.path().join("deep/results"));
        assert_eq!(results.len(), before + 1);
        results.pop().unwrap()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join("deep").join(name)
    }

    fn replace(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.file(name)).unwrap();
        assert!(text.contains(from), "{from} in {text}");
        fs::write(self.file(name), text.replace(from, to)).unwrap();
    }

    fn append(&self, name: &str, text: &str) {
        let before = fs::read_to_string(self.file(name)).unwrap();
        fs::write(self.file(name), before + text).unwrap();
    }

    /// Kinds of the remarks of a check.
    fn remarks(&self, code: i32) -> Vec<String> {
        let said = self.says(code, &["check", "--json"]);
        let document: Value = said.record();
        let remarks = document["remarks"].as_array().unwrap();
        remarks.iter().map(|one| one["kind"].as_str().unwrap().to_string()).collect()
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn from_an_empty_folder_to_a_journal_that_is_checked() {
    let journal = Journal::new("journal");
    let said = journal.says(2, &["list"]);
    assert!(said.stderr.contains("ceiling journal new SLUG"), "{}", said.stderr);
    journal.new_entry();
    journal.says(2, &["new", "deep"]);
    assert_eq!(journal.remarks(0), [""; 0], "a plan is no claim");
    journal.says(0, &["run", "deep", "--servers", &targets_file(), "--dry-run"]);
    assert!(!journal.file("results").exists());
    let result = journal.run(0);
    let entry = fs::read_to_string(journal.file("entry.toml")).unwrap();
    assert!(entry.contains("status = \"done\" "), "{entry}");
    assert_eq!(journal.remarks(0), ["no_answer"]);
    journal.says(3, &["check", "--strict"]);
    journal.replace("entry.toml", "# answer = \"One line, when it is known.\"", "answer = \"No.\"");
    journal.append(
        "entry.toml",
        "[[finding]]\ntext = \"No request fails.\"\n\
         condition = \"cells.one.errors == 0 and cells.'four deep'.errors == 0\"\n",
    );
    let text = "All of it: {{cells.one.errors}}, {{contrasts.'four deep'.rate.ratio}}.";
    fs::write(journal.file("notes.md"), text).unwrap();
    assert_eq!(journal.remarks(0), [""; 0]);
    let said = journal.says(0, &["check"]);
    assert!(said.stdout.contains("1 of 1 finding found to hold"), "{}", said.stdout);
    let shown = journal.says(0, &["show", "deep"]).stdout;
    assert!(shown.contains("true: 0 % == 0 %; 0 % == 0 %"), "{shown}");
    assert!(shown.contains("All of it: 0 %, ") && !shown.contains("{{"), "{shown}");
    assert!(shown.contains(&result), "{shown}");
    let listed = journal.says(0, &["list"]).stdout;
    assert!(listed.contains("done") && listed.contains("Does depth fail? - No."), "{listed}");
    assert!(listed.contains("done, "), "and how far it is decided: {listed}");
    let rows = journal.says(0, &["list", "--json"]).stdout;
    let rows: Value = serde_json::from_str(&rows).unwrap();
    assert_eq!(rows["entries"][0]["contrasts"]["all"], 1, "{rows}");
}

#[test]
fn a_predicted_entry_waits_for_its_plan_to_be_run() {
    let journal = Journal::new("journal-predicted");
    journal.new_entry();
    let cost = ["new", "cost", "--question", "What does one cost?"];
    journal.says(0, &cost);
    fs::copy(journal.file("plan.toml"), journal.path().join("cost/plan.toml")).unwrap();
    journal.replace("plan.toml", "requests = 300", "requests = 200");
    let _turn = turn();
    journal.says(0, &["run", "cost", "--servers", &targets_file(), "-q"]);
    journal.replace("entry.toml", "status = \"planned\"", "status = \"predicted\"");
    let condition = "cells.one.errors within entries.cost.cells.one.errors to 1%";
    journal.append(
        "entry.toml",
        &format!("[hypothesis]\n[[hypothesis.prediction]]\ncondition = \"{condition}\"\n"),
    );
    let said = journal.says(0, &["check", "deep"]).stdout;
    assert!(said.contains("not tested yet") && said.contains("1.00 %"), "{said}");
    let listed = journal.says(0, &["list"]).stdout;
    assert!(listed.contains("predicted, 0 of 1"), "{listed}");
    journal.says(0, &["run", "deep", "--servers", &targets_file(), "-q"]);
    let entry = fs::read_to_string(journal.file("entry.toml")).unwrap();
    assert!(entry.contains("status = \"done\""), "{entry}");
    let checked: Value = journal.says(0, &["check", "deep", "--json"]).record();
    assert_eq!(checked["entries"][0]["predictions"][0]["truth"], "true", "{checked}");
}

#[test]
fn a_result_that_changed_makes_a_finding_false() {
    let journal = Journal::new("journal-changed");
    journal.new_entry();
    let first = journal.run(0);
    journal.replace("entry.toml", "# answer = \"One line, when it is known.\"", "answer = \"No.\"");
    journal.append(
        "entry.toml",
        "[[finding]]\ntext = \"No request fails.\"\ncondition = \"cells.one.errors < 0.5\"\n",
    );
    assert_eq!(journal.remarks(0), [""; 0]);
    // Now every response fails a check.
    journal.replace("plan.toml", "requests = 300", "requests = 300, check-status = \"404\"");
    let second = journal.run_ends(3, 1);
    assert!(second > first, "{first} {second}");
    assert!(journal.remarks(3).contains(&"stale".to_string()));
    let (junit, summary) = (journal.folder.file("junit.xml"), journal.folder.file("summary.md"));
    let said = journal.says(3, &["check", "deep", "--junit", &junit, "--summary", &summary]);
    let words = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("deep: finding 'No request fails.': no longer holds"), "{words}");
    assert!(words.contains("cells.one.errors < 0.5: 100 % < 50 %"), "{words}");
    assert!(fs::read_to_string(junit).unwrap().contains("failures=\"1\""));
    assert!(fs::read_to_string(summary).unwrap().contains("| FAILED |"));
    // An entry may be about an older result, and compare it with a newer one.
    journal.replace("entry.toml", "answer =", &format!("result = \"{first}\"\nanswer ="));
    let condition = format!("results.{second}.cells.one.errors == 1");
    let finding = format!("[[finding]]\ntext = \"Then all fail.\"\ncondition = \"{condition}\"\n");
    journal.append("entry.toml", &finding);
    assert_eq!(journal.remarks(0), [""; 0]);
    journal.replace("entry.toml", &first, "20000101T000000-deep");
    assert!(journal.remarks(3).contains(&"dangling".to_string()));
}

#[test]
fn a_result_is_judged_again_from_its_small_file_alone() {
    let journal = Journal::new("journal-small");
    journal.new_entry();
    let result = journal.file("results").join(journal.run(0));
    let archive = result.join("runs.tar.zst");
    let bytes = fs::metadata(&archive).unwrap().len();
    assert!(bytes < 200_000, "{bytes}");
    let again = || journal.say(&["check", "--json"]).record()["entries"][0]["again"].clone();
    let whole = again();
    assert_eq!(whole["runs"], json!({ "same": 6, "differ": 0, "cannot_be": 0 }));
    fs::remove_dir_all(result.join("runs")).unwrap();
    assert_eq!(again(), whole);
    let said = journal.says(0, &["check"]).stdout;
    assert!(said.contains("Judged again by this version, 6 of 6 runs and "), "{said}");
    // Figures that only a record has are there without the runs.
    fs::write(journal.file("notes.md"), "{{cells.one.p99_9}} {{cells.one.errors}}").unwrap();
    assert_eq!(journal.remarks(0), ["no_answer"]);
    // A figure that does not follow from the runs.
    let document = result.join("experiment.json");
    let was = fs::read_to_string(&document).unwrap();
    let mut other: Value = serde_json::from_str(&was).unwrap();
    let contrasts = other["contrasts"].as_array_mut().unwrap();
    let rate = contrasts.iter_mut().find(|one| one["figure"] == "rate").unwrap();
    rate["ratio"] = json!(7.5);
    rate["conclusion"] = json!("less");
    fs::write(&document, other.to_string()).unwrap();
    let remarks = journal.remarks(3);
    assert!(remarks.contains(&"rejudged".to_string()), "{remarks:?}");
    assert!(remarks.contains(&"figures".to_string()), "{remarks:?}");
    assert_eq!(whole["figures"]["differ"], 0);
    assert!(again()["figures"]["differ"].as_u64() > Some(0));
    fs::write(&document, was).unwrap();
    let mut bytes = fs::read(&archive).unwrap();
    bytes.truncate(bytes.len() / 2);
    fs::write(&archive, bytes).unwrap();
    assert!(journal.remarks(2).contains(&"invalid".to_string()));
    fs::remove_file(&archive).unwrap();
    let said = journal.says(0, &["check"]).stdout;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("not kept, so it cannot be judged again"), "{said}");
}

#[test]
fn an_interrupted_run_leaves_the_status_as_it_was() {
    let journal = Journal::new("journal-interrupted");
    journal.new_entry();
    journal.replace("plan.toml", "requests = 300", "duration = \"100s\"");
    let place = journal.path().display().to_string();
    let targets = targets_file();
    let words = ["journal", "run", "deep", "--servers", &targets, "-q", "--journal", &place];
    let _turn = turn();
    let mut child = ceiling(&words).stdout(Stdio::null()).spawn().unwrap();
    let is_running = || {
        let text = fs::read_to_string(journal.file("entry.toml")).unwrap();
        let begun = fs::read_dir(journal.file("results")).is_ok_and(|mut all| all.next().is_some());
        begun && text.contains("status = \"running\"")
    };
    wait_until("the status is running", is_running);
    signal(child.id(), "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let text = fs::read_to_string(journal.file("entry.toml")).unwrap();
    assert!(text.contains("status = \"planned\" "), "{text}");
    let elsewhere = journal.folder.path.display().to_string();
    for wrong in ["20000101T000000-deep", &elsewhere] {
        let refused = journal.says(2, &["run", "deep", "--servers", &targets, "--resume", wrong]);
        assert!(refused.stderr.contains("not a result of the entry 'deep'"), "{}", refused.stderr);
    }
}

#[test]
fn wrong_words_are_told_with_an_example() {
    let journal = Journal::new("journal-words");
    for wrong in ["Deep", "a/b", "..", "-x"] {
        let said = journal.says(2, &["new", "--", wrong]);
        assert!(said.stderr.contains("for example gzip-helps"), "{}", said.stderr);
        assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
    }
    journal.new_entry();
    journal.append("entry.toml", "[[finding]]\ntext = \"So.\"\ncondition = \"rate > 1\"\n");
    let said = journal.says(2, &["check"]);
    assert!(said.stdout.contains("Not valid"), "{}", said.stdout);
    journal.append("entry.toml", "answr = \"x\"\n");
    let said = journal.says(2, &["show", "deep"]);
    assert!(said.stderr.contains("unknown field `answr`"), "{}", said.stderr);
    let said = journal.says(2, &["list"]);
    assert!(said.stderr.contains("deep/entry.toml"), "{}", said.stderr);
}

#[test]
fn runs_are_added_once_and_a_changed_verdict_is_told() {
    let journal = Journal::new("journal-added");
    journal.new_entry();
    let runs = journal.folder.file("runs");
    let load = ["load", "http://null/", "--driver", "null", "-d", "200ms", "-t", "1", "-q"];
    {
        let _turn = turn();
        let said = Finished::of(ceiling(&load).args(["--runs", &runs]).output().unwrap());
        assert!(journal.folder.path.join("runs").exists(), "{}", said.stderr);
    }
    let add = ["add", "deep", "last", "--runs", &runs, "--name", "by-hand"];
    let said = journal.says(0, &add);
    assert!(said.stdout.contains("runs.by-hand.rate"), "{}", said.stdout);
    let again = journal.says(2, &add);
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
    journal.says(2, &["add", "deep", "last", "--runs", &runs, "--name", "../x"]);
    fs::write(journal.file("notes.md"), "{{runs.by-hand.errors}} {{runs.by-hand.wall}}").unwrap();
    let remarks = journal.remarks(0);
    assert!(!remarks.contains(&"rejudged".to_string()), "{remarks:?}");
    let record = journal.file("runs/by-hand/run.json");
    let mut document: Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    document["verdict"]["wall"] = "A6".into();
    fs::write(&record, document.to_string()).unwrap();
    assert!(journal.remarks(3).contains(&"rejudged".to_string()));
}

/// All findings in the journal of this repository hold for its results.
#[test]
fn the_journal_of_the_repository_holds() {
    let journal = root().join("journal").display().to_string();
    let said = run(&["journal", "check", "--journal", &journal, "--json"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let checked: Value = serde_json::from_str(&said.stdout).unwrap();
    assert!(checked["findings"].as_u64().unwrap() > 20, "{}", said.stdout);
    assert_eq!(checked["findings"], checked["holding"], "{}", said.stdout);
    for entry in names(&root().join("journal")) {
        let own = fs::read(root().join("journal").join(&entry).join("plan.toml")).ok();
        let tried = match entry.strip_prefix("full-") {
            Some(name) => format!("experiments/{name}/full.toml"),
            None => format!("experiments/{entry}/plan.toml"),
        };
        let is_one = own.is_none() || own == fs::read(root().join(&tried)).ok();
        assert!(is_one, "{entry}: plan.toml is {tried}");
    }
}

#[test]
fn what_another_tool_printed_is_imported_once() {
    let journal = Journal::new("journal-foreign");
    journal.new_entry();
    let printed = "Running 10s test @ http://127.0.0.1:8080/\n  2 threads and 64 connections\n  \
                   Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   640.00us  \
                   120.00us   9.10ms   91.00%\n    Req/Sec    50.00k     1.20k   52.00k    \
                   80.00%\n  1000000 requests in 10.00s, 810.00MB read\nRequests/sec: 100000.00\n\
                   Transfer/sec:     81.00MB\n";
    let file = journal.folder.file("wrk.txt");
    fs::write(&file, printed).unwrap();
    let story = ["new", "story", "--source", "A story", "--title", "A story of others"];
    let said = journal.says(0, &story);
    assert!(said.stdout.contains("import story") && !said.stdout.contains("plan.toml"));
    let refused = journal.says(2, &["run", "story"]);
    assert!(refused.stderr.contains("it has no plan.toml"), "{}", refused.stderr);
    std::os::unix::fs::symlink(&journal.folder.path, journal.path().join("story/foreign")).unwrap();
    let refused = journal.says(2, &["import", "story", &file]);
    assert!(refused.stderr.contains("out of the journal"), "{}", refused.stderr);
    let said = journal.says(0, &["import", "deep", &file]);
    assert!(said.stdout.contains("foreign.wrk.rate"), "{}", said.stdout);
    assert_eq!(fs::read_to_string(journal.file("foreign/wrk.txt")).unwrap(), printed);
    journal.says(2, &["import", "deep", &file]);
    fs::write(journal.file("notes.md"), "{{foreign.wrk.rate|k/s}}").unwrap();
    let shown = journal.says(0, &["show", "deep"]).stdout;
    assert!(shown.contains("100k/s"), "{shown}");
    fs::write(&file, "nothing of a tool").unwrap();
    let refused = journal.says(2, &["import", "deep", &file, "--name", "other"]);
    assert!(refused.stderr.contains("wrk.txt"), "{}", refused.stderr);
    assert!(!journal.file("foreign/other.txt").exists());
}
