//! Tests with fake directories of runs: what is found in them, and what is removed.

use super::*;

/// A directory of its own, removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("store-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn directory(&self) -> Directory {
        Directory::new(&self.0)
    }

    /// A run that ended.
    fn run(&self, id: &str) -> PathBuf {
        let path = self.0.join(id);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join(POINTS), "").unwrap();
        fs::write(path.join(RECORD), "0123456789").unwrap();
        path
    }

    fn ids(&self) -> Vec<String> {
        self.directory().entries().unwrap().into_iter().map(|entry| entry.id).collect()
    }

    fn named(&self, asked: &str) -> String {
        let path = self.directory().find(asked).unwrap();
        path.file_name().unwrap().to_string_lossy().into_owned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const OLD: &str = "20260101T120000-0000002a";
const MIDDLE: &str = "20260102T120000-00ab0000";
const NEW: &str = "20260103T120000-00ac0000";

#[test]
fn only_folders_of_runs_and_experiments_are_entries_newest_first() {
    let place = Place::new("entries");
    for id in [MIDDLE, OLD, NEW] {
        place.run(id);
    }
    fs::create_dir(place.0.join("20260104T120000-empty")).unwrap();
    fs::write(place.0.join("20260105T120000-report.html"), "a file").unwrap();
    place.run("notes");
    place.run("2026-tables");
    std::os::unix::fs::symlink(place.0.join(OLD), place.0.join("20260106T120000-link")).unwrap();
    assert_eq!(place.ids(), [NEW, MIDDLE, OLD]);
    let newest = place.directory().entries().unwrap().remove(0);
    assert_eq!(newest.started_at(), "2026-01-03T12:00:00Z");
    assert_eq!(Directory::new(place.0.join("nowhere")).entries().unwrap(), []);
}

#[test]
fn a_run_is_meant_by_last_by_id_and_by_a_beginning_of_either_part() {
    let place = Place::new("find");
    for id in [MIDDLE, OLD, NEW] {
        place.run(id);
    }
    // It has started and not ended.
    let begun = place.0.join("20260104T120000-00000001");
    fs::create_dir(&begun).unwrap();
    fs::write(begun.join(POINTS), "").unwrap();
    let meant = [("last", NEW), ("last~0", NEW), ("last~1", MIDDLE), ("last~2", OLD)];
    for (asked, id) in meant.into_iter().chain([(OLD, OLD), ("20260102", MIDDLE), ("00ac", NEW)]) {
        assert_eq!(place.named(asked), id, "{asked}");
    }
    let find = |asked: &str| place.directory().find(asked).unwrap_err();
    assert_eq!(find("00a"), NotOne::Several(vec![NEW.to_string(), MIDDLE.to_string()]));
    for asked in ["last~3", "last~", "last~x", "lasting", "", "..", "12"] {
        assert!(matches!(find(asked), NotOne::None(ids) if ids.len() == 4), "{asked}");
    }
    // Where the id of one run is the start of another, the whole id means the shorter one.
    place.run(&format!("{NEW}-2"));
    assert_eq!(place.named(NEW), NEW);
}

#[test]
fn an_experiment_is_no_run_and_its_runs_are_found() {
    let place = Place::new("experiment");
    let folder = place.0.join("20260101T000000-04-ramp");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join(EXPERIMENT), "{}").unwrap();
    place.run(&format!("20260101T000000-04-ramp/runs/{OLD}"));
    let expected = NotOne::Experiment(folder.clone(), vec![OLD.to_string()]);
    assert_eq!(place.directory().find("04-ramp"), Err(expected));
    assert_eq!(place.named("0000002a"), OLD);
    assert!(matches!(place.directory().find("last"), Err(NotOne::None(_))), "it is not a run");
}

#[test]
fn a_run_is_being_written_while_its_process_lives() {
    let place = Place::new("state");
    let path = place.run(OLD);
    let state = || place.directory().entries().unwrap()[0].state();
    assert_eq!(state(), State::Done);
    let lock = Lock::hold(&path);
    assert_eq!(state(), State::BeingWritten);
    drop(lock);
    assert_eq!(state(), State::Done);
    fs::remove_file(path.join(RECORD)).unwrap();
    assert_eq!(state(), State::BeingWritten, "its files are fresh");
    let long_ago = SystemTime::now() - 2 * FRESH;
    for path in [path.join(POINTS), path] {
        fs::File::open(path).unwrap().set_modified(long_ago).unwrap();
    }
    assert_eq!(state(), State::Unfinished);
}

#[test]
fn what_is_too_many_is_the_oldest_by_each_limit() {
    let entry = |id: &str| {
        let path = PathBuf::from(id);
        Entry { id: id.to_string(), path, is_experiment: false }
    };
    let sized = [(entry(NEW), 30), (entry(MIDDLE), 20), (entry(OLD), 10)];
    let removed = |limits: Limits| {
        let ids = surplus(&sized, &limits).into_iter().map(|(entry, _)| entry.id.clone());
        ids.collect::<Vec<_>>()
    };
    let none = Limits::default();
    assert_eq!(removed(none.clone()), [""; 0]);
    assert_eq!(removed(Limits { keep: Some(2), ..none.clone() }), [OLD]);
    assert_eq!(removed(Limits { keep: Some(0), ..none.clone() }), [NEW, MIDDLE, OLD]);
    assert_eq!(removed(Limits { max_bytes: Some(50), ..none.clone() }), [OLD]);
    assert_eq!(removed(Limits { max_bytes: Some(49), ..none.clone() }), [MIDDLE, OLD]);
    let before = Some("20260102T120000".to_string());
    assert_eq!(removed(Limits { before, keep: Some(9), ..none }), [OLD]);
}

#[test]
fn a_removed_run_is_gone_and_what_a_removal_left_is_too() {
    let place = Place::new("remove");
    place.run(OLD);
    let entry = place.directory().entries().unwrap().remove(0);
    assert_eq!(entry.foreign_file(), None);
    assert!(place.directory().remove(&entry).unwrap());
    assert!(!place.directory().remove(&entry).unwrap(), "another was first");
    assert_eq!(place.ids(), [""; 0]);
    let left = place.0.join(format!("{REMOVED}{OLD}"));
    fs::create_dir(&left).unwrap();
    fs::create_dir(place.0.join(".removed-notes")).unwrap();
    place.directory().sweep();
    assert!(!left.exists() && place.0.join(".removed-notes").exists());
    fs::create_dir(&left).unwrap();
    fs::write(left.join("notes.md"), "by hand").unwrap();
    place.directory().sweep();
    assert!(left.join("notes.md").exists(), "not what ceiling wrote");
}

/// An experiment with everything that ceiling writes.
fn whole_experiment(place: &Place) -> PathBuf {
    let folder = place.0.join("20260101T000000-04-ramp");
    let run = place.run(&format!("20260101T000000-04-ramp/runs/{OLD}"));
    for path in [folder.join("servers"), run.join("profiles/12")] {
        fs::create_dir_all(path).unwrap();
    }
    let files = ["experiment.json", "report.html", "plan.toml", ".plan.toml.part"];
    let logs = ["servers/cell-001.log", "servers/postgres.log"];
    files.iter().chain(&logs).for_each(|name| fs::write(folder.join(name), "").unwrap());
    fs::write(run.join("profiles/12/77-cpu.pb.gz"), "").unwrap();
    folder
}

#[test]
fn what_ceiling_did_not_write_is_noticed_at_any_depth() {
    let place = Place::new("foreign");
    let folder = whole_experiment(&place);
    let entry = || place.directory().entries().unwrap().remove(0);
    assert_eq!(entry().foreign_file(), None);
    let inner = format!("runs/{OLD}");
    let files = ["page.html", "servers/notes.md", "servers/cell-001.log.bak", "runs/analysis.md"];
    let deep = ["notes", "profiles/notes.md", "profiles/12/cpu.svg", "profiles/12.pb.gz"];
    let deep = deep.map(|name| format!("{inner}/{name}"));
    for name in files.map(str::to_string).iter().chain(&deep) {
        fs::write(folder.join(name), "by hand").unwrap();
        assert_eq!(entry().foreign_file().as_ref(), Some(name));
        fs::remove_file(folder.join(name)).unwrap();
    }
    let folders = ["mine", "servers/mine", "runs/mine", "runs/20260101T000000-x/mine"];
    let deep = ["profiles/mine", "profiles/12/mine"].map(|name| format!("{inner}/{name}"));
    for name in folders.map(str::to_string).iter().chain(&deep) {
        fs::create_dir_all(folder.join(name)).unwrap();
        assert_eq!(entry().foreign_file().as_ref(), Some(name), "also when it is empty");
        fs::remove_dir(folder.join(name)).unwrap();
    }
    for name in ["link", "servers/cell-002.log", "runs/20260109T000000-link"] {
        std::os::unix::fs::symlink("/etc/hostname", folder.join(name)).unwrap();
        assert_eq!(entry().foreign_file().as_deref(), Some(name), "it points anywhere");
        fs::remove_file(folder.join(name)).unwrap();
    }
    assert!(entry().foreign_file().is_none());
}
