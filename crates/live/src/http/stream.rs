//! Events for one watcher, for as long as it reads.

use super::respond::{begin_events, write_until};
use crate::feed::Feed;
use crate::hub::Next;
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Most frames in one write.
const FRAMES_AT_ONCE: usize = 256;
/// How long a watcher may take for them; a slower one is dropped.
const SLOWEST: Duration = Duration::from_secs(5);
/// Without an event for this long, a heartbeat is written to see whether the watcher is still
/// there.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Sends the missed and all new events to a watcher, until the end of the history, or until the
/// watcher is gone or too slow.
pub(super) fn events(mut stream: TcpStream, feed: &Feed, last: Option<&str>) {
    let mut watcher = feed.hub.watch(last);
    let mut wrote = begin_events(&mut stream, Instant::now() + SLOWEST);
    while wrote.is_ok() {
        let until = |now: Instant| now + SLOWEST;
        wrote = match watcher.next(FRAMES_AT_ONCE, HEARTBEAT) {
            // The usual case is one frame: its bytes are shared by all watchers and not copied.
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
