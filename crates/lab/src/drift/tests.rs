//! Journals of fake hosts, watched while another process changes them.

use super::*;
use crate::fake_host::MadeUp;
use tune::{Applied, ApplyOptions, TuneError, Wish};

const SOMAXCONN: &str = "/proc/sys/net/core/somaxconn";
const BACKLOG: &str = "/proc/sys/net/core/netdev_max_backlog";
/// Longer than any stall: a child that another test starts has the lock, too, until it is another
/// program.
const PATIENCE: Duration = Duration::from_secs(600);

impl MadeUp {
    /// Sets one knob, as another process would.
    fn apply(&self, knob: &str) -> Result<Applied, TuneError> {
        let wish = Wish { only: vec![knob.to_string()], ..Wish::default() };
        let planned = tune::plan(&self.host(), &wish, None);
        let journal = Journal::open(&self.journal()).unwrap();
        tune::apply(&self.host(), &journal, &planned, &ApplyOptions::default(), &mut |_| {})
    }
}

fn made_up() -> (MadeUp, Looks) {
    let made = MadeUp::new();
    made.write(SOMAXCONN, "4096");
    made.write(BACKLOG, "1000");
    let (root, folder) = (made.root(), made.journal());
    let looks = Looks { root, folder, patience: PATIENCE, first: None };
    (made, looks)
}

/// How many changes are in place, and those that drifted, with their fates.
fn seen(looks: &mut Looks) -> Option<(u32, Vec<(String, Fate)>)> {
    let Data::Tuning(TuningNow { places, drifted }) = looks.look()?.data else {
        panic!("it can be read")
    };
    Some((places, drifted.into_iter().map(|row| (row.place, row.fate)).collect()))
}

#[test]
fn what_is_put_back_while_it_is_watched_has_drifted() {
    let (made, mut looks) = made_up();
    made.apply("somaxconn").unwrap();
    assert_eq!(seen(&mut looks), Some((1, vec![])));
    made.revert();
    let gone = vec![(SOMAXCONN.to_string(), Fate::Reverted)];
    for _ in 0..2 {
        assert_eq!(seen(&mut looks), Some((0, gone.clone())), "the look does not fall silent");
    }
    // This place by another transaction is another change.
    made.apply("somaxconn").unwrap();
    let both = [gone, vec![(SOMAXCONN.to_string(), Fate::Applied)]].concat();
    assert_eq!(seen(&mut looks), Some((1, both)));
}

/// While it is put back, the value is as before and the journal still has the change: that looks
/// like the work of another program.
#[test]
fn a_look_in_the_middle_of_a_revert_does_not_say_who_changed_a_value() {
    let (made, mut looks) = made_up();
    made.apply("somaxconn").unwrap();
    made.apply("netdev-max-backlog").unwrap();
    assert_eq!(seen(&mut looks), Some((2, vec![])));
    let lock = File::open(made.journal().join("lock")).unwrap();
    lock.lock().unwrap();
    made.write(BACKLOG, "1000");
    looks.patience = Duration::ZERO;
    let Some(Data::Unreadable(Unreadable { source, why })) = looks.look().map(|one| one.data)
    else {
        panic!("what is half done was read")
    };
    assert!(source == TuningNow::SOURCE && why.contains("another process is making changes"));
    lock.unlock().unwrap();
    looks.patience = PATIENCE;
    made.revert();
    let gone = |place: &str| (place.to_string(), Fate::Reverted);
    assert_eq!(seen(&mut looks), Some((0, vec![gone(BACKLOG), gone(SOMAXCONN)])));
}

#[test]
fn a_look_waits_for_the_end_of_a_revert() {
    let (made, mut looks) = made_up();
    made.apply("somaxconn").unwrap();
    made.apply("netdev-max-backlog").unwrap();
    assert_eq!(seen(&mut looks), Some((2, vec![])));
    let journal = Journal::open(&made.journal()).unwrap();
    let found = thread::scope(|scope| {
        let (begun, has_begun) = channel();
        let looker = scope.spawn(move || {
            has_begun.recv().unwrap();
            seen(&mut looks)
        });
        // Told of each place while the others are not put back yet.
        let mut tell = |_: &Row| begun.send(()).unwrap_or(());
        tune::revert(&made.host(), &journal, &tune::Which::All, &mut tell).unwrap();
        looker.join().unwrap()
    });
    let (places, drifted) = found.unwrap();
    assert_eq!((places, drifted.len()), (0, 2), "{drifted:?}");
    assert!(drifted.iter().all(|(_, fate)| *fate == Fate::Reverted), "{drifted:?}");
}

#[test]
fn what_is_changed_only_while_it_is_watched_has_drifted() {
    let (made, mut looks) = made_up();
    assert_eq!(seen(&mut looks), None, "nothing is changed");
    made.apply("netdev-max-backlog").unwrap();
    assert_eq!(seen(&mut looks), Some((1, vec![(BACKLOG.to_string(), Fate::Applied)])));
    made.revert();
    assert_eq!(seen(&mut looks), None, "as at the first look");
}

#[test]
fn a_foreign_value_has_drifted_and_the_others_stand() {
    let (made, mut looks) = made_up();
    made.apply("somaxconn").unwrap();
    made.apply("netdev-max-backlog").unwrap();
    assert_eq!(seen(&mut looks), Some((2, vec![])));
    made.write(BACKLOG, "77");
    assert_eq!(seen(&mut looks), Some((2, vec![(BACKLOG.to_string(), Fate::Drifted)])));
}

#[test]
fn a_journal_that_cannot_be_read_is_not_one_without_changes() {
    let unreadable = |looks: &mut Looks| match looks.look().map(|reading| reading.data) {
        Some(Data::Unreadable(Unreadable { source, why })) => {
            assert_eq!(source, TuningNow::SOURCE);
            why
        }
        other => panic!("{other:?}"),
    };
    let (made, mut looks) = made_up();
    made.apply("somaxconn").unwrap();
    std::fs::write(made.journal().join("9.jsonl"), "{}\n").unwrap();
    let why = unreadable(&mut looks);
    assert!(why.contains("9.jsonl"), "{why}");

    let (made, mut looks) = made_up();
    std::fs::write(made.journal(), "no folder").unwrap();
    let why = unreadable(&mut looks);
    assert!(why.contains(&made.journal().display().to_string()), "{why}");
}
