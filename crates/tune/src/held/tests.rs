//! A change of an experiment: at its end, after a kill, with a hostile journal.

use super::*;
use crate::apply::{ApplyOptions, apply};
use crate::host::{Host, Wish};
use crate::plan::plan;
use crate::testing::MadeUp;
use crate::{standing, status};
use ::host::group::GroupFolder;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

const GROUP: &str = "/sys/fs/cgroup/a";
const FILE: &str = "/sys/fs/cgroup/a/cpu.max";

/// A host made up of files with this process in it, a group with a limit, and a journal.
struct Ground {
    made: MadeUp,
    folder: PathBuf,
}

impl Ground {
    fn new() -> Self {
        let us = std::process::id();
        let made = MadeUp::new("held", 2).process(us, "ceiling", &[us]);
        made.write(FILE, "max 100000");
        let folder = made.host().root.path("/journal");
        Self { made, folder }
    }

    fn host(&self) -> Host {
        self.made.host()
    }

    fn journal(&self) -> Journal {
        Journal::open(&self.folder).unwrap()
    }

    fn begin(&self) -> Result<Held, String> {
        let host = self.host();
        let group = GroupFolder::open(&host.root, Path::new(GROUP)).unwrap();
        let place = Place::CpuMax { folder: GROUP.to_string(), inode: group.inode().unwrap() };
        let wanted = "20000 100000".to_string();
        Held::begin(host, self.journal(), Turn::of_experiment("server-cpu-time", place, wanted))
    }

    fn limit(&self) -> String {
        self.host().text(FILE).unwrap().trim().to_string()
    }

    /// What becomes of a change whose process was killed.
    fn killed(&self, held: Held) -> PathBuf {
        held.turn().unwrap();
        let file = self.journal().file(held.transaction);
        std::mem::forget(held);
        UNDER_WAY.fetch_sub(1, Ordering::SeqCst);
        let text = fs::read_to_string(&file).unwrap();
        let other = text.replace("\"held_since_ticks\":4711", "\"held_since_ticks\":4710");
        assert_ne!(text, other);
        fs::write(&file, other).unwrap();
        file
    }

    fn next_start(&self) -> String {
        put_back_abandoned(&self.host().root, &self.folder).join("\n")
    }
}

#[test]
fn it_is_turned_to_and_fro_and_is_as_before_at_the_end() {
    let ground = Ground::new();
    let held = ground.begin().unwrap();
    assert!(is_changed());
    for _ in 0..2 {
        held.turn().unwrap();
        assert_eq!(ground.limit(), "20000 100000");
        held.turn_back().unwrap();
        assert_eq!(ground.limit(), "max 100000");
    }
    held.turn().unwrap();
    held.revert().unwrap();
    assert_eq!(ground.limit(), "max 100000");
    assert_eq!(standing(&ground.host(), &ground.journal()).unwrap(), []);
}

#[test]
fn a_change_whose_journal_was_removed_is_put_back_from_memory() {
    let ground = Ground::new();
    let held = ground.begin().unwrap();
    held.turn().unwrap();
    fs::remove_dir_all(&ground.folder).unwrap();
    held.revert().unwrap();
    assert_eq!(ground.limit(), "max 100000");
    let held = ground.begin().unwrap();
    held.turn().unwrap();
    fs::remove_dir_all(&ground.folder).unwrap();
    ground.made.write(FILE, "5000 100000");
    held.revert().unwrap();
    assert_eq!(ground.limit(), "5000 100000", "another program's");
}

#[test]
fn a_turn_that_is_not_kept_as_written_is_an_error_and_is_put_back() {
    let ground = Ground::new();
    ground.made.write(FILE, "4096");
    // A made-up host does not raise to a power of two.
    let place = Place::file(FILE, crate::Format::NumberToPowerOfTwo);
    let turn = Turn::of_experiment("made-up", place, "1000".to_string());
    let held = Held::begin(ground.host(), ground.journal(), turn).unwrap();
    let why = held.turn().unwrap_err();
    assert!(why.contains("reads back as '1000', not as '1024'"), "{why}");
    held.revert().unwrap();
    assert_eq!(ground.limit(), "4096");
}

#[test]
fn a_panic_puts_it_back() {
    let ground = Ground::new();
    let held = ground.begin().unwrap();
    held.turn().unwrap();
    drop(held);
    assert_eq!(ground.limit(), "max 100000");
}

#[test]
fn a_knob_of_what_it_changes_is_refused_meanwhile() {
    let ground = Ground::new();
    let mounts = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
    ground.made.write("/proc/self/mountinfo", mounts).write("/proc/7/cgroup", "0::/a");
    let held = ground.begin().unwrap();
    held.turn().unwrap();
    let host = Host { servers: vec![7], ..ground.host() };
    let wish = Wish { only: vec!["T58".to_string()], ..Wish::default() };
    let planned = plan(&host, &wish, None);
    let options = ApplyOptions::default();
    let done = apply(&host, &ground.journal(), &planned, &options, &mut |_| {});
    let Err(TuneError::Refused { rows }) = done else { panic!("{done:?}") };
    let us = std::process::id();
    assert!(rows[0].note.contains(&format!("an experiment of process {us}")), "{rows:?}");
    assert_eq!(ground.limit(), "20000 100000");
    held.revert().unwrap();
    assert_eq!(ground.limit(), "max 100000");
}

#[test]
fn an_abandoned_change_whose_entry_cannot_be_put_away_is_told_to_be_back() {
    let ground = Ground::new();
    ground.killed(ground.begin().unwrap());
    fs::write(ground.folder.join("done"), "").unwrap();
    let told = ground.next_start();
    assert!(told.starts_with("put back what") && told.contains("cannot be closed"), "{told}");
    assert_eq!(ground.limit(), "max 100000");
}

/// A restart of the host undid it, so there is nothing to tell.
#[test]
fn an_entry_of_an_earlier_boot_that_cannot_be_put_away_is_no_news() {
    let ground = Ground::new();
    ground.killed(ground.begin().unwrap());
    fs::write(ground.folder.join("done"), "").unwrap();
    ground.made.write("/proc/sys/kernel/random/boot_id", "another");
    assert_eq!([ground.next_start(), ground.next_start()], ["", ""], "the restart put it back");
    assert_eq!(ground.limit(), "20000 100000", "what is set since then is not ours");
}

#[test]
fn status_shows_it_and_revert_undoes_it() {
    let ground = Ground::new();
    let held = ground.begin().unwrap();
    let again = ground.begin().unwrap_err();
    assert!(again.contains("is changing it now"), "{again}");
    held.turn().unwrap();
    let rows = status(&ground.host(), &ground.journal()).unwrap();
    assert_eq!((rows.len(), rows[0].fate), (1, Fate::Applied));
    let us = std::process::id();
    assert!(rows[0].note.contains(&format!("process {us}")), "{rows:?}");
    let open = standing(&ground.host(), &ground.journal()).unwrap();
    assert_eq!(open[0].held_by, Some(us));
    assert_eq!(ground.next_start(), "", "its process lives, so its change stays");
    assert_eq!(ground.limit(), "20000 100000");
    revert::revert(&ground.host(), &ground.journal(), &Which::All, &mut |_| {}).unwrap();
    assert_eq!(ground.limit(), "max 100000");
    // A write now would be in no journal.
    assert!(held.turn().unwrap_err().contains("put back meanwhile"));
    assert_eq!(ground.limit(), "max 100000");
    held.revert().unwrap();
}

#[test]
fn what_a_killed_process_left_is_put_back_by_the_next_start_and_by_revert() {
    let ground = Ground::new();
    ground.killed(ground.begin().unwrap());
    let rows = status(&ground.host(), &ground.journal()).unwrap();
    assert_eq!((rows[0].fate, rows[0].now.as_deref()), (Fate::Applied, Some("20000 100000")));
    let told = ground.next_start();
    assert!(told.contains("put back what an experiment of process"), "{told}");
    assert_eq!((ground.limit(), ground.next_start()), ("max 100000".to_string(), String::new()));
    ground.killed(ground.begin().unwrap());
    let rows = revert::revert(&ground.host(), &ground.journal(), &Which::All, &mut |_| {}).unwrap();
    assert_eq!((rows[0].fate, ground.limit()), (Fate::Reverted, "max 100000".to_string()));
}

#[test]
fn a_failed_revert_stays_in_the_journal_and_is_reported() {
    let ground = Ground::new();
    let file = ground.killed(ground.begin().unwrap());
    let limit = ground.host().root.path(FILE);
    fs::remove_file(&limit).unwrap();
    fs::create_dir(&limit).unwrap();
    let told = ground.next_start();
    assert!(told.contains("cannot be put back") && file.exists(), "{told}");
    fs::remove_dir(&limit).unwrap();
    fs::write(&limit, "5000 100000").unwrap();
    let told = ground.next_start();
    assert!(told.contains("another program set '5000 100000'") && file.exists(), "{told}");
    fs::write(&limit, "20000 100000").unwrap();
    let told = ground.next_start();
    assert!(told.contains("put back what") && !file.exists(), "{told}");
}

#[test]
fn a_change_that_cannot_be_reverted_says_where_it_is_written_down() {
    let ground = Ground::new();
    let held = ground.begin().unwrap();
    held.turn().unwrap();
    let limit = ground.host().root.path(FILE);
    fs::remove_file(&limit).unwrap();
    fs::create_dir(&limit).unwrap();
    let why = held.revert().unwrap_err();
    assert!(why.contains("next start of ceiling") && why.contains("1.jsonl"), "{why}");
    assert!(why.contains("before the experiment it was 'max 100000'"), "{why}");
}

#[test]
fn what_others_could_have_written_is_not_believed() {
    let ground = Ground::new();
    let file = ground.killed(ground.begin().unwrap());
    let limit = ground.host().root.path(FILE);
    let victim = ground.host().root.path("/victim");
    let refused = |why: &str| {
        let told = ground.next_start();
        assert!(told.contains(why), "{told}");
        assert_eq!(ground.limit(), "20000 100000", "{told}");
    };
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode));
    mode(&file, 0o666).unwrap();
    refused("is not trusted");
    mode(&file, 0o600).unwrap();
    mode(&ground.folder, 0o770).unwrap();
    refused("others can write to it");
    mode(&ground.folder, 0o700).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace(GROUP, "/a/../b")).unwrap();
    refused("is not the path of a control group");
    let aside = ground.folder.join("aside");
    fs::write(&aside, &text).unwrap();
    fs::remove_file(&file).unwrap();
    symlink(&aside, &file).unwrap();
    refused("not a regular file");
    fs::remove_file(&file).unwrap();
    fs::write(&file, text.replace("max 100000", "owned")).unwrap();
    mode(&file, 0o600).unwrap();
    refused("'owned' is not a limit");
    // A link in place of the kernel's file is not written through.
    fs::write(&file, &text).unwrap();
    fs::rename(&limit, &victim).unwrap();
    symlink(&victim, &limit).unwrap();
    refused("cannot be put back");
}
