//! Processes that are started after their parent was changed.

use super::{Ground, fates};
use crate::apply::{ApplyOptions, apply};
use crate::clock;
use crate::error::TuneError;
use crate::held::{Held, Turn};
use crate::host::Host;
use crate::place::{Place, masks};
use crate::plan::plan;
use crate::revert::{Which, revert};
use crate::status::{drift, status};
use crate::testing;
use crate::{Profile, Wish};
use model::tuning::Fate;
use std::fs;

/// A process with a parent, a start in hundredths of a second, a mask and a limit.
fn process(ground: &Ground, pid: u32, parent: u32, started: u64, has: (&str, &str)) {
    let zeros = " 0".repeat(17);
    let stat = format!("{pid} (server) S {parent}{zeros} {started} 0 0");
    ground.made.write(&format!("/proc/{pid}/stat"), &stat);
    let list = format!("Cpus_allowed_list:\t{}", has.0);
    ground.made.write(&format!("/proc/{pid}/task/{pid}/status"), &list);
    let limits = format!("Max open files {} files", has.1);
    ground.made.write(&format!("/proc/{pid}/limits"), &limits);
}

fn mask(ground: &Ground, pid: u32) -> String {
    let text = ground.text(&format!("/proc/{pid}/task/{pid}/status"));
    text.split_once('\t').unwrap().1.to_string()
}

fn files(ground: &Ground, pid: u32) -> String {
    let text = ground.text(&format!("/proc/{pid}/limits"));
    let words: Vec<&str> =
        text.split_whitespace().filter(|word| word.parse::<u64>().is_ok()).collect();
    words.join(" ")
}

const FEW: &str = "1024 4096";
const MANY: &str = "1048576 1048576";

/// An experiment takes CPUs from all threads of a server, those started meanwhile included.
#[test]
fn cpus_that_an_experiment_took_from_a_server_are_not_changed_meanwhile() {
    // Above all numbers of real processes, such as ours.
    let [server, child, other] = [9_000_050, 9_000_052, 9_000_060];
    let ground = Ground::new();
    process(&ground, std::process::id(), 1, 9, ("0-3", FEW));
    process(&ground, server, 1, 10, ("0-3", FEW));
    let host = ground.host();
    let before = masks::lists(&host, server).unwrap();
    let to = "0-1".to_string();
    let place = Place::Masks { pid: server, started_ticks: 10, to: to.clone(), before };
    let turn = Turn::of_experiment("server-cpus", place, to);
    let held = Held::begin(host, ground.journal(), turn).unwrap();
    held.turn().unwrap();
    process(&ground, child, server, 11, ("0-1", FEW));
    process(&ground, other, 1, 12, ("0-3", FEW));
    let host = Host { servers: vec![server, child, other], ..ground.host() };
    let split = testing::split(Profile::Throughput, "0-1", "2-3");
    let planned = plan(&host, &Wish { only: vec!["T12".to_string()], ..split }, None);
    let done = apply(&host, &ground.journal(), &planned, &ApplyOptions::default(), &mut |_| {});
    let Err(TuneError::Refused { rows }) = done else { panic!("{done:?}") };
    assert_eq!(fates(&rows), [Fate::Refused, Fate::Refused, Fate::Proposed], "{rows:#?}");
    held.revert().unwrap();
    assert_eq!([server, child, other].map(|pid| mask(&ground, pid)), ["0-3"; 3]);
}

#[test]
fn inherited_values_are_reported_and_put_back() {
    let ground = Ground::new();
    process(&ground, 50, 1, 10, ("0-3", FEW));
    // Forked before, and no process of the server: its values are none of ours.
    process(&ground, 51, 50, 11, ("0-1", MANY));
    let host = Host { servers: vec![50], ..ground.host() };
    let wish = Wish {
        only: vec!["T12".to_string(), "T39".to_string()],
        ..testing::split(Profile::Throughput, "2-3", "0-1")
    };
    let planned = plan(&host, &wish, None);
    apply(&host, &ground.journal(), &planned, &ApplyOptions::default(), &mut |_| {}).unwrap();
    assert_eq!((mask(&ground, 50).as_str(), files(&ground, 50).as_str()), ("0-1", MANY));

    let later = clock::boot_ms() / 10 + 1;
    process(&ground, 52, 50, later, ("0-1", MANY));
    process(&ground, 53, 52, later, ("0-1", MANY));
    process(&ground, 54, 50, later, ("1", FEW));
    process(&ground, 60, 1, later, ("0-1", MANY));
    let told = status(&host, &ground.journal()).unwrap();
    assert_eq!(fates(&told), [Fate::Applied; 2]);
    assert!(told[0].note.contains("52, 53") && told[0].note.contains("54 has 1"), "{told:#?}");
    assert_eq!(drift(&host, &ground.journal()).unwrap(), []);

    // One that cannot be read may have our value: its change stays open.
    let path = |file: &str| host.root.path(format!("/proc/53/{file}"));
    fs::rename(path("limits"), path("aside")).unwrap();
    fs::create_dir(path("limits")).unwrap();
    let told = status(&host, &ground.journal()).unwrap();
    assert!(told.iter().any(|row| row.note.contains("process 53, started since")), "{told:#?}");
    let rows = revert(&host, &ground.journal(), &Which::All, &mut |_| {}).unwrap();
    assert_eq!(fates(&rows), [Fate::Failed, Fate::Reverted], "{rows:#?}");
    fs::remove_dir(path("limits")).unwrap();
    fs::rename(path("aside"), path("limits")).unwrap();
    let again = revert(&host, &ground.journal(), &Which::All, &mut |_| {}).unwrap();
    assert_eq!(fates(&again), [Fate::Reverted]);
    assert!(again[0].note.contains("put back, too: "), "{}", again[0].note);
    assert!(rows[1].note.contains("put back, too: 52, 53"), "{}", rows[1].note);
    assert!(rows[1].note.contains("other values: 54 has 1"), "{}", rows[1].note);
    for (pid, list, limit) in [
        (50, "0-3", FEW),
        (51, "0-1", MANY),
        (52, "0-3", FEW),
        (53, "0-3", FEW),
        (54, "1", FEW),
        (60, "0-1", MANY),
    ] {
        assert_eq!((mask(&ground, pid).as_str(), files(&ground, pid).as_str()), (list, limit));
    }
}
