//! Programs in this kernel, watching this process. They need root and a kernel with types.
//!
//! A server here is a thread, and what is asserted is what no load on the machine can change: a
//! thread that sleeps for 20 ms is off its CPU for at least as long.

use kernel::{Asked, Scope, Watch, program_ids};
use model::kernel::{KernelReadings, WaitFor, Whose};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

const DELAY: Duration = Duration::from_millis(20);
const DELAY_NS: u64 = 20_000_000;
const EXCHANGES: u64 = 10;

/// Monotonic nanoseconds; the programs have the same clock from the kernel.
fn now_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/uptime").unwrap();
    let seconds: f64 = text.split(' ').next().unwrap().parse().unwrap();
    (seconds * 1e9) as u64
}

/// One at a time: two would see each other's connections and threads.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// What programs see of this process while something is done; none, with the reason printed, where
/// this kernel or user cannot.
fn watched(port: Option<u16>, act: impl FnOnce()) -> Option<KernelReadings> {
    let mut watch = Watch::load(Asked { pids: vec![process::id()], port, scope: Scope::All });
    watch.attach(now_ns);
    act();
    let readings = watch.finish(now_ns);
    if readings.programs.is_empty() {
        println!("skipped: {:?}", readings.unreadable);
        return None;
    }
    Some(readings)
}

/// A server that responds to each request `DELAY` after it read it.
fn slow_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = [0; 64];
        while stream.read(&mut bytes).is_ok_and(|length| length > 0) {
            thread::sleep(DELAY);
            stream.write_all(b"response").unwrap();
        }
    });
    port
}

#[test]
fn a_request_is_split_at_the_server() {
    let _alone = alone();
    let port = slow_server();
    let Some(readings) = watched(Some(port), || {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        for _ in 0..EXCHANGES {
            stream.write_all(b"request").unwrap();
            stream.read_exact(&mut [0; 8]).unwrap();
        }
    }) else {
        return;
    };
    let split = readings.split.unwrap();
    assert_eq!((split.unread.count, split.inside.count), (EXCHANGES, EXCHANGES));
    assert!(split.inside.sum_ns >= EXCHANGES * DELAY_NS, "{split:?}");
    assert!(split.inside.p50_ns.unwrap() >= DELAY_NS, "{split:?}");
    // The last response may not be acknowledged yet.
    let acknowledged = split.acknowledged.unwrap().count;
    assert!((EXCHANGES - 1..=EXCHANGES).contains(&acknowledged), "{acknowledged}");
    let slept = readings.threads.unwrap();
    let timer = slept.waits.iter().filter(|wait| wait.what == WaitFor::Timer);
    let (count, total_s) =
        timer.fold((0, 0.0), |sum, wait| (sum.0 + wait.count, sum.1 + wait.total_s));
    assert!(count >= EXCHANGES && total_s >= 0.2, "{slept:?}");
    assert!(readings.programs.iter().any(|one| one.hook == "sched_switch" && one.ns > 0));
}

#[test]
fn bytes_that_are_not_read_are_time_in_the_socket() {
    let _alone = alone();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let Some(readings) = watched(Some(port), || {
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        // Else a segment waits in the client until the one before it is acknowledged.
        client.set_nodelay(true).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(b"request").unwrap();
        thread::sleep(DELAY);
        server.read_exact(&mut [0; 7]).unwrap();
        server.write_all(b"response").unwrap();
        // The next request arrives while this one is in the server, and lies until it is done.
        client.write_all(b"request").unwrap();
        server.read_exact(&mut [0; 7]).unwrap();
        client.write_all(b"request").unwrap();
        thread::sleep(DELAY);
        server.write_all(b"response").unwrap();
        server.read_exact(&mut [0; 7]).unwrap();
    }) else {
        return;
    };
    let split = readings.split.unwrap();
    assert_eq!((split.unread.count, split.inside.count), (3, 2));
    assert!(split.unread.sum_ns >= 2 * DELAY_NS, "{split:?}");
    assert!(split.inside.sum_ns >= DELAY_NS, "{split:?}");
    assert!(split.unread.max_ns.unwrap() >= DELAY_NS, "{split:?}");
}

#[test]
fn a_thread_that_waits_for_another_waits_for_a_futex() {
    let _alone = alone();
    let lock = Arc::new(Mutex::new(()));
    let Some(readings) = watched(None, || {
        let held = lock.lock().unwrap();
        let other = Arc::clone(&lock);
        let waiter = thread::spawn(move || drop(other.lock().unwrap()));
        thread::sleep(DELAY);
        thread::sleep(DELAY);
        drop(held);
        waiter.join().unwrap();
    }) else {
        return;
    };
    let threads = readings.threads.unwrap();
    assert!(threads.waits.iter().any(|wait| wait.what == WaitFor::Futex), "{threads:?}");
    assert!(readings.split.is_none() && readings.drops.is_none());
    assert!(readings.unreadable.iter().any(|one| one.why.contains("do not come by TCP")));
}

#[test]
fn a_dropped_packet_has_the_kernels_reason() {
    let _alone = alone();
    // A port on which no socket listens: the SYN is dropped and answered with a reset.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let Some(readings) = watched(Some(port), || {
        for _ in 0..5 {
            assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
        }
    }) else {
        return;
    };
    let drops = readings.drops.as_ref().unwrap();
    let unwanted = drops.iter().find(|drop| drop.is_of_server && drop.reason == "NO_SOCKET");
    assert!(unwanted.is_some_and(|drop| drop.count >= 5), "{drops:?}");
    assert!(readings.resets_sent.unwrap().of_server >= 5, "{readings:?}");
}

#[test]
fn a_delayed_thread_names_who_ran_instead() {
    let _alone = alone();
    let is_done = Arc::new(AtomicBool::new(false));
    let cpus = thread::available_parallelism().unwrap().get();
    // More threads that always work than CPUs: each must wait for the others.
    let work = |is_done: Arc<AtomicBool>| move || while !is_done.load(Ordering::Relaxed) {};
    let readings = watched(None, || {
        let workers = (0..=cpus).map(|_| thread::spawn(work(Arc::clone(&is_done))));
        let workers: Vec<_> = workers.collect();
        thread::sleep(Duration::from_millis(500));
        is_done.store(true, Ordering::Relaxed);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
    let Some(threads) = readings.map(|readings| readings.threads.unwrap()) else { return };
    assert!(threads.run_queue.count > 0 && threads.run_queue.sum_ns > 0, "{threads:?}");
    assert!(threads.ran_instead.iter().any(|one| one.whose == Whose::Server), "{threads:?}");
}

/// Holds programs until it is killed. Not a test: the tests below start it.
#[test]
#[ignore = "a part of other tests"]
fn holder() {
    let (pids, port) = (vec![process::id()], Some(1));
    let mut watch = Watch::load(Asked { pids, port, scope: Scope::All });
    watch.attach(now_ns);
    if let Ok(ids) = program_ids() {
        println!("programs {}", ids.len());
    }
    if std::env::var_os("HOLD").is_some() {
        thread::sleep(Duration::from_secs(60));
    }
    for lacking in watch.finish(now_ns).unreadable {
        println!("lacking {}: {}", lacking.what, lacking.why);
    }
}

fn start_holder() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(["--exact", "holder", "--ignored", "--nocapture"]).stdout(Stdio::piped());
    command
}

#[test]
fn a_killed_process_leaves_no_program() {
    let _alone = alone();
    let Ok(before) = program_ids() else {
        println!("skipped: this user may not list programs");
        return;
    };
    if watched(None, || {}).is_none() {
        return;
    }
    let mut child = start_holder().env("HOLD", "1").spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let held = lines.map(|line| line.split_once("programs ").map(|(_, held)| held.to_string()));
    let held = held.flatten().next().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(held.parse::<usize>().unwrap() > before.len(), "it held none");
    // The kernel frees them a moment later.
    let until = Instant::now() + Duration::from_secs(30);
    let remain = || program_ids().unwrap().iter().any(|id| !before.contains(id));
    while remain() && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
    }
    assert!(!remain(), "programs remain");
}

#[test]
fn a_user_who_may_not_is_told_what_it_needs() {
    let _alone = alone();
    let mut holder = start_holder();
    if program_ids().is_ok() {
        holder.uid(65_534).gid(65_534);
    }
    let output = holder.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let expected = "lacking evidence from the kernel: this user may not load programs into the \
                    kernel: that needs root, or CAP_BPF and CAP_PERFMON";
    assert!(text.contains(expected), "{text}");
}
