//! Changing, crashing and putting back on hosts made up of files.

mod advice;
mod children;
mod elsewhere;

use crate::apply::{ApplyOptions, Disruption, apply};
use crate::error::TuneError;
use crate::guard::{Watched, extend, guard, keep};
use crate::host::{Host, Wish};
use crate::journal::Journal;
use crate::plan::{Planned, plan};
use crate::revert::{Which, revert};
use crate::status::{drift, standing, status};
use crate::testing::MadeUp;
use model::tuning::{Fate, Row};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

const SOMAXCONN: &str = "/proc/sys/net/core/somaxconn";

/// A host with a device of two queues, and a journal.
struct Ground {
    made: MadeUp,
    folder: PathBuf,
}

impl Ground {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ceiling-tune-journal-{}-{number}", std::process::id());
        let made = MadeUp::new("change", 4).device("eth0", 2);
        made.write(SOMAXCONN, "4096");
        // In memory where there is such a folder: every line is synced.
        let memory = PathBuf::from("/dev/shm");
        let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
        Self { made, folder: folder.join(name) }
    }

    fn host(&self) -> Host {
        self.made.host()
    }

    fn journal(&self) -> Journal {
        Journal::open(&self.folder).unwrap()
    }

    fn planned(&self) -> Vec<Planned> {
        let only = vec!["T5".to_string(), "T29".to_string()];
        plan(&self.host(), &Wish { only, ..Wish::default() }, None)
    }

    fn apply(&self) -> Result<crate::Applied, TuneError> {
        self.apply_as(&ApplyOptions::default())
    }

    fn apply_as(&self, options: &ApplyOptions<'_>) -> Result<crate::Applied, TuneError> {
        apply(&self.host(), &self.journal(), &self.planned(), options, &mut |_| {})
    }

    fn revert(&self) -> Result<Vec<Row>, TuneError> {
        revert(&self.host(), &self.journal(), &Which::All, &mut |_| {})
    }

    fn text(&self, path: &str) -> String {
        self.host().text(path).unwrap().trim().to_string()
    }

    /// What the files of the knobs say.
    fn values(&self) -> Vec<String> {
        let rps = |queue: u32| format!("/sys/class/net/eth0/queues/rx-{queue}/rps_cpus");
        [rps(0), rps(1), SOMAXCONN.to_string()].iter().map(|path| self.text(path)).collect()
    }

    fn open_file(&self) -> PathBuf {
        self.folder.join("1.jsonl")
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

const BEFORE: [&str; 3] = ["00000000", "00000000", "4096"];
const AFTER: [&str; 3] = ["0000000f", "0000000f", "16384"];

fn fates(rows: &[Row]) -> Vec<Fate> {
    rows.iter().map(|row| row.fate).collect()
}

#[test]
fn what_is_applied_reads_back_and_is_put_back_in_reverse() {
    let ground = Ground::new();
    let applied = ground.apply().unwrap();
    assert_eq!(fates(&applied.rows), [Fate::Applied; 3]);
    assert_eq!(ground.values(), AFTER);
    let host = ground.host();
    assert_eq!(fates(&status(&host, &ground.journal()).unwrap()), [Fate::Applied; 3]);
    assert_eq!(drift(&host, &ground.journal()).unwrap(), []);

    let rows = ground.revert().unwrap();
    assert_eq!(fates(&rows), [Fate::Reverted; 3]);
    assert_eq!((rows[0].knob.as_str(), rows[2].knob.as_str()), ("T29", "T5"));
    assert_eq!(ground.values(), BEFORE);
    assert_eq!(ground.revert().unwrap(), []);
    assert_eq!(standing(&host, &ground.journal()).unwrap(), []);
}

#[test]
fn a_transaction_that_is_over_is_known_and_another_is_not() {
    let ground = Ground::new();
    let id = ground.apply().unwrap().transaction;
    let one = |id: &str| {
        let which = Which::Transaction(id.to_string());
        revert(&ground.host(), &ground.journal(), &which, &mut |_| {})
    };
    assert_eq!(one(&id).unwrap().len(), 3);
    assert_eq!(one(&id).unwrap(), [], "already");
    for unknown in ["2", "x", "../1", "", "01", "+1"] {
        assert!(matches!(one(unknown), Err(TuneError::Unknown { .. })), "{unknown}");
    }
}

/// The journal is cut at every byte, as a crash leaves it, and the host is in either state: the
/// announced value may have been written or not. Everything comes back in both.
#[test]
fn a_journal_cut_at_any_byte_puts_everything_back() {
    let ground = Ground::new();
    ground.apply().unwrap();
    let whole = fs::read(ground.open_file()).unwrap();
    for cut in 0..whole.len() {
        fs::write(ground.open_file(), &whole[..cut]).unwrap();
        // A change announced in a whole line may be done; one without such a line cannot be.
        let lines = String::from_utf8_lossy(&whole[..cut]).into_owned();
        let kept = lines.rsplit_once('\n').map_or("", |(kept, _)| kept);
        let begun = kept.matches("\"entry\":\"begin\"").count();
        let written = kept.matches("\"entry\":\"written\"").count();
        for done in written..=begun {
            fs::write(ground.open_file(), &whole[..cut]).unwrap();
            for (index, (before, after)) in BEFORE.iter().zip(AFTER).enumerate() {
                let value = if index < done { after } else { before };
                let path = match index {
                    2 => SOMAXCONN.to_string(),
                    queue => format!("/sys/class/net/eth0/queues/rx-{queue}/rps_cpus"),
                };
                ground.made.write(&path, value);
            }
            let rows = ground.revert().unwrap();
            assert_eq!(fates(&rows), vec![Fate::Reverted; begun], "cut at {cut}, {done} done");
            assert_eq!(ground.values(), BEFORE, "cut at {cut}, {done} done");
            assert!(!ground.open_file().exists(), "cut at {cut}: closed");
        }
    }
}

#[test]
fn a_damaged_line_is_reported_and_never_guessed() {
    let ground = Ground::new();
    ground.apply().unwrap();
    let whole = fs::read_to_string(ground.open_file()).unwrap();
    let damages = [
        whole.replacen("\"begin\"", "\"bogus\"", 1),
        whole.replacen("\"seq\":0", "\"seq\":7", 1),
        whole.replacen("/sys/class", "/etc/sys/class", 1),
        whole.replacen("/proc/sys/net", "/proc/../etc/net", 1),
        whole.replacen("\"version\":1", "\"version\":9", 1),
        whole.replacen("\"transaction\":1", "\"transaction\":2", 1),
        whole.clone() + "{\"entry\":\"closed\"}\n",
        "\n".to_string() + &whole,
        whole.lines().skip(1).fold(String::new(), |text, line| text + line + "\n"),
        format!("{}{}\n", whole, "x".repeat(5 << 20)),
    ];
    for damage in damages {
        fs::write(ground.open_file(), &damage).unwrap();
        let error = ground.revert().unwrap_err();
        assert!(matches!(error, TuneError::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains("1.jsonl line "), "{error}");
        assert_eq!(ground.values(), AFTER, "nothing is guessed");
        assert!(matches!(ground.apply(), Err(TuneError::Corrupt { .. })));
    }
    fs::write(ground.open_file(), whole).unwrap();
    ground.revert().unwrap();
    assert_eq!(ground.values(), BEFORE);
}

#[test]
fn a_journal_that_others_can_write_to_is_not_believed() {
    let ground = Ground::new();
    ground.apply().unwrap();
    fs::set_permissions(ground.open_file(), fs::Permissions::from_mode(0o666)).unwrap();
    assert!(ground.revert().is_err());
    assert_eq!(ground.values(), AFTER);
    fs::set_permissions(&ground.folder, fs::Permissions::from_mode(0o777)).unwrap();
    let error = Journal::open(&ground.folder).unwrap_err();
    assert!(error.to_string().contains("others can write"), "{error}");
}

/// Two open transactions: the first has two changes, the second has the last one.
fn two_open(ground: &Ground) {
    for knob in ["T5", "T29"] {
        let only = vec![knob.to_string()];
        let planned = plan(&ground.host(), &Wish { only, ..Wish::default() }, None);
        let options = ApplyOptions::default();
        apply(&ground.host(), &ground.journal(), &planned, &options, &mut |_| {}).unwrap();
    }
    assert_eq!(ground.values(), AFTER);
}

#[test]
fn a_journal_that_cannot_put_entries_away_keeps_no_value_from_being_put_back() {
    let ground = Ground::new();
    two_open(&ground);
    let done = ground.folder.join("done");
    fs::write(&done, "").unwrap();
    let error = ground.revert().unwrap_err();
    assert_eq!(ground.values(), BEFORE);
    let TuneError::EntryStays { rows, .. } = &error else { panic!("{error}") };
    assert_eq!(fates(rows), [Fate::Reverted; 3]);
    let words = error.to_string();
    assert!(words.starts_with("everything is as it was before; an entry"), "{words}");
    assert!(words.contains(&done.display().to_string()), "{words}");
    assert!(!error.leaves_something());
    // Reported as long as it is so.
    assert!(matches!(ground.revert(), Err(TuneError::EntryStays { rows, .. }) if rows.is_empty()));
    fs::remove_file(&done).unwrap();
    assert_eq!(ground.revert().unwrap(), []);
    assert!(!ground.open_file().exists(), "put away");
}

#[test]
fn the_watchdog_puts_back_also_when_entries_cannot_be_put_away() {
    let ground = Ground::new();
    let (host, journal) = (ground.host(), ground.journal());
    let only = vec!["T5".to_string()];
    let planned = plan(&host, &Wish { only, ..Wish::default() }, None);
    apply(&host, &journal, &planned, &ApplyOptions::default(), &mut |_| {}).unwrap();
    assert_eq!(unwatched(&ground, Duration::from_secs(60)), "2", "the rest of the plan");
    fs::write(ground.folder.join("done"), "").unwrap();
    let first = Which::Transaction("1".to_string());
    assert!(revert(&host, &journal, &first, &mut |_| {}).is_err(), "its closed entry stays");
    assert_eq!(ground.values(), [BEFORE[0], BEFORE[1], AFTER[2]]);
    let stop = AtomicBool::new(true);
    let watched = guard(&host, &journal, "2", &stop, &mut || {});
    let Err(TuneError::EntryStays { rows, .. }) = watched else { panic!("{watched:?}") };
    assert_eq!(fates(&rows), [Fate::Reverted]);
    assert_eq!(ground.values(), BEFORE);
}

#[test]
fn a_transaction_whose_file_takes_no_line_is_put_back_and_reported() {
    let ground = Ground::new();
    two_open(&ground);
    // Once it was read. On a file system that became read-only it would be there and take no line.
    let mut tell = |_: &Row| drop(fs::remove_file(ground.open_file()));
    let done = revert(&ground.host(), &ground.journal(), &Which::All, &mut tell);
    let Err(TuneError::EntryStays { rows, error }) = done else { panic!("{done:?}") };
    assert!(error.to_string().contains("1.jsonl"), "{error}");
    assert_eq!(fates(&rows), [Fate::Reverted; 3]);
    assert_eq!(ground.values(), BEFORE);
}

#[test]
fn a_lock_that_cannot_be_written_to_is_held_all_the_same() {
    let ground = Ground::new();
    ground.apply().unwrap();
    // The kernel opens no folder for writing, as no file of a file system that became read-only.
    let lock = ground.folder.join("lock");
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    assert_eq!(fates(&ground.revert().unwrap()), [Fate::Reverted; 3]);
    assert_eq!(ground.values(), BEFORE);
}

#[test]
fn what_was_put_back_by_its_deadline_cannot_be_kept_any_more() {
    let ground = Ground::new();
    let (host, journal) = (ground.host(), ground.journal());
    let all = || keep(&host, &journal, &Which::All);
    assert!(all().unwrap().is_empty(), "nothing was changed yet");
    let id = unwatched(&ground, Duration::from_secs(60));
    guard(&host, &journal, &id, &AtomicBool::new(true), &mut || {}).unwrap();
    let late = all();
    let Err(TuneError::TooLate { transaction, .. }) = late else { panic!("{late:?}") };
    assert_eq!(transaction, id);
    let restarted = Host { boot_id: "another".to_string(), ..ground.host() };
    assert!(keep(&restarted, &journal, &Which::All).unwrap().is_empty(), "of an earlier boot");
    let id = unwatched(&ground, Duration::from_secs(60));
    assert_eq!(all().unwrap(), [id]);
    assert!(all().unwrap().is_empty(), "it is kept already");
    ground.revert().unwrap();
    assert!(all().unwrap().is_empty(), "the last one was kept");
    ground.apply().unwrap();
    ground.revert().unwrap();
    assert!(all().unwrap().is_empty(), "the last one had no deadline");
}

#[test]
fn one_that_cannot_be_stops_all_before_anything_is_written() {
    let ground = Ground::new();
    let planned = ground.planned();
    let queue = ground.host().root.path("/sys/class/net/eth0/queues/rx-1");
    fs::remove_dir_all(queue).unwrap();
    let done =
        apply(&ground.host(), &ground.journal(), &planned, &ApplyOptions::default(), &mut |_| {
            panic!("nothing happens")
        });
    let Err(TuneError::Refused { rows }) = done else { panic!("{done:?}") };
    assert_eq!(fates(&rows), [Fate::Proposed, Fate::Gone, Fate::Proposed]);
    assert_eq!(ground.text(SOMAXCONN), "4096");
    assert_eq!(standing(&ground.host(), &ground.journal()).unwrap(), []);
}

#[test]
fn one_that_fails_rolls_all_back() {
    let ground = Ground::new();
    let mut planned = ground.planned();
    // A value that its file does not keep: a made-up host does not raise to a power of two.
    let change = planned[2].change.as_mut().unwrap();
    let path = SOMAXCONN.to_string();
    change.place = crate::Place::File { path, format: crate::Format::NumberToPowerOfTwo };
    change.wanted = "1000".to_string();
    let mut told = Vec::new();
    let mut tell = |row: &Row| told.push(row.fate);
    let done =
        apply(&ground.host(), &ground.journal(), &planned, &ApplyOptions::default(), &mut tell);
    let Err(error @ TuneError::RolledBack { .. }) = done else { panic!("{done:?}") };
    assert!(error.to_string().contains("reads back as '1000', not as '1024'"), "{error}");
    assert!(!error.leaves_something());
    assert_eq!(
        told,
        [
            Fate::Applied,
            Fate::Applied,
            Fate::Failed,
            Fate::Reverted,
            Fate::Reverted,
            Fate::Reverted
        ]
    );
    assert_eq!(ground.values(), BEFORE);
    assert_eq!(standing(&ground.host(), &ground.journal()).unwrap(), []);
}

#[test]
fn stopped_half_way_everything_comes_back() {
    let ground = Ground::new();
    let stop = AtomicBool::new(false);
    let options = ApplyOptions { stop: Some(&stop), ..ApplyOptions::default() };
    let mut tell = |_: &Row| stop.store(true, Ordering::SeqCst);
    let done = apply(&ground.host(), &ground.journal(), &ground.planned(), &options, &mut tell);
    let Err(TuneError::RolledBack { rows, why, .. }) = done else { panic!("{done:?}") };
    assert_eq!(why, "interrupted");
    assert_eq!(fates(&rows), [Fate::Reverted, Fate::Proposed, Fate::Proposed]);
    assert_eq!(ground.values(), BEFORE);
}

#[test]
fn a_foreign_value_is_left_alone_and_stays_open() {
    let ground = Ground::new();
    ground.apply().unwrap();
    ground.made.write(SOMAXCONN, "500");
    assert_eq!(fates(&drift(&ground.host(), &ground.journal()).unwrap()), [Fate::Drifted]);
    let rows = ground.revert().unwrap();
    assert_eq!(fates(&rows), [Fate::Drifted, Fate::Reverted, Fate::Reverted]);
    assert!(rows[0].note.contains("'500'") && rows[0].note.contains("'4096'"), "{}", rows[0].note);
    assert_eq!(ground.text(SOMAXCONN), "500");

    let again = ground.planned();
    let done =
        apply(&ground.host(), &ground.journal(), &again, &ApplyOptions::default(), &mut |_| {});
    let Err(TuneError::Refused { rows }) = done else { panic!("{done:?}") };
    assert!(rows.iter().any(|row| row.note.contains("transaction 1 has changed it already")));

    ground.made.write(SOMAXCONN, "4096");
    assert_eq!(fates(&ground.revert().unwrap()), [Fate::Reverted]);
}

#[test]
fn an_interrupt_that_goes_elsewhere_has_drifted() {
    let ground = Ground::new();
    let change = crate::Change {
        place: crate::Place::File {
            path: "/proc/irq/30/smp_affinity_list".to_string(),
            format: crate::Format::List,
        },
        wanted: "2".to_string(),
        seen: crate::Seen { raw: "0-3\n".to_string(), value: "0-3".to_string() },
    };
    ground.made.write("/proc/irq/30/smp_affinity_list", "0-3");
    ground.made.write("/proc/irq/30/effective_affinity_list", "2");
    let table = |counts: &str| {
        let text = format!("       CPU0 CPU1 CPU2 CPU3\n 30:   {counts}   PCI-MSIX eth0-Tx-Rx-0");
        ground.made.write("/proc/interrupts", &text);
    };
    table("0 5 0 0");
    let row = ground.planned()[0].row.clone();
    let (knob, name) = ("T1".to_string(), "irq-affinity".to_string());
    let planned = [Planned { row: Row { knob, name, ..row }, change: Some(change) }];
    let (host, journal) = (ground.host(), ground.journal());
    apply(&host, &journal, &planned, &ApplyOptions::default(), &mut |_| {}).unwrap();
    assert_eq!(drift(&host, &journal).unwrap(), []);
    ground.made.write("/proc/irq/30/effective_affinity_list", "1");
    assert_eq!(drift(&host, &journal).unwrap(), [], "it moves with the next interrupt");
    table("0 5000 0 0");
    let rows = drift(&host, &journal).unwrap();
    assert_eq!(rows[0].fate, Fate::Drifted);
    assert!(rows[0].note.contains("interrupts still come on CPU 1"), "{rows:?}");
}

#[test]
fn after_a_restart_nothing_is_written() {
    let ground = Ground::new();
    ground.apply().unwrap();
    // The user made one of them permanent by hand.
    ground.made.write(SOMAXCONN, "8192");
    ground.made.write("/sys/class/net/eth0/queues/rx-0/rps_cpus", "00000000");
    let queue = ground.host().root.path("/sys/class/net/eth0/queues/rx-1");
    fs::remove_dir_all(queue).unwrap();
    ground.made.write("/proc/sys/kernel/random/boot_id", "another");
    let rows = ground.revert().unwrap();
    assert_eq!(fates(&rows), [Fate::Drifted, Fate::Gone, Fate::Gone]);
    assert_eq!(ground.text(SOMAXCONN), "8192");
    assert_eq!(ground.revert().unwrap(), [], "reported once");
}

fn disruptive(mut planned: Vec<Planned>) -> Vec<Planned> {
    planned[0].row.is_disruptive = true;
    planned
}

#[test]
fn what_can_cut_connections_needs_a_word_and_a_watchdog() {
    let ground = Ground::new();
    let (host, journal) = (ground.host(), ground.journal());
    let planned = disruptive(ground.planned());
    let applied = apply(&host, &journal, &planned, &ApplyOptions::default(), &mut |_| {}).unwrap();
    assert_eq!(fates(&applied.rows), [Fate::Refused, Fate::Applied, Fate::Applied]);
    assert!(applied.rows[0].note.contains("--allow-disruptive"));
    ground.revert().unwrap();

    let allowed = ApplyOptions { disruption: Disruption::Allowed, ..ApplyOptions::default() };
    let planned = disruptive(ground.planned());
    let done = apply(&host, &journal, &planned, &allowed, &mut |_| {});
    assert!(matches!(done, Err(TuneError::Guard { .. })), "no watchdog: {done:?}");

    let begun = |_: &str| match ground.values() == BEFORE {
        true => Err("no process".to_string()),
        false => panic!("written before it is watched"),
    };
    let done = apply(
        &host,
        &journal,
        &planned,
        &ApplyOptions { watch: Some(&begun), ..allowed },
        &mut |_| {},
    );
    let Err(TuneError::RolledBack { why, .. }) = done else { panic!("{done:?}") };
    assert!(why.contains("the watchdog does not start: no process"), "{why}");
    assert_eq!(ground.values(), BEFORE);
}

/// Applies under a watchdog that is not there.
fn unwatched(ground: &Ground, deadline: Duration) -> String {
    let watch = |_: &str| Ok(());
    let deadline = Some(deadline);
    let options = ApplyOptions { deadline, watch: Some(&watch), ..ApplyOptions::default() };
    ground.apply_as(&options).unwrap().transaction
}

#[test]
fn the_watchdog_waits_and_puts_back() {
    let ground = Ground::new();
    let (host, journal) = (ground.host(), ground.journal());
    let id = unwatched(&ground, Duration::from_secs(60));
    extend(&host, &journal, &id, Duration::from_millis(300)).unwrap();
    let (go_on, mut is_ready) = (AtomicBool::new(false), false);
    let watched = guard(&host, &journal, &id, &go_on, &mut || is_ready = true).unwrap();
    let Watched::PutBack(rows) = watched else { panic!("{watched:?}") };
    assert_eq!(fates(&rows), [Fate::Reverted; 3]);
    assert!(is_ready);
    assert_eq!(ground.values(), BEFORE);

    let id = unwatched(&ground, Duration::from_secs(60));
    let one = Which::Transaction(id.clone());
    assert_eq!(keep(&host, &journal, &one).unwrap(), std::slice::from_ref(&id));
    let watched = guard(&host, &journal, &id, &go_on, &mut || {}).unwrap();
    assert_eq!(watched, Watched::Settled);
    assert_eq!(ground.values(), AFTER, "kept");
    ground.revert().unwrap();
    assert_eq!(guard(&host, &journal, &id, &go_on, &mut || {}).unwrap(), Watched::Settled);

    let id = unwatched(&ground, Duration::from_secs(60));
    let stop = AtomicBool::new(true);
    let watched = guard(&host, &journal, &id, &stop, &mut || {}).unwrap();
    assert!(matches!(watched, Watched::PutBack(_)), "told to end, it does not wait");
    assert_eq!(ground.values(), BEFORE);
}

#[test]
fn a_deadline_moves_until_it_has_passed() {
    let ground = Ground::new();
    let (host, journal) = (ground.host(), ground.journal());
    let left = || standing(&host, &journal).unwrap()[0].left_ms;
    let later = |id: &str, seconds| extend(&host, &journal, id, Duration::from_secs(seconds));
    let id = unwatched(&ground, Duration::from_secs(60));
    later(&id, 30).unwrap();
    assert!(left().is_some_and(|left| left <= 30_000), "{:?}", left());
    later(&id, 3600).unwrap();
    let moved = left().unwrap();
    assert!(moved > 30_000 && moved <= 60_000, "not longer than any: {moved}");
    keep(&host, &journal, &Which::Transaction(id.clone())).unwrap();
    later(&id, 30).unwrap();
    assert_eq!(left(), None, "it has none since it was kept");
    ground.revert().unwrap();
    assert!(matches!(later(&id, 30), Err(TuneError::TooLate { .. })));
    let id = unwatched(&ground, Duration::from_secs(60));
    later(&id, 0).unwrap();
    assert_eq!(left(), Some(0));
    assert!(matches!(later(&id, 30), Err(TuneError::TooLate { .. })), "it is put back instead");
    assert!(matches!(later("99", 30), Err(TuneError::Unknown { .. })));
}

#[test]
fn an_unwatched_deadline_is_kept_by_the_next_command() {
    let ground = Ground::new();
    let (host, journal) = (ground.host(), ground.journal());
    let id = unwatched(&ground, Duration::from_secs(60));
    extend(&host, &journal, &id, Duration::ZERO).unwrap();
    assert_eq!(standing(&host, &journal).unwrap()[0].left_ms, Some(0));
    let late = keep(&host, &journal, &Which::Transaction(id));
    assert!(matches!(late, Err(TuneError::TooLate { .. })), "{late:?}");
    let mut told = Vec::new();
    let mut tell = |row: &Row| told.push(row.fate);
    apply(&host, &journal, &[], &ApplyOptions::default(), &mut tell).unwrap();
    assert_eq!(told, [Fate::Reverted; 3]);
    assert_eq!(ground.values(), BEFORE);
}

#[test]
fn deadlines_that_cannot_be_are_refused() {
    let ground = Ground::new();
    let watch = |_: &str| panic!("not started");
    for seconds in [0, 61] {
        let deadline = Some(Duration::from_secs(seconds));
        let options = ApplyOptions { deadline, watch: Some(&watch), ..ApplyOptions::default() };
        let done = ground.apply_as(&options);
        assert!(matches!(done, Err(TuneError::Guard { .. })), "{seconds}: {done:?}");
    }
    assert_eq!(ground.values(), BEFORE);
}

/// A side effect of the kernel: another value moves with the one being set.
#[test]
fn a_value_that_an_earlier_change_moves_is_not_taken_for_the_one_before() {
    let ground = Ground::new();
    let host = ground.host();
    let mut tell = |row: &Row| {
        if row.fate == Fate::Applied {
            ground.made.write(SOMAXCONN, "8192");
        }
    };
    let planned = ground.planned();
    let done = apply(&host, &ground.journal(), &planned, &ApplyOptions::default(), &mut tell);
    let error = done.unwrap_err();
    let words = error.to_string();
    assert!(words.contains("it was '4096' at the first look and is '8192' now"), "{words}");
    assert!(words.ends_with("1 moved meanwhile, and no revert can restore that: set it by hand"));
    assert!(error.leaves_something(), "{words}");
    let TuneError::RolledBack { rows, left, moved, .. } = error else { panic!("{words}") };
    assert_eq!((left, moved), (0, 1));
    assert_eq!(fates(&rows), [Fate::Reverted, Fate::Reverted, Fate::Failed]);
    let Row { now, note, .. } = &rows[2];
    assert_eq!(now.as_deref(), Some("8192"));
    assert!(note.contains("'4096'") && note.contains("'8192'"), "{note}");
    assert!(note.contains("no revert can restore it"), "{note}");
    assert_eq!(ground.values()[..2], BEFORE[..2]);
    assert_eq!(ground.text(SOMAXCONN), "8192", "not ours to write");
}

#[test]
fn who_moves_interrupts_is_paused_before_and_goes_on_after_they_are_put_back() {
    let ground = Ground::new();
    let stat = format!("700 (irqbalance) S 1{} 4711 0 0", " 0".repeat(17));
    ground.made.write("/proc/700/stat", &stat).write("/proc/700/comm", "irqbalance");
    let only = ["T5", "T2", "T29"].map(str::to_string).to_vec();
    let mut planned = plan(&ground.host(), &Wish { only, ..Wish::default() }, None);
    // Interrupts (T1) stand before their daemon in the catalogue, as all others do here.
    planned.rotate_left(1);
    assert_eq!(planned.last().unwrap().row.knob, "T2");
    let mut order = Vec::new();
    let mut tell = |row: &Row| order.push(row.knob.clone());
    apply(&ground.host(), &ground.journal(), &planned, &ApplyOptions::default(), &mut tell)
        .unwrap();
    revert(&ground.host(), &ground.journal(), &Which::All, &mut tell).unwrap();
    assert_eq!(order, ["T2", "T5", "T5", "T29", "T29", "T5", "T5", "T2"]);
    assert_eq!(ground.values(), BEFORE);
}

/// A device whose driver sets its interrupts up again whenever its queues restart.
fn with_hardware() -> (Ground, Vec<Planned>) {
    let mut ground = Ground::new();
    ground.made = MadeUp::new("change", 4).device("eth0", 2).hardware("eth0", 30, &[3, 2]);
    ground.made.write(SOMAXCONN, "4096");
    let ethtool = |setting: &str| format!("/ethtool/eth0/{setting}");
    ground.made.write(&ethtool("channels.most"), "combined 4");
    ground.made.write(&ethtool("coalescing"), "adaptive-rx 0 rx-usecs 8 tx-usecs 64");
    let only = ["T1", "T3", "T16", "T17", "T29"].map(str::to_string).to_vec();
    let profile = crate::host::Profile::Throughput;
    let wish = Wish { only, profile, ..Wish::default() };
    let planned = plan(&ground.host(), &wish, None);
    assert_eq!(planned[0].row.knob, "T1", "pins stand first in the catalogue");
    (ground, planned)
}

const PINS: [&str; 2] = ["/proc/irq/30/smp_affinity_list", "/proc/irq/31/smp_affinity_list"];

/// Applies with a driver that puts pins back to its own CPUs when one of these knobs is set.
fn apply_with_restarts(
    ground: &Ground,
    planned: &[Planned],
    restarts: &[&str],
    order: &mut Vec<String>,
) -> Result<crate::Applied, TuneError> {
    let mut tell = |row: &Row| {
        order.push(row.knob.clone());
        if restarts.contains(&row.knob.as_str()) {
            PINS.iter().zip(["3", "2"]).for_each(|(pin, cpu)| {
                ground.made.write(pin, cpu);
            });
        }
    };
    let watch = |_: &str| Ok(());
    let options = ApplyOptions {
        disruption: Disruption::Allowed,
        watch: Some(&watch),
        ..ApplyOptions::default()
    };
    apply(&ground.host(), &ground.journal(), planned, &options, &mut tell)
}

#[test]
fn interrupts_are_pinned_after_everything_that_restarts_queues() {
    let (ground, planned) = with_hardware();
    let mut order = Vec::new();
    apply_with_restarts(&ground, &planned, &["T3", "T16", "T17"], &mut order).unwrap();
    assert_eq!(order, ["T3", "T16", "T17", "T29", "T1", "T1"]);
    assert_eq!(PINS.map(|pin| ground.text(pin)), ["0", "1"]);
    order.clear();
    let mut tell = |row: &Row| order.push(row.knob.clone());
    revert(&ground.host(), &ground.journal(), &Which::All, &mut tell).unwrap();
    assert_eq!(order, ["T1", "T1", "T29", "T17", "T16", "T3"]);
    assert_eq!(PINS.map(|pin| ground.text(pin)), ["3", "2"]);
    assert_eq!(ground.text("/ethtool/eth0/channels"), "combined 2");
}

#[test]
fn a_pin_that_a_later_change_undoes_fails_the_apply() {
    let (ground, mut planned) = with_hardware();
    // The second pin restarts the queues of this driver, and the first is lost.
    planned.retain(|planned| planned.row.knob == "T1");
    planned[1].row.knob = "T1 last".to_string();
    let mut order = Vec::new();
    let done = apply_with_restarts(&ground, &planned, &["T1 last"], &mut order);
    let Err(TuneError::RolledBack { rows, why, left, .. }) = done else { panic!("{done:?}") };
    assert!(why.contains(PINS[0]) && why.contains("it was written and is '3' now"), "{why}");
    assert_eq!(fates(&rows), [Fate::Failed, Fate::Failed]);
    assert_eq!((left, PINS.map(|pin| ground.text(pin))), (0, ["3", "2"].map(str::to_string)));
}

/// The order for a driver that has both: a governor of `performance` moves the preference to
/// `performance` and refuses another one.
#[test]
fn the_preference_is_written_before_the_governor_and_put_back_after_it() {
    let ground = Ground::new();
    let policy = "/sys/devices/system/cpu/cpufreq/policy0";
    let of = |file: &str| format!("{policy}/{file}");
    ground.made.write(&of("scaling_governor"), "powersave");
    ground.made.write(&of("scaling_available_governors"), "performance powersave");
    ground.made.write(&of("energy_performance_preference"), "balance_power");
    ground.made.write(&of("energy_performance_available_preferences"), "performance power");
    let planned =
        plan(&ground.host(), &Wish { only: vec!["T51".to_string()], ..Wish::default() }, None);
    let mut order = Vec::new();
    let mut tell = |row: &Row| {
        let file = row.place.rsplit('/').next().unwrap().to_string();
        order.push((file, row.fate));
        if ground.text(&of("scaling_governor")) == "performance" {
            ground.made.write(&of("energy_performance_preference"), "performance");
        }
    };
    apply(&ground.host(), &ground.journal(), &planned, &ApplyOptions::default(), &mut tell)
        .unwrap();
    revert(&ground.host(), &ground.journal(), &Which::All, &mut tell).unwrap();
    let (governor, preference) = ("scaling_governor", "energy_performance_preference");
    let meant = [
        (preference, Fate::Applied),
        (governor, Fate::Applied),
        (governor, Fate::Reverted),
        (preference, Fate::Reverted),
    ];
    assert_eq!(order, meant.map(|(file, fate)| (file.to_string(), fate)));
    assert_eq!(ground.text(&of(preference)), "balance_power");
    assert_eq!(ground.text(&of(governor)), "powersave");
}
