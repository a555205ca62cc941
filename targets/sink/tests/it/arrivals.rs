//! The file of arrivals.

use crate::client::get;
use crate::sink::{Sink, number};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// A file name of this test run.
pub fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

/// The arrivals in a file, which is removed.
pub fn stamps(path: &PathBuf) -> Vec<u64> {
    let bytes = std::fs::read(path).unwrap();
    std::fs::remove_file(path).unwrap();
    let (stamps, rest) = bytes.as_chunks::<8>();
    assert!(rest.is_empty());
    stamps.iter().map(|&stamp| u64::from_le_bytes(stamp)).collect()
}

#[test]
fn every_request_is_in_the_file_in_order_of_time() {
    let path = file("all");
    let sink = Sink::start_words(&["--threads", "3", "--log-arrivals", path.to_str().unwrap()]);
    let before_ns = number(&sink.reset(), "at_ns");
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let mut client = sink.connect();
                for _ in 0..20 {
                    client.send(&get("/simple").repeat(5));
                    (0..5).for_each(|_| drop(client.response()));
                }
            });
        }
    });
    let after_ns = number(&sink.reset(), "at_ns");
    let stopped = sink.stop();
    assert_eq!(stopped["arrivals"]["logged"], 600);
    assert_eq!(stopped["arrivals"]["lost"], 0);
    let stamps = stamps(&path);
    assert_eq!(stamps.len(), 600);
    assert!(stamps.is_sorted());
    assert!(stamps[0] >= before_ns && stamps[599] <= after_ns);
}

/// A response waits for two seconds, so an arrival taken from the response, or from the wait for
/// the previous one, is wrong by more than one second; a busy machine causes a smaller error.
#[test]
fn arrivals_are_true_while_responses_wait() {
    let path = file("true");
    let log = path.to_str().unwrap();
    let words = ["--threads", "1", "--delay", "fixed:2s", "--log-arrivals", log];
    let sink = Sink::start_words(&words);
    // The sink read its clock between these two instants, which relates its clock to this test's.
    let tie_begin = Instant::now();
    let tie_ns = number(&sink.reset(), "at_ns");
    let tie_end = Instant::now();
    let mut client = sink.connect();
    let sent = [0; 4].map(|_| {
        let begin = Instant::now();
        client.send(&get("/simple"));
        let end = Instant::now();
        thread::sleep(Duration::from_millis(50));
        (begin, end)
    });
    (0..4).for_each(|_| drop(client.response()));
    sink.stop();
    let stamps = stamps(&path);
    assert_eq!(stamps.len(), 4);
    for (stamp_ns, (begin, end)) in stamps.into_iter().zip(sent) {
        let earliest_ns = tie_ns + (begin - tie_end).as_nanos() as u64;
        let latest_ns = tie_ns + (end - tie_begin).as_nanos() as u64 + 1_000_000_000;
        assert!((earliest_ns..latest_ns).contains(&stamp_ns), "{earliest_ns} <= {stamp_ns}");
    }
}

#[test]
fn what_does_not_fit_is_counted() {
    let path = file("full");
    let log = path.to_str().unwrap();
    let sink = Sink::start_words(&["--threads", "1", "--log-arrivals", log, "--log-capacity", "7"]);
    let mut client = sink.connect();
    (0..10).for_each(|_| drop(client.get("/simple")));
    let stopped = sink.stop();
    assert_eq!(
        (&stopped["arrivals"]["logged"], &stopped["arrivals"]["lost"]),
        (&7.into(), &3.into())
    );
    assert_eq!(stamps(&path).len(), 7);
}
