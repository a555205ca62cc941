//! Real processes of the simplest kind: shells that keep the contract of a target, or break it.

use super::*;
use crate::fake_host::MadeUp;
use crate::hooks::Measured;
use model::tuning::Fate as Turn;
use plan::GivenHosts;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

const LISTENING: &str = r#"printf '{"event":"listening","addr":"127.0.0.1:9"}\n'"#;
/// A target that keeps the contract. It must be able to end before it reports that it listens.
fn faithful() -> String {
    let on_end = r#"trap 'printf "{\"event\":\"stopped\",\"n\":7}\n"; exit 0' TERM"#;
    format!("{on_end}\n{LISTENING}\nwhile :; do sleep 0.01; done")
}

/// A list of one target `t` that runs a shell script, and a service `s`.
fn targets(target: &str, service: &str) -> Targets {
    let entry = |name: &str, kind: &str, script: &str| {
        format!(
            "[[{kind}]]\nname = \"{name}\"\nrun = [\"sh\", \"-c\", '''{script}''', \"{{dir}}\"]\n\
             ready = {{ event = \"listening\" }}\n"
        )
    };
    let text = entry("t", "target", target) + &entry("s", "service", service);
    Targets::parse(&text).unwrap()
}

fn plan(cells: &str, targets: &Targets) -> Plan {
    let head = "schema = \"ceiling.plan/1\"\nquestion = \"?\"\nserver = { target = \"t\" }\n";
    Plan::parse(&format!("{head}{cells}"), targets, &GivenHosts::default()).unwrap()
}

struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = format!("ceiling-experiment-{}-{count}", std::process::id());
        let path = env::temp_dir().join(folder);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn walk(&self, plan: &Plan, targets: &Targets, measure: &mut Measure<'_>) -> Vec<CellResult> {
        let hands = |_: &Host, _: &str| Err("no knob is turned".to_string());
        self.walk_on(&hands, plan, targets, measure)
    }

    fn walk_on(
        &self,
        hands: &HandsOf<'_>,
        plan: &Plan,
        targets: &Targets,
        measure: &mut Measure<'_>,
    ) -> Vec<CellResult> {
        let stop = AtomicBool::new(false);
        let hooks = Hooks { measure, tell: &mut |_| {}, look: &mut |_| None };
        walk_on(hands, plan, targets, &self.places(), &stop, &[], hooks).0
    }

    fn places(&self) -> Places {
        let (root, scratch, journal) = (self.0.clone(), self.0.clone(), self.0.join("journal"));
        Places { root, scratch, journal, probes: BTreeMap::new() }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn measured() -> Measured {
    Measured { command: vec!["ceiling".into()], fate: Fate::Measured { run: "id".into() } }
}

fn why(result: &CellResult) -> &str {
    match &result.fate {
        Fate::Failed { why } => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_server_lives_as_long_as_its_cell_and_tells_what_it_counted() {
    let targets = targets(&faithful(), "");
    let plan = plan("[[vary]]\nkey = \"load.depth\"\nvalues = [1, 2]\n", &targets);
    let mut pids = Vec::new();
    let scratch = Scratch::new();
    let results = scratch.walk(&plan, &targets, &mut |_, ready| {
        let pid = ready.pid.unwrap();
        assert!(PathBuf::from(format!("/proc/{pid}")).exists(), "it runs while it is measured");
        pids.push(pid);
        measured()
    });
    assert_eq!(results.len(), 2);
    for (result, pid) in results.iter().zip(&pids) {
        assert_eq!(result.fate, Fate::Measured { run: "id".into() });
        assert_eq!(result.stopped.as_ref().unwrap()["n"], 7);
        assert!(!PathBuf::from(format!("/proc/{pid}")).exists(), "it is gone");
    }
    assert_ne!(pids[0], pids[1]);
}

#[test]
fn a_server_may_run_on_for_a_block() {
    let targets = targets(&faithful(), "");
    let cells = "[[vary]]\nkey = \"load.depth\"\nvalues = [1, 2]\n\
                 [design]\nblocks = 2\nrestart = \"block\"\nwarmup_visits = 1\n";
    let plan = plan(cells, &targets);
    let mut pids = Vec::new();
    let results = Scratch::new().walk(&plan, &targets, &mut |_, ready| {
        pids.push(ready.pid.unwrap());
        measured()
    });
    let blocks: Vec<_> = results.iter().map(|result| result.block.unwrap()).collect();
    assert_eq!(blocks, [0, 1, 1, 2, 2]);
    assert!(pids[1] == pids[2] && pids[3] == pids[4], "one server for a block: {pids:?}");
    assert!(pids[0] != pids[1] && pids[2] != pids[3], "and another for the next: {pids:?}");
    assert!(results[1].stopped.is_none() || results[2].stopped.is_none());
    assert_eq!(results[4].stopped.as_ref().unwrap()["n"], 7);
    assert!(!PathBuf::from(format!("/proc/{}", pids[4])).exists(), "it is gone");
}

#[test]
fn a_kept_server_that_dies_fails_its_cell_alone() {
    let targets = targets(&faithful(), "");
    let cells = "[[vary]]\nkey = \"load.depth\"\nvalues = [1, 2]\n\
                 [design]\nblocks = 1\nrestart = \"block\"\norder = \"plan\"\n";
    let plan = plan(cells, &targets);
    let mut visits = 0;
    let results = Scratch::new().walk(&plan, &targets, &mut |_, ready| {
        if visits == 0 {
            kill(&ready.pid.unwrap().to_string());
        }
        visits += 1;
        measured()
    });
    assert!(why(&results[0]).contains("died"), "{}", why(&results[0]));
    assert_eq!(results[1].fate, Fate::Measured { run: "id".into() });
}

/// Kills a process, and waits for its end.
fn kill(pid: &str) {
    let _ = std::process::Command::new("kill").args(["-KILL", pid]).status();
    let stat = format!("/proc/{pid}/stat");
    while fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        std::thread::yield_now();
    }
}

/// What the server answers without its database is another load.
#[test]
fn a_service_that_dies_fails_its_cell_also_with_a_kept_server() {
    for design in ["", "[design]\nblocks = 1\nrestart = \"block\"\norder = \"plan\"\n"] {
        let scratch = Scratch::new();
        let number = scratch.0.join("number");
        let service = format!("echo $$ > \"{}\"\n{}", number.display(), faithful());
        let targets = targets(&faithful(), &service);
        let cell = |name: &str| format!("[[cell]]\nname = \"{name}\"\nserver.services = [\"s\"]\n");
        let plan = plan(&format!("{}{}{design}", cell("a"), cell("b")), &targets);
        let mut visits = 0;
        let results = scratch.walk(&plan, &targets, &mut |_, _| {
            visits += 1;
            kill(fs::read_to_string(&number).unwrap().trim());
            measured()
        });
        let why_first = why(&results[0]);
        assert!(why_first.starts_with("service s: died (signal: 9"), "{why_first}");
        assert_eq!(visits, 1, "the next cell needs it as well: {}", why(&results[1]));
    }
}

#[test]
fn a_server_that_dies_leaves_no_number() {
    let script = format!("{LISTENING}\nsleep 0.05\necho out of luck >&2\nexit 3");
    let targets = targets(&script, "");
    let plan = plan("", &targets);
    let results = Scratch::new().walk(&plan, &targets, &mut |_, ready| {
        let stat = format!("/proc/{}/stat", ready.pid.unwrap());
        while fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            std::thread::yield_now();
        }
        measured()
    });
    assert_eq!(why(&results[0]), "target t: died during the cell (exit status: 3): out of luck");
}

#[test]
fn a_server_that_never_listens_says_why() {
    for (script, said) in [
        ("echo no database >&2; exit 1", "ended before it listened (exit status: 1): no database"),
        ("echo hello; sleep 60", "its first line is not 'listening': hello"),
    ] {
        let targets = targets(script, "");
        let plan = plan("", &targets);
        let mut measure = |_: &Cell, _: &Ready| -> Measured { panic!("nothing to measure") };
        let results = Scratch::new().walk(&plan, &targets, &mut measure);
        assert_eq!(why(&results[0]), format!("target t: {said}"));
    }
}

#[test]
fn a_server_without_a_cpu_of_this_host_is_an_error() {
    let targets = targets(&faithful(), "");
    let plan = plan("[[cell]]\nname = \"far\"\nserver.cpus = \"1023\"\n", &targets);
    let results = Scratch::new().walk(&plan, &targets, &mut |_, _| measured());
    assert!(why(&results[0]).contains("none of the CPUs 1023"), "{}", why(&results[0]));
}

fn allowed_cpus(pid: u32) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.unwrap_or_default().trim().to_string()
}

/// CPUs of busy processes that this process started, through their keepers.
fn neighbours() -> Vec<String> {
    let below = host::tree::descendants(&host::Root::default(), std::process::id()).unwrap();
    let is_busy = |pid: &u32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains("do :; done")
    };
    below.into_iter().map(|(pid, _)| pid).filter(is_busy).map(allowed_cpus).collect()
}

#[test]
fn a_server_and_the_neighbours_of_the_generator_are_where_the_plan_says() {
    let targets = targets(&faithful(), "");
    let cell = "[[cell]]\nname = \"a\"\nserver.cpus = \"0\"\nclient.neighbours = \"0\"\n";
    let plan = plan(cell, &targets);
    let mut seen = Vec::new();
    Scratch::new().walk(&plan, &targets, &mut |_, ready| {
        seen.push((allowed_cpus(ready.pid.unwrap()), neighbours()));
        measured()
    });
    assert_eq!(seen, [("0".to_string(), vec!["0".to_string()])]);
    assert_eq!(neighbours(), [""; 0], "they ended with the cell");
    let all = allowed_cpus(std::process::id());
    assert_ne!(all, "0", "on a host with one CPU this shows nothing");
}

#[test]
fn a_service_is_shared_by_cells_and_its_address_is_filled_in() {
    let scratch = Scratch::new();
    let service = format!("echo begun >> \"{}/begun\"\n{}", scratch.0.display(), faithful());
    let targets = targets(&faithful(), &service);
    let plan = plan(
        "[[cell]]\nname = \"a\"\nserver = { target = \"t\", services = [\"s\"], args = \
         [\"--db={s}\"] }\n[[cell]]\nname = \"b\"\nserver = { target = \"t\", services = \
         [\"s\"] }\n",
        &targets,
    );
    let results = scratch.walk(&plan, &targets, &mut |_, _| measured());
    assert_eq!(results[0].server.last().unwrap(), "--db=127.0.0.1:9");
    let fates: Vec<_> = results.iter().map(|result| &result.fate).collect();
    assert_eq!(fates, [&measured().fate, &measured().fate]);
    assert_eq!(fs::read_to_string(scratch.0.join("begun")).unwrap(), "begun\n");
}

#[test]
fn a_service_that_is_missing_fails_its_cells_and_not_the_others() {
    let targets = targets(&faithful(), "echo install it >&2; exit 1");
    let plan = plan(
        "[[cell]]\nname = \"a\"\nserver.services = [\"s\"]\n[[cell]]\nname = \"b\"\n",
        &targets,
    );
    let results = Scratch::new().walk(&plan, &targets, &mut |_, _| measured());
    assert!(why(&results[0]).ends_with("ended before it listened (exit status: 1): install it"));
    assert_eq!(results[1].fate, Fate::Measured { run: "id".into() });
}

#[test]
fn cells_that_were_not_measured_are_reported() {
    let targets = targets(&faithful(), "");
    let plan = plan("[[vary]]\nkey = \"load.depth\"\nvalues = [1, 2, 3]\n", &targets);
    let scratch = Scratch::new();
    let places = scratch.places();
    let stop = AtomicBool::new(false);
    let mut measure = |_: &Cell, _: &Ready| {
        stop.store(true, Ordering::Relaxed);
        measured()
    };
    let hooks = Hooks { measure: &mut measure, tell: &mut |_| {}, look: &mut |_| None };
    let (results, _) = walk(&plan, &targets, &places, &stop, &[], hooks);
    let fates: Vec<_> = results.into_iter().map(|result| result.fate).collect();
    let first = Fate::Measured { run: "id".into() };
    assert_eq!(fates, [first, Fate::NotReached, Fate::NotReached]);
}

const SOMAXCONN: &str = "/proc/sys/net/core/somaxconn";
const TUNED: &str = "[[cell]]\nname = \"tuned\"\ntune = { only = [\"somaxconn\"] }\n";
const PLAIN: &str = "[[cell]]\nname = \"plain\"\n";

/// Goes through a tuned cell and one after it on a made-up host; returns what became of them.
fn walk_tuned(made: &MadeUp, during: &mut dyn FnMut(&Cell)) -> Vec<CellResult> {
    let targets = targets(&faithful(), "");
    let plan = plan(&format!("{TUNED}{PLAIN}"), &targets);
    let hands = |_: &Host, note: &str| Ok(Hands::Here(made.ground(), note.to_string()));
    Scratch::new().walk_on(&hands, &plan, &targets, &mut |cell, _| {
        during(cell);
        measured()
    })
}

fn turns(result: &CellResult) -> Vec<Turn> {
    result.tuned.iter().map(|tuned| tuned.row.fate).collect()
}

#[test]
fn a_knob_is_turned_for_its_cell_and_put_back_after_it() {
    let made = MadeUp::new();
    made.write(SOMAXCONN, "4096");
    let mut seen = Vec::new();
    let results = walk_tuned(&made, &mut |_| seen.push(made.read(SOMAXCONN)));
    assert_eq!(seen, ["16384", "4096"]);
    assert_eq!(turns(&results[0]), [Turn::Reverted]);
    assert!(results.iter().all(|result| result.fate == measured().fate), "{results:?}");
}

#[test]
fn what_is_put_back_while_it_is_measured_fails_its_cell_and_no_other() {
    let made = MadeUp::new();
    made.write(SOMAXCONN, "4096");
    let results = walk_tuned(&made, &mut |cell| {
        if cell.name == "tuned" {
            made.revert();
        }
    });
    let why = why(&results[0]);
    assert!(why.contains("tuning drifted") && why.contains("put back meanwhile"), "{why}");
    assert_eq!(turns(&results[0]), [Turn::Reverted], "as it is now, not as it was");
    assert_eq!(results[1].fate, measured().fate, "the host is as it was");
}

/// A cell that turns knobs of both hosts, and one that turns none; the server's host is made up.
fn on_two_hosts(
    hosts: &[(&str, &MadeUp)],
    tune: &str,
    during: &mut dyn FnMut(&Cell),
) -> Vec<CellResult> {
    let targets = targets(&faithful(), "");
    let text = format!(
        "schema = \"ceiling.plan/1\"\nquestion = \"?\"\nserver = {{ addr = \"192.0.2.7:80\", \
         host = \"server\" }}\n[[cell]]\nname = \"tuned\"\ntune = {tune}\n{PLAIN}\
         [hosts.server]\n"
    );
    let mut given = GivenHosts::default();
    let probe = ("hosts.server.probe".to_string(), "192.0.2.7:9200".to_string());
    given.add_values(&[probe]).unwrap();
    let plan = Plan::parse(&text, &targets, &given).unwrap();
    let hands = |host: &Host, note: &str| {
        let (_, made) = hosts.iter().find(|(name, _)| *name == host.name).unwrap();
        Ok(Hands::Here(made.ground(), note.to_string()))
    };
    Scratch::new().walk_on(&hands, &plan, &targets, &mut |cell, _| {
        during(cell);
        measured()
    })
}

#[test]
fn knobs_of_both_hosts_are_turned_where_they_are_and_put_back() {
    let (client, server) = (MadeUp::new(), MadeUp::new());
    let backlog = "/proc/sys/net/core/netdev_max_backlog";
    for made in [&client, &server] {
        made.write(backlog, "1000");
    }
    let value = |number: u32| format!("values = {{ netdev-max-backlog = {number} }}");
    let tune = format!("[{{ {} }}, {{ host = \"client\", {} }}]", value(7000), value(9000));
    let mut seen = Vec::new();
    let hosts = [("client", &client), ("server", &server)];
    let results = on_two_hosts(&hosts, &tune, &mut |_| {
        seen.push((client.read(backlog), server.read(backlog)));
    });
    let pair = |left: &str, right: &str| (left.to_string(), right.to_string());
    assert_eq!(seen, [pair("9000", "7000"), pair("1000", "1000")]);
    let of: Vec<_> = results[0].tuned.iter().map(|one| (&one.host[..], one.row.fate)).collect();
    assert_eq!(of, [("server", Turn::Reverted), ("client", Turn::Reverted)]);
    assert_eq!(results[0].host.as_deref(), Some("server"));
    assert!(results.iter().all(|result| result.fate == measured().fate), "{results:?}");
}

#[test]
fn a_knob_that_fails_on_one_host_is_put_back_on_the_other() {
    let (client, server) = (MadeUp::new(), MadeUp::new());
    let backlog = "/proc/sys/net/core/netdev_max_backlog";
    server.write(backlog, "1000");
    // On this host there is no such file.
    let values = "values = { netdev-max-backlog = 7000 }";
    let tune = format!("[{{ {values} }}, {{ host = \"client\", {values} }}]");
    let mut names = Vec::new();
    let hosts = [("client", &client), ("server", &server)];
    let results = on_two_hosts(&hosts, &tune, &mut |cell| names.push(cell.name.clone()));
    assert!(why(&results[0]).contains("nothing would change"), "{}", why(&results[0]));
    assert_eq!((names, server.read(backlog)), (vec!["plain".to_string()], "1000".to_string()));
    let drifted = on_two_hosts(&hosts, &format!("{{ {values} }}"), &mut |cell| {
        if cell.name == "tuned" {
            server.revert();
        }
    });
    let why = why(&drifted[0]);
    assert!(why.starts_with("host server: tuning drifted"), "{why}");
    assert_eq!(drifted[1].fate, measured().fate, "the host is as it was");
}

/// A file that keeps only a part of each write, so that neither the change nor the revert works:
/// bits of a mask in another notation than they are read in.
#[test]
fn what_a_failed_change_leaves_behind_ends_the_experiment() {
    let filter = "/proc/self/coredump_filter";
    let before = fs::read_to_string(filter).unwrap();
    let made = MadeUp::new();
    std::os::unix::fs::symlink(filter, made.path(SOMAXCONN)).unwrap();
    let results = walk_tuned(&made, &mut |cell| panic!("'{}' was measured", cell.name));
    fs::write(filter, format!("0x{}", before.trim())).unwrap();
    let first = why(&results[0]);
    assert!(first.contains("tuning failed: ") && first.contains("reads back as"), "{first}");
    assert!(first.contains("the host is not as it was before"), "{first}");
    assert_eq!(turns(&results[0]), [Turn::Drifted], "{:?}", results[0].tuned);
    assert!(why(&results[1]).starts_with("not measured: the host is not"), "{}", why(&results[1]));
}

/// Everything that was begun is put back, so only the cell failed.
#[test]
fn a_failed_change_that_was_put_back_fails_its_cell_only() {
    let made = MadeUp::new();
    // It takes no number of this size.
    std::os::unix::fs::symlink("/proc/self/oom_score_adj", made.path(SOMAXCONN)).unwrap();
    let mut names = Vec::new();
    let results = walk_tuned(&made, &mut |cell| names.push(cell.name.clone()));
    assert!(why(&results[0]).contains("everything is as it was before"), "{}", why(&results[0]));
    assert_eq!(names, ["plain"]);
    assert_eq!(results[1].fate, measured().fate);
}

/// Names and blocks of visits, in their order, and how many were measured.
fn visited(results: &[CellResult]) -> Vec<(String, Option<u32>)> {
    results.iter().map(|result| (result.name.clone(), result.block)).collect()
}

const DESIGN: &str = "[design]\nblocks = 4\norder = \"abba\"\n[[cell]]\nname = \"a\"\n\
                      [[cell]]\nname = \"b\"\n";

#[test]
fn blocks_visit_each_cell_and_end_when_a_look_says_so() {
    let (scratch, targets) = (Scratch::new(), targets(&faithful(), ""));
    let plan = plan(DESIGN, &targets);
    let places = scratch.places();
    let mut looks = Vec::new();
    let mut look = |so_far: &[CellResult]| {
        looks.push(so_far.len());
        (so_far.len() >= 6).then_some(Ended::Decided)
    };
    let hooks = Hooks { measure: &mut |_, _| measured(), tell: &mut |_| {}, look: &mut look };
    let stop = AtomicBool::new(false);
    let (results, ended) = walk(&plan, &targets, &places, &stop, &[], hooks);
    assert_eq!((ended, looks), (Some(Ended::Decided), vec![2, 4, 6]));
    let expected = [("a", 1), ("b", 1), ("b", 2), ("a", 2), ("a", 3), ("b", 3)];
    let expected = expected.map(|(name, block)| (name.to_string(), Some(block)));
    assert_eq!(visited(&results), expected);
}

/// A budget that was spent before is spent at each block, also where more was measured behind it.
#[test]
fn what_goes_on_keeps_the_blocks_that_were_measured() {
    let (scratch, targets) = (Scratch::new(), targets(&faithful(), ""));
    let (plan, places, stop) = (plan(DESIGN, &targets), scratch.places(), AtomicBool::new(false));
    let go_on = |before: &[CellResult], ended: Option<Ended>| {
        let mut look = |_: &[CellResult]| ended;
        let hooks = Hooks { measure: &mut |_, _| measured(), tell: &mut |_| {}, look: &mut look };
        walk(&plan, &targets, &places, &stop, before, hooks)
    };
    let (all, _) = go_on(&[], None);
    assert_eq!(go_on(&all, Some(Ended::Budget)), (all.clone(), None));
    // The last block was not reached.
    let mut most = all.clone();
    most[6..].iter_mut().for_each(|one| one.fate = Fate::NotReached);
    assert_eq!(go_on(&most, Some(Ended::Budget)), (all[..6].to_vec(), Some(Ended::Budget)));
}

#[test]
fn what_was_measured_before_is_not_measured_again() {
    let (scratch, targets) = (Scratch::new(), targets(&faithful(), ""));
    let plan = plan(DESIGN, &targets);
    let places = scratch.places();
    let stop = AtomicBool::new(false);
    let mut count = 0;
    let mut first = |_: &Cell, _: &Ready| {
        count += 1;
        if count == 3 {
            stop.store(true, Ordering::Relaxed);
            let why = "interrupted".to_string();
            return Measured { command: vec![], fate: Fate::Failed { why } };
        }
        Measured { command: vec![], fate: Fate::Measured { run: format!("first {count}") } }
    };
    let hooks = Hooks { measure: &mut first, tell: &mut |_| {}, look: &mut |_| None };
    let (before, _) = walk(&plan, &targets, &places, &stop, &[], hooks);
    assert_eq!(before.iter().filter(|one| one.fate == Fate::NotReached).count(), 5);
    stop.store(false, Ordering::Relaxed);
    let mut again = 0;
    let mut rest = |_: &Cell, _: &Ready| {
        again += 1;
        measured()
    };
    let hooks = Hooks { measure: &mut rest, tell: &mut |_| {}, look: &mut |_| None };
    let (results, _) = walk(&plan, &targets, &places, &stop, &before, hooks);
    assert_eq!(again, 6, "the one that was interrupted is measured again");
    assert_eq!(visited(&results), visited(&before));
    assert_eq!(results[1].fate, Fate::Measured { run: "first 2".to_string() });
}

/// The other visit of its block may be of another day, and a pair must not be.
#[test]
fn a_block_with_a_gap_is_measured_again_as_a_whole() {
    let (scratch, targets) = (Scratch::new(), targets(&faithful(), ""));
    let (plan, places, stop) = (plan(DESIGN, &targets), scratch.places(), AtomicBool::new(false));
    let go_on = |before: &[CellResult], run: &str, ended: Option<Ended>| {
        let fate = Fate::Measured { run: run.to_string() };
        let mut look = |_: &[CellResult]| ended;
        let mut measure = |_: &Cell, _: &Ready| Measured { command: vec![], fate: fate.clone() };
        let hooks = Hooks { measure: &mut measure, tell: &mut |_| {}, look: &mut look };
        walk(&plan, &targets, &places, &stop, before, hooks)
    };
    let runs = |results: &[CellResult]| -> Vec<String> {
        let run = |one: &CellResult| match &one.fate {
            Fate::Measured { run } => run.clone(),
            other => format!("{other:?}"),
        };
        results.iter().map(run).collect()
    };
    let (all, _) = go_on(&[], "old", None);
    let mut before = all.clone();
    before[3].fate = Fate::Failed { why: "interrupted".to_string() };
    let (results, _) = go_on(&before, "new", None);
    assert_eq!(runs(&results), ["old", "old", "new", "new", "old", "old", "old", "old"]);
    // The last block has a gap: nothing behind this look was kept, so it may end.
    let mut before = all.clone();
    before[7].fate = Fate::NotReached;
    let (results, ended) = go_on(&before, "new", Some(Ended::Budget));
    assert_eq!((runs(&results), ended), (vec!["old".to_string(); 6], Some(Ended::Budget)));
    // Without a design there are no blocks, and each visit is kept by itself.
    let visit = |at: usize, fate: Fate| CellResult { block: None, fate, ..all[at].clone() };
    let before = [visit(0, Fate::NotReached), visit(1, measured().fate)];
    let mut results = [visit(0, Fate::NotReached), visit(1, Fate::NotReached)];
    take_over(&mut results, &before);
    assert_eq!(results, before);
}
