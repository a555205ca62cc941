//! `ceiling journal build`: the contents of the folder, and what is never replaced.

use crate::harness::{Folder, Server, run, turn};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder with a journal and its site.
struct Place(Folder);

impl Place {
    fn path(&self, name: &str) -> String {
        self.0.file(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Builds into a folder; returns the exit code, stdout and stderr.
    fn build(&self, out: &str) -> (i32, String, String) {
        let (journal, out) = (self.path("journal"), self.path(out));
        let said = run(&["journal", "build", "--journal", &journal, "-o", &out]);
        (said.code, said.stdout, said.stderr)
    }
}

const ENTRY: &str = "schema = \"ceiling.entry/1\"\ntitle = \"Do sinks drain?\"\ndate = 2026-11-23\n\
                     tags = [\"sink\"]\nstatus = \"done\"\nquestion = \"Does a sink drain?\"\n\
                     answer = \"It does.\"\n";

fn journal(name: &str) -> Place {
    let folder = Place(Folder::new(&format!("site-{name}")));
    folder.write("journal/journal.toml", "title = \"Sinks\"\nurl = \"https://example.org\"\n");
    folder.write("journal/drains/entry.toml", ENTRY);
    folder
}

/// All files below a folder, with their contents.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => drop(files.insert(path.clone(), fs::read(path).unwrap())),
            }
        }
    }
    files
}

#[test]
fn a_result_becomes_a_page_whose_figures_and_findings_are_filled() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let folder = journal("result");
    let findings = "[[finding]]\ntext = \"No request fails.\"\ncondition = \"cells.one.errors == \
                    0\"\n[[finding]]\ntext = \"All of them fail.\"\ncondition = \
                    \"cells.one.errors > 50%\"\n[[finding]]\ntext = \"Nobody asked.\"\ncondition = \
                    \"cells.two.rate > 1\"\n";
    folder.write("journal/drains/entry.toml", &format!("{ENTRY}{findings}"));
    let notes = "It fails {{cells.one.errors}}, and {{cells.gone.rate}} was not measured.\n";
    folder.write("journal/drains/notes.md", notes);
    let plan = format!(
        "schema = \"ceiling.plan/1\"\nquestion = \"Why?\"\nserver = {{ addr = \"127.0.0.1:{}\" }}\n\
         load = {{ command = \"load\", requests = 200, connections = 2 }}\n[[cell]]\nname = \
         \"one\"\n",
        server.port
    );
    folder.write("journal/drains/plan.toml", &plan);
    let (plan, results) =
        (folder.path("journal/drains/plan.toml"), folder.path("journal/drains/results"));
    let said = run(&["run", &plan, "--trust", "--runs", &results, "-q"]);
    assert_eq!(said.code, 0, "{}", said.stderr);

    let (code, stdout, stderr) = folder.build("site");
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("index.html: 1 entry,"), "{stdout}");
    let page = folder.read("site/entries/drains.html");
    for part in [
        "<span class=\"figure\" title=\"data: cells.one.errors of ",
        "<span class=\"dangling\"",
        "\u{2713} holds",
        "\u{2717} fails",
        "\u{2717} refers to a missing figure",
        "1 finding does not hold.",
        "id=\"entry-result\"",
        "ceiling journal run drains",
        "entries/drains/cell-1.html",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(folder.read("site/entries/drains/cell-1.html").contains("id=\"both-hosts\""));
    assert!(folder.read("site/feed.xml").contains("https://example.org/entries/drains.html"));
    assert!(folder.read("site/figures.html").contains("Do sinks drain?"));

    // A journal that did not change gives the same bytes, in place of the old ones.
    let before = files(&folder.0.path.join("site"));
    assert_eq!(folder.build("site").0, 0);
    assert!(files(&folder.0.path.join("site")) == before);
}

/// A site is for everyone: it shows the plan without what `ceiling run` and `pack` keep back.
#[test]
fn secrets_of_a_plan_are_not_on_its_page() {
    let folder = journal("secrets");
    let plan = "schema = \"ceiling.plan/1\"\nquestion = \"Why?\"\nserver = { addr = \
                \"127.0.0.1:9\" }\nload = { command = \"load\", header = [\"Authorization: \
                QZXauth1\"] }\n";
    folder.write("journal/drains/plan.toml", plan);
    let (code, _, stderr) = folder.build("site");
    assert_eq!(code, 0, "{stderr}");
    let site = files(&folder.0.path.join("site"));
    let has = |what: &str| {
        let what = what.as_bytes();
        site.values().any(|bytes| bytes.windows(what.len()).any(|part| part == what))
    };
    assert!(has("Authorization") && !has("QZXauth1"));
}

#[test]
fn a_build_that_fails_leaves_the_old_site() {
    let folder = journal("fails");
    assert_eq!(folder.build("site").0, 0);
    let before = files(&folder.0.path.join("site"));
    folder.write("journal/broken/entry.toml", "title = 1");
    let (code, stdout, stderr) = folder.build("site");
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert!(stderr.contains("broken/entry.toml"), "{stderr}");
    assert!(files(&folder.0.path.join("site")) == before);
    let names: Vec<_> = fs::read_dir(&folder.0.path).unwrap().flatten().collect();
    assert_eq!(names.len(), 2, "no draft is left: {names:?}");
}

#[test]
fn what_is_no_site_is_not_replaced() {
    let folder = journal("others");
    folder.write("mine/letter.txt", "Dear");
    let (code, _, stderr) = folder.build("mine");
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("is not replaced") && stderr.contains("for example -o"), "{stderr}");
    assert_eq!(folder.read("mine/letter.txt"), "Dear");
    assert_eq!(folder.build("journal").0, 2, "nor is the journal itself");
    // An empty folder is replaced, and pages of removed entries are gone.
    fs::create_dir(folder.0.path.join("site")).unwrap();
    folder.write("journal/gone/entry.toml", ENTRY);
    assert_eq!(folder.build("site").0, 0);
    assert!(folder.0.path.join("site/entries/gone.html").exists());
    fs::remove_dir_all(folder.0.path.join("journal/gone")).unwrap();
    assert_eq!(folder.build("site").0, 0);
    assert!(!folder.0.path.join("site/entries/gone.html").exists());
}

#[test]
fn without_an_address_there_is_no_feed_and_it_says_so() {
    let folder = journal("feedless");
    folder.write("journal/journal.toml", "title = \"Sinks\"\n");
    let (code, stdout, stderr) = folder.build("site");
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("No feed: journal.toml has no url."), "{stdout}");
    assert!(!folder.0.path.join("site/feed.xml").exists());
}
