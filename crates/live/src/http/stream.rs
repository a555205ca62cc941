//! Events for one watcher, for as long as it reads.

use super::respond::{begin_events, write_until};
use crate::feed::Feed;
use crate::hub::Next;
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Frames that are written at once.
const FRAMES_AT_ONCE: usize = 256;
/// How long a watcher may take for them; one that is slower is dropped.
const SLOWEST: Duration = Duration::from_secs(5);
/// Without an event for so long something is written all the same, to see whether it is there.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Sends what the watcher lacks and what follows, until nothing does, or it is gone or too slow.
pub(super) fn events(mut stream: TcpStream, feed: &Feed, last: Option<&str>) {
    let mut watcher = feed.hub.watch(last);
    let mut wrote = begin_events(&mut stream, Instant::now() + SLOWEST);
    while wrote.is_ok() {
        let until = |now: Instant| now + SLOWEST;
        wrote = match watcher.next(FRAMES_AT_ONCE, HEARTBEAT) {
            // Bytes that all watchers share; most of the time there is one frame.
            Next::Frames(frames) if frames.len() == 1 => {
                write_until(&mut stream, &frames[0], until(Instant::now()))
            }
            Next::Frames(frames) => {
                write_until(&mut stream, &frames.concat(), until(Instant::now()))
            }
            Next::Nothing => write_until(&mut stream, b":\n\n", until(Instant::now())),
            Next::Over => break,
        };
    }
    let _ = stream.shutdown(Shutdown::Both);
}
