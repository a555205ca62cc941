//! Two machines, each with its own kernel, clocks, control groups and network device of four
//! queues: the second machine of `scripts/vm/run` runs what this one sends to its shell.

#![allow(unsafe_code, reason = "a clock that std does not read")]

use crate::harness::loading::{FAR_READINGS, Loading};
use crate::harness::{
    Finished, Folder, PATIENCE, ceiling, count, must_be_root, program, turn, wait_until,
};
use crate::tune::{LATE, SOON};
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process;

/// Runs a script on the other machine; returns its output.
fn there(script: &str) -> String {
    let address = std::env::var("CEILING_TEST_FAR");
    let address = address.expect("CEILING_TEST_FAR is ADDRESS:PORT of a shell: scripts/vm/all");
    let mut stream = TcpStream::connect(&address).expect("the other machine serves its shell");
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "(set -e\n{script}\n) 2>&1\necho \"exit $?\"\n").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    let (said, code) = said.trim_end().rsplit_once("exit ").expect("an exit code");
    assert_eq!(code, "0", "{script}: {said}");
    said.trim_end().to_string()
}

/// A server and a probe on the other machine, killed at the end of the test.
struct Ground {
    url: String,
    server: u32,
    flags: Vec<String>,
    folder: Folder,
}

impl Ground {
    fn new(name: &str) -> Self {
        must_be_root();
        let folder = Folder::new(name);
        let (ceiling, sink) = (env!("CARGO_BIN_EXE_ceiling"), program("target-sink"));
        let said = there(&format!(
            "rm -rf /tmp/far && mkdir /tmp/far && cd /tmp/far
             export CEILING_TUNE_JOURNAL=/tmp/far/journal
             setsid {ceiling} probe serve --listen 10.98.0.1:9200 --token-file token --allow-tune \
               >ready 2>told </dev/null &
             echo $! >pids
             setsid {} --addr 10.98.0.1 --port 0 >listening 2>told-by-sink </dev/null &
             echo $! >>pids
             until grep -q 'ready on' ready && grep -q listening listening; do sleep 0.1; done
             cat listening token; grep -o -e '--probe-pin [0-9a-f]*' ready",
            sink.display()
        ));
        let [listening, token, pin] = said.lines().collect::<Vec<_>>()[..] else {
            panic!("{said}")
        };
        let listening: Value = serde_json::from_str(listening).unwrap();
        fs::write(folder.file("token"), token).unwrap();
        let flags = ["--probe", "10.98.0.1:9200", "--probe-token-file", &folder.file("token")];
        let flags = flags.into_iter().chain(pin.split(' ')).map(str::to_string).collect();
        let url = format!("http://{}/simple", listening["addr"].as_str().unwrap());
        Self { url, server: count(&listening, "/pid") as u32, flags, folder }
    }

    /// A load from here, which the probe there watches.
    fn load(&self, more: &[&str]) -> Value {
        let load = ["load", &self.url, "-c", "8", "-t", "2", "-q", "--json"];
        let load = ceiling(&[&load, more].concat()).args(&self.flags).output().unwrap();
        let record = checked(&Finished::of(load));
        assert_eq!(record["outcome"], "complete", "{record:#}");
        record
    }

    /// A load from here, until `is_so` holds for a reading of the probe there.
    fn watched(&self, what: &str, is_so: impl FnMut(&Value) -> bool) -> Value {
        // A small load, so that an emulated machine has time for the probe's readings.
        let mut load = ceiling(&["load", &self.url, "-c", "2", "-t", "1"]);
        load.args(&self.flags);
        let loading = Loading::start(load, &self.folder.file("runs"), process::id());
        loading.wait_for(what, FAR_READINGS, is_so);
        checked(&loading.end())
    }

    /// A load from here, until a figure there grows: `figure` finds it in readings of one kind.
    fn grows(&self, kind: &str, figure: impl Fn(&Value) -> u64) {
        let mut first = None;
        self.watched(kind, |reading| {
            if reading["data"]["source"] != kind {
                return false;
            }
            let now = figure(&reading["data"]["values"]);
            now > *first.get_or_insert(now)
        });
    }

    fn tune(&self, arguments: &[&str]) -> Finished {
        let mut command = ceiling(&["tune"]);
        Finished::of(command.args(arguments).args(&self.flags).output().unwrap())
    }

    fn good(&self, arguments: &[&str]) -> Finished {
        let said = self.tune(arguments);
        assert_eq!(said.code, 0, "{arguments:?}\n{}{}", said.stdout, said.stderr);
        said
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        there("kill -9 $(cat /tmp/far/pids) || true");
    }
}

/// Checks that all requests of a load are accounted for and that the probe watched it to its end;
/// returns the record.
fn checked(said: &Finished) -> Value {
    let record = said.record();
    assert_eq!(record["target"]["probe"]["lost"], Value::Null, "{record:#}");
    let requests = &record["points"][0]["requests"];
    let of = |name: &str| count(requests, name);
    assert_eq!(of("/sent"), of("/completed") + of("/failed") + of("/unanswered"), "{requests}");
    assert!(of("/completed") > 0, "{requests}");
    record
}

/// All settings that steer packets of the other machine's device.
fn steering() -> String {
    there(
        "for file in /proc/irq/*/smp_affinity_list /sys/class/net/eth0/queues/*/[rx]ps_* \
         /proc/sys/net/core/rps_sock_flow_entries; do echo $file $(cat $file); done",
    )
}

/// Nanoseconds since this machine was booted.
fn monotonic_ns() -> i128 {
    let time = clock_gettime(ClockId::Monotonic);
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

/// Nanoseconds since the other machine was booted, rounded down to [`UPTIME_STEP_NS`].
fn uptime_there_ns() -> i128 {
    let uptime: f64 = there("cut -d ' ' -f 1 /proc/uptime").parse().unwrap();
    (uptime * 1e9) as i128
}

/// The kernel shows hundredths of a second.
const UPTIME_STEP_NS: i128 = 10_000_000;

/// Sets the wall clock there, and restores it at the end.
struct Calendar;

impl Calendar {
    fn ahead(seconds: i64) -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        there(&format!("date -s @{}", now.as_secs() as i64 + seconds));
        Self
    }
}

impl Drop for Calendar {
    fn drop(&mut self) {
        std::mem::forget(Self::ahead(0));
    }
}

/// The offset of the clock there against the clock here, and its error, in nanoseconds, from a
/// record.
fn clock(record: &Value) -> (i128, i128) {
    let clock = &record["target"]["probe"]["clock"];
    assert!(count(clock, "/round_trips") > 0, "{clock}");
    (clock["offset_ns"].as_i64().unwrap().into(), count(clock, "/error_ns").into())
}

#[test]
fn clocks_differ_by_what_is_said_whatever_their_calendars_show() {
    let _turn = turn();
    for ahead_s in [3600, -86_400] {
        let _calendar = Calendar::ahead(ahead_s);
        let ground = Ground::new("two-clock");
        let record = ground.load(&["-n", "200"]);
        let before_ns = monotonic_ns();
        let there_ns = uptime_there_ns();
        let after_ns = monotonic_ns();
        let (offset_ns, error_ns) = clock(&record);
        let bounds_ns = (there_ns - after_ns, there_ns + UPTIME_STEP_NS - before_ns);
        let is_said = || format!("{offset_ns} +- {error_ns}, and {bounds_ns:?}");
        assert!(offset_ns + error_ns >= bounds_ns.0, "{}", is_said());
        assert!(offset_ns - error_ns <= bounds_ns.1, "{}", is_said());
        assert!(offset_ns > error_ns, "it was booted earlier: {}", is_said());
    }
}

#[test]
fn a_calendar_that_is_set_in_mid_run_changes_nothing() {
    let _turn = turn();
    let ground = Ground::new("two-jump");
    let begin_ns = monotonic_ns();
    let (mut set, mut seen) = (None, Vec::new());
    // The wall clock is set after the first readings, and readings continue.
    let record = ground.watched("readings after the calendar was set", |reading| {
        let (_, set_ns) = *set.get_or_insert_with(|| (Calendar::ahead(-7200), uptime_there_ns()));
        seen.push(reading.clone());
        i128::from(count(reading, "/begin_ns")) > set_ns + UPTIME_STEP_NS
    });
    drop(set);
    let (offset_ns, error_ns) = clock(&record);
    let here = |reading: &Value| i128::from(count(reading, "/begin_ns")) - offset_ns;
    for reading in &seen {
        assert!(here(reading) + error_ns >= begin_ns, "{offset_ns}: {reading}");
        assert!(here(reading) - error_ns <= monotonic_ns(), "{offset_ns}: {reading}");
    }
}

/// Interrupts of each queue of the device there, by CPU.
fn interrupts() -> Vec<[u64; 4]> {
    let text = there("grep -E 'virtio[0-9]+-(in|out)put' /proc/interrupts");
    let of_queue = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        [(); 4].map(|()| words.next().unwrap().parse().unwrap())
    };
    text.lines().map(of_queue).collect()
}

/// How many came between two counts, by CPU.
fn since(before: [u64; 4], now: [u64; 4]) -> [u64; 4] {
    std::array::from_fn(|cpu| now[cpu] - before[cpu])
}

#[test]
fn interrupts_there_come_to_the_cpu_that_was_meant() {
    let _turn = turn();
    let ground = Ground::new("two-irq");
    // Where they are now depends on earlier programs, such as irqbalance.
    there(
        "grep -E 'virtio[0-9]+-(in|out)put' /proc/interrupts | while IFS=': ' read irq rest; do
         echo 0 >/proc/irq/$irq/smp_affinity_list; done",
    );
    let before = steering();
    for cpu in [3, 1] {
        let cpus = format!("{cpu}/0-3");
        let apply = ["apply", "--device", "eth0", "--only", "irq-affinity", "--cpus", &cpus];
        let applied = ground.good(&[&apply[..], &["--json"]].concat()).record();
        let rows = applied["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 8, "four queues, two ways: {applied:#}");
        assert!(rows.iter().all(|row| row["fate"] == "applied"), "{applied:#}");
        let applied = interrupts();
        ground.load(&["-n", "400"]);
        let first = interrupts();
        ground.load(&["-n", "400"]);
        let mut all = 0;
        for (queue, now) in interrupts().into_iter().enumerate() {
            // An interrupt moves when it is next handled.
            let has_moved = since(applied[queue], first[queue]) != [0; 4];
            let came = since(first[queue], now);
            let elsewhere = came.iter().sum::<u64>() - came[cpu];
            let told = || format!("queue {queue}, all to {cpu}: {came:?}");
            assert!(elsewhere <= u64::from(!has_moved), "{}", told());
            all += came[cpu];
        }
        assert!(all > 0, "none to {cpu}");
        ground.good(&["status"]);
        ground.good(&["revert"]);
        assert_eq!(steering(), before);
    }
}

#[test]
fn packets_there_are_steered_and_put_back() {
    let _turn = turn();
    let ground = Ground::new("two-rps");
    let before = steering();
    // The tenth column: packets that another CPU passed to this one.
    let steered = || -> u64 {
        let text = there("cut -d ' ' -f 10 /proc/net/softnet_stat");
        text.lines().map(|word| u64::from_str_radix(word, 16).unwrap()).sum()
    };
    ground.load(&["-n", "400"]);
    assert_eq!(steered(), 0, "nothing steers yet");
    let wish = ["--device", "eth0", "--profile", "seeds", "--only", "rps,rfs"];
    let applied = ground.good(&[&["apply", "--json"], &wish[..]].concat()).record();
    let rows = applied["rows"].as_array().unwrap();
    assert!(rows.len() >= 4 && rows.iter().all(|row| row["fate"] == "applied"), "{applied:#}");
    ground.load(&["-n", "400"]);
    assert!(steered() > 0, "{applied:#}");
    ground.good(&["status"]);
    ground.good(&["revert"]);
    assert_eq!(steering(), before);
}

/// The driver takes the device down and up for it, on the link that carries the order.
#[test]
fn queues_there_are_added_kept_and_put_back() {
    let _turn = turn();
    let ground = Ground::new("two-queues");
    let queues = || there("ethtool -l eth0 | sed -n 's/^Combined:[^0-9]*//p' | tail -n 1");
    there("ethtool -L eth0 combined 2");
    let apply = ["apply", "--device", "eth0", "--only", "queues", "--allow-disruptive"];
    for deadline in [SOON, LATE] {
        assert_eq!(queues(), "2");
        let applied = ground.good(&[&apply[..], &["--deadline", deadline, "--json"]].concat());
        assert_eq!(applied.record()["rows"][0]["fate"], "applied", "{}", applied.stdout);
        if deadline == SOON {
            wait_until("the watchdog to put two queues back", || queues() == "2");
            continue;
        }
        assert_eq!(queues(), "4");
        ground.good(&["keep"]);
        ground.load(&["-n", "400"]);
        ground.good(&["revert"]);
        assert_eq!(queues(), "2");
    }
    there("ethtool -L eth0 combined 4");
    assert!(ground.good(&["status"]).stdout.contains("Nothing is changed"));
}

#[test]
fn a_paused_irqbalance_there_leaves_interrupts_where_they_were_put() {
    let _turn = turn();
    let ground = Ground::new("two-irqbalance");
    let before = steering();
    there(
        "setsid irqbalance --foreground --interval=1 >/dev/null 2>&1 </dev/null &
         echo $! >>/tmp/far/pids; echo $! >/tmp/far/irqbalance",
    );
    let state = || there("sed 's/.*) \\(.\\).*/\\1/' /proc/$(cat /tmp/far/irqbalance)/stat");
    wait_until("the daemon to have its name", || {
        there("cat /proc/$(cat /tmp/far/irqbalance)/comm") == "irqbalance"
    });
    let wish = ["--only", "irqbalance,irq-affinity", "--device", "eth0", "--cpus", "2/0-3"];
    ground.good(&[&["apply"], &wish[..]].concat());
    assert_eq!(state(), "T", "paused");
    ground.load(&["-n", "400"]);
    let status = ground.good(&["status", "--json"]).record();
    let is_as_meant = |row: &Value| row["fate"] == "applied";
    let rows = status["rows"].as_array().unwrap();
    assert!(rows.len() > 4 && rows.iter().all(is_as_meant), "{status:#}");
    ground.good(&["revert"]);
    wait_until("the daemon to go on", || state() != "T");
    there("kill -9 $(cat /tmp/far/irqbalance)");
    // The daemon may have moved them before it was paused; those moves are not ours to put back.
    let places = |text: &str| text.lines().count();
    assert_eq!(places(&steering()), places(&before));
}

#[test]
fn a_quota_of_version_two_there_is_seen_throttling() {
    let _turn = turn();
    let ground = Ground::new("two-quota");
    there(&format!(
        "mkdir /sys/fs/cgroup/limited && cd /sys/fs/cgroup/limited
         echo '5000 100000' >cpu.max; echo {} >cgroup.procs",
        ground.server
    ));
    ground.grows("server_quota", |values| count(&values[0], "/throttled_periods"));
    let record = ground.load(&["-n", "40", "-T", "60s"]);
    drop(ground);
    there("while ! rmdir /sys/fs/cgroup/limited; do sleep 0.1; done 2>/dev/null");
    let quota = &record["target"]["probe"]["server"]["quotas"][0];
    assert_eq!((&quota["quota_us"], &quota["version"]), (&5000.into(), &2.into()), "{quota:#}");
}

#[test]
fn pressure_there_is_read() {
    let _turn = turn();
    let ground = Ground::new("two-pressure");
    // One CPU only: the probe must have others to run on.
    there(
        "for n in 1 2; do
         taskset -c 3 yes >/dev/null 2>&1 </dev/null & echo $! >>/tmp/far/pids; done",
    );
    // Two busy processes on one CPU.
    ground.grows("pressure", |values| count(values, "/cpu.some"));
}

/// A netem discipline on the device there; the original discipline is restored at the end.
struct Netem;

impl Netem {
    fn new(what: &str) -> Self {
        there(&format!("tc qdisc replace dev eth0 root netem {what}"));
        Self
    }
}

impl Drop for Netem {
    fn drop(&mut self) {
        there("tc qdisc del dev eth0 root");
    }
}

#[test]
fn a_longer_way_is_in_every_latency() {
    let _turn = turn();
    let ground = Ground::new("two-netem");
    let _netem = Netem::new("delay 80ms");
    let record = ground.load(&["-n", "100"]);
    let point = &record["points"][0];
    for path in ["/latency_ns/min", "/connections/connect_ns/min"] {
        assert!(count(point, path) >= 80_000_000, "{path}: {point:#}");
    }
    // The tuner does not take it for the default.
    let wish = ["plan", "--json", "--profile", "latency", "--only", "qdisc", "--device", "eth0"];
    let plan = ground.good(&wish).record();
    let why = plan["rows"].to_string();
    assert!(why.contains("set by another program"), "{plan:#}");
}

#[test]
fn what_is_lost_on_the_way_is_sent_again_and_answered() {
    let _turn = turn();
    let ground = Ground::new("two-loss");
    let retransmitted = || -> u64 {
        let text = there("grep ^Tcp: /proc/net/snmp");
        let rows: Vec<Vec<&str>> = text.lines().map(|row| row.split(' ').collect()).collect();
        let at = rows[0].iter().position(|name| *name == "RetransSegs").unwrap();
        rows[1][at].parse().unwrap()
    };
    let before = retransmitted();
    let _netem = Netem::new("loss 10%");
    let record = ground.load(&["-n", "400", "-T", "60s"]);
    assert_eq!(count(&record["points"][0], "/requests/completed"), 400);
    assert!(retransmitted() > before, "one of ten was lost");
}
