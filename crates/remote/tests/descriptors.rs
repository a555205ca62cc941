//! A process of its own: its limit of open files is lowered.

use remote::{Probe, Settings};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::io::Write;
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec.try_into().unwrap())
}

/// The number of the next descriptor that would be opened.
fn next_descriptor() -> u64 {
    let open = |number: &u64| std::fs::symlink_metadata(format!("/proc/self/fd/{number}")).is_ok();
    (0..).find(|number| !open(number)).unwrap()
}

/// Ends what runs, however the test ends.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn without_descriptors_a_probe_rests_and_serves_when_there_are_some_again() {
    let folder = std::env::temp_dir().join(format!("remote-files-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    let low = Rlimit { current: Some(256), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, low).unwrap();
    let local = "127.0.0.1:0".parse().unwrap();
    let probe = Probe::open(Settings {
        listen: local,
        token_file: folder.join("token"),
        clients_max: 4,
        prometheus: Some(local),
        server_pid: None,
        runtime: None,
        server_port: None,
        program: "test".to_string(),
        tuner: None,
        starter: None,
    });
    let probe = probe.unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    let limit = getrlimit(Resource::Nofile);
    assert_eq!(limit.current, low.maximum, "as many as this process may have");

    let told = Mutex::new(String::new());
    let has_told = |words: &str| told.lock().unwrap().contains(words);
    let stop = AtomicBool::new(false);
    let mut client = TcpStream::connect(probe.address()).unwrap();
    let _asker = TcpStream::connect(probe.prometheus().unwrap()).unwrap();
    let none = Rlimit { current: Some(next_descriptor()), ..limit };
    setrlimit(Resource::Nofile, none).unwrap();
    thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(|| probe.run(&stop, &|line| told.lock().unwrap().push_str(line)));
        let await_told = |words: &str| {
            let begin = Instant::now();
            while !has_told(words) {
                assert!(begin.elapsed() < Duration::from_secs(240), "{told:?}");
                thread::sleep(Duration::from_millis(50));
            }
        };
        let (begin, before) = (Instant::now(), cpu_time());
        await_told("cannot accept connections");
        while begin.elapsed() < Duration::from_secs(2) {
            thread::sleep(Duration::from_millis(50));
        }
        // Two loops that retry at once would use two CPUs, or all CPU time that there is.
        let used = cpu_time() - before;
        assert!(used < begin.elapsed().mul_f64(0.3), "{used:?} in {:?}", begin.elapsed());
        setrlimit(Resource::Nofile, limit).unwrap();
        client.write_all(b"not what a client says").unwrap();
        await_told("not a client of ours");
    });
}
