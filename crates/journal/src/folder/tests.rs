//! A journal on disk: made, listed, and hostile.

use super::*;
use crate::fixture::{Folder, slug};
use std::os::unix::fs::symlink;

#[test]
fn what_was_made_is_valid_and_is_never_made_twice() {
    let folder = Folder::new("made");
    let journal = Journal::open_or_make(&folder.0.join("journal")).unwrap();
    let skeleton = Skeleton::new(&slug("gzip-helps"));
    let made = journal.create(&slug("gzip-helps"), &skeleton).unwrap();
    assert_eq!(made.entry.title, "Gzip helps");
    assert_eq!(made.plan().unwrap(), skeleton.plan());
    assert!(made.notes().unwrap().contains("{{"));
    assert_eq!((made.results().unwrap().len(), made.chosen().unwrap()), (0, None));
    journal.about().unwrap();
    fs::write(made.path.join("notes.md"), "mine").unwrap();
    let again = journal.create(&slug("gzip-helps"), &skeleton).unwrap_err().to_string();
    assert!(again.contains("exists already"), "{again}");
    assert_eq!(made.notes().unwrap(), "mine");
    let names: Vec<_> = fs::read_dir(journal.path()).unwrap().flatten().collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn entries_are_listed_by_date_and_broken_ones_are_told() {
    let folder = Folder::new("listed");
    let journal = Journal::open_or_make(&folder.0).unwrap();
    for (name, date) in [("b", "2026-01-02"), ("a", "2026-01-03"), ("c", "2026-01-02")] {
        let made = journal.create(&slug(name), &Skeleton::new(&slug(name))).unwrap();
        let text = fs::read_to_string(made.path.join("entry.toml")).unwrap();
        let today = format!("date = {}", crate::Date::today());
        fs::write(made.path.join("entry.toml"), text.replace(&today, &format!("date = {date}")))
            .unwrap();
    }
    fs::create_dir(folder.0.join("Wrong Name")).unwrap();
    fs::write(folder.0.join("Wrong Name/entry.toml"), "").unwrap();
    fs::create_dir(folder.0.join("d")).unwrap();
    fs::write(folder.0.join("d/entry.toml"), "title = 1").unwrap();
    fs::create_dir(folder.0.join("no-entry")).unwrap();
    let listing = journal.entries().unwrap();
    let names: Vec<&str> = listing.entries.iter().map(|one| one.slug.as_str()).collect();
    assert_eq!(names, ["b", "c", "a"]);
    let broken: Vec<String> = listing.broken.iter().map(ToString::to_string).collect();
    assert_eq!(broken.len(), 2, "{broken:?}");
    assert!(broken[0].contains("Wrong Name") && broken[1].contains("d/entry.toml"), "{broken:?}");
}

#[test]
fn entries_that_follow_another_one_are_listed_behind_it() {
    let folder = Folder::new("followed");
    let journal = Journal::open_or_make(&folder.0).unwrap();
    let made = |name: &str, date: &str, followed_by: &[&str]| {
        let made = journal.create(&slug(name), &Skeleton::new(&slug(name))).unwrap();
        let file = made.path.join("entry.toml");
        let text = fs::read_to_string(&file).unwrap();
        let today = format!("date = {}", crate::Date::today());
        let text = text.replace(&today, &format!("date = {date}\nfollowed_by = {followed_by:?}"));
        fs::write(file, text).unwrap();
    };
    let listed = || {
        let listing = journal.entries().unwrap();
        assert_eq!(listing.broken.len(), 0, "{:?}", listing.broken);
        listing.entries.iter().map(|one| one.slug.to_string()).collect::<Vec<_>>()
    };
    made("told-2", "2025-06-02", &["full-2", "two"]);
    made("told-1", "2025-06-01", &["one", "gone"]);
    made("two", "2026-01-01", &[]);
    made("one", "2026-01-02", &["again"]);
    made("full-2", "2026-01-03", &[]);
    made("again", "2026-01-04", &[]);
    assert_eq!(listed(), ["told-1", "one", "again", "told-2", "full-2", "two"]);
    made("left", "2025-01-01", &["right"]);
    made("right", "2025-01-01", &["left", "right"]);
    assert_eq!(listed()[6..], ["left", "right"], "a circle is last, and no entry is lost");
}

#[test]
fn nothing_outside_of_the_journal_is_read() {
    let folder = Folder::new("links");
    let journal = Journal::open_or_make(&folder.0.join("journal")).unwrap();
    let made = journal.create(&slug("a"), &Skeleton::new(&slug("a"))).unwrap();
    fs::write(folder.0.join("secret"), "secret").unwrap();
    fs::remove_file(made.path.join("notes.md")).unwrap();
    symlink(folder.0.join("secret"), made.path.join("notes.md")).unwrap();
    let said = made.notes().unwrap_err().to_string();
    assert!(said.contains("out of the journal"), "{said}");
    symlink(&folder.0, made.path.join("results")).unwrap();
    assert!(made.results().is_err() && made.experiment("x").is_err());
    let large = vec![b' '; TOML.0 as usize + 1];
    fs::write(made.path.join("plan.toml"), large).unwrap();
    assert!(made.plan().unwrap_err().to_string().contains("more than 262144 bytes"));
    fs::remove_file(made.path.join("plan.toml")).unwrap();
    fs::create_dir(made.path.join("plan.toml")).unwrap();
    assert!(made.plan().unwrap_err().to_string().contains("not a file"));
}

#[test]
fn the_entry_speaks_of_the_result_it_names_or_of_the_newest() {
    let folder = Folder::new("results");
    let journal = Journal::open_or_make(&folder.0).unwrap();
    let made = journal.create(&slug("a"), &Skeleton::new(&slug("a"))).unwrap();
    for id in ["20260102T000000-a", "20260101T000000-a"] {
        fs::create_dir_all(made.result_path(id)).unwrap();
    }
    assert_eq!(made.chosen().unwrap().as_deref(), Some("20260102T000000-a"));
    let named = |id: &str| {
        let entry = Entry { result: Some(id.to_string()), ..made.entry.clone() };
        EntryFolder { entry, ..made.clone() }.chosen()
    };
    assert_eq!(named("20260101T000000-a").unwrap().as_deref(), Some("20260101T000000-a"));
    assert!(named("20260103T000000-a").unwrap_err().to_string().contains("20260102T000000-a"));
    assert!(made.experiment("20260102T000000-a").is_err());
}

#[test]
fn a_status_is_replaced_and_nothing_else() {
    let folder = Folder::new("status");
    let journal = Journal::open_or_make(&folder.0).unwrap();
    let made = journal.create(&slug("a"), &Skeleton::new(&slug("a"))).unwrap();
    let read = || fs::read_to_string(made.path.join("entry.toml")).unwrap();
    let before = read();
    made.write_status("running").unwrap();
    assert_eq!(read(), before.replace("status = \"planned\" ", "status = \"running\" "));
    assert_eq!(journal.entry(&slug("a")).unwrap().entry.status.word(), "running");
    assert!(made.write_status("superseded").is_err(), "nobody says by what");
    assert!(read().contains("\"running\""));
}
