//! Relays messages from the process that measures to the one that shows the run: the same frames
//! that browsers get, over a socket in a folder that only the user can enter.
//!
//! The measuring process connects, retries if needed, and sends the history from the start. This
//! runs on its own thread, and nothing waits for it.

use crate::feed::Feed;
use crate::hub::{Hub, Next};
use crate::message::{BYTES_MAX, Message};
use crate::now::State;
use rustix::fs::{Mode, OFlags};
use rustix::process::geteuid;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// The socket in its folder.
const SOCKET: &str = "socket";
/// How long until the next attempt to connect.
const AGAIN: Duration = Duration::from_millis(500);
/// How long the receiver may take for a frame.
const WRITE_LIMIT: Duration = Duration::from_secs(5);
/// Most frames in one write.
const FRAMES_AT_ONCE: usize = 256;
/// Without a message for this long, the connection is checked.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Receives what other processes measure, until it is dropped.
#[derive(Debug)]
pub struct Inlet {
    folder: PathBuf,
    is_busy: Arc<AtomicBool>,
}

impl Inlet {
    /// Listens in a folder, which is made if it does not exist.
    pub fn open(folder: &Path, feed: Arc<Feed>) -> io::Result<Self> {
        make_own(folder)?;
        let socket = folder.join(SOCKET);
        if UnixStream::connect(&socket).is_ok() {
            let why = format!("another ceiling already listens on {}", socket.display());
            return Err(io::Error::new(io::ErrorKind::AddrInUse, why));
        }
        // A killed process may have left its socket behind.
        let _ = fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket)?;
        let is_busy = Arc::new(AtomicBool::new(false));
        let busy = Arc::clone(&is_busy);
        let body = move || {
            // One connection at a time: the messages of two runs would mix.
            for stream in listener.incoming().flatten() {
                busy.store(true, Ordering::Relaxed);
                take_in(&stream, &feed);
                busy.store(false, Ordering::Relaxed);
                if feed.look(|now| now.state == State::Running) {
                    let why = "the measuring process disconnected".to_string();
                    feed.publish(&Message::Failed { why });
                }
            }
        };
        thread::Builder::new().name("live inlet".to_string()).spawn(body)?;
        Ok(Self { folder: folder.to_path_buf(), is_busy })
    }

    /// Whether a measuring process is connected.
    pub fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::Relaxed)
    }

    /// Waits until everything that processes sent before is published, but not for long.
    pub fn drain(&self) {
        let Ok(mut stream) = UnixStream::connect(self.folder.join(SOCKET)) else { return };
        let limited = stream.set_read_timeout(Some(WRITE_LIMIT));
        // Connections are taken one after the other: when this one ends, all before it have.
        if limited.and_then(|()| stream.shutdown(Shutdown::Write)).is_ok() {
            let _ = stream.read(&mut [0]);
        }
    }
}

impl Drop for Inlet {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.folder.join(SOCKET));
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Makes a folder that only this user can enter. In the directory for temporary files, another user
/// may have put a link or a folder of the same name there: such a one is refused, and a link is not
/// followed.
fn make_own(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = File::from(rustix::fs::open(folder, flags, Mode::empty())?);
    if opened.metadata()?.uid() != geteuid().as_raw() {
        let why = format!("{} belongs to another user", folder.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    opened.set_permissions(Permissions::from_mode(0o700))
}

/// Publishes messages until the end of the stream or a malformed message.
fn take_in(stream: &UnixStream, feed: &Feed) {
    let mut lines = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        let limited = &mut (&mut lines).take(BYTES_MAX as u64 + 1);
        match limited.read_until(b'\n', &mut line) {
            Ok(count) if count > 0 && line.ends_with(b"\n") => {}
            // The connection has ended, or the line is too long to be a message.
            _ => return,
        }
        let Some(json) = line.strip_prefix(b"data: ") else { continue };
        match serde_json::from_slice::<Message>(json) {
            // This process has its own history, and other runs may follow.
            Ok(Message::Reset | Message::Gap { .. } | Message::Over { .. }) => {}
            Ok(message) => feed.publish(&message),
            Err(_) => return,
        }
    }
}

/// Sends the history to an inlet.
#[derive(Debug)]
pub struct Outlet {
    ended: Receiver<()>,
}

impl Outlet {
    /// Sends to the inlet in a folder, as soon as there is one.
    pub fn start(folder: &Path, hub: Arc<Hub>, taken_cpus: &[usize]) -> io::Result<Self> {
        let (socket, taken_cpus) = (folder.join(SOCKET), taken_cpus.to_vec());
        let (end, ended) = channel::<()>();
        let body = move || {
            host::background::stand_back(&taken_cpus);
            while !send_all(&socket, &hub) {
                thread::sleep(AGAIN);
            }
            drop(end);
        };
        thread::Builder::new().name("live outlet".to_string()).spawn(body)?;
        Ok(Self { ended })
    }

    /// Waits until everything was sent, at most for `limit`.
    pub fn finish(self, limit: Duration) {
        let _ = self.ended.recv_timeout(limit);
    }
}

/// Sends everything from the start; returns false if it has to be repeated.
fn send_all(socket: &Path, hub: &Arc<Hub>) -> bool {
    let Ok(mut stream) = UnixStream::connect(socket) else { return false };
    if stream.set_write_timeout(Some(WRITE_LIMIT)).is_err() {
        return false;
    }
    let mut watcher = hub.watch(None);
    loop {
        let wrote = match watcher.next(FRAMES_AT_ONCE, HEARTBEAT) {
            Next::Frames(frames) => stream.write_all(&frames.concat()),
            Next::Nothing => stream.write_all(b"\n"),
            Next::Over => return true,
        };
        if wrote.is_err() {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Begin;
    use std::env;
    use std::time::Instant;

    fn folder(name: &str) -> PathBuf {
        env::temp_dir().join(format!("ceiling-relay-{name}-{}", std::process::id()))
    }

    fn wait_until(is_so: impl Fn() -> bool) {
        let begin = Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < Duration::from_secs(60), "it never arrived");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn what_one_process_measures_another_shows_from_the_beginning() {
        let (folder, hub) = (folder("whole"), Arc::new(Hub::default()));
        hub.publish(&Message::Begin(Begin { title: "a".to_string(), ..Begin::default() }));
        // The inlet is opened later.
        let outlet = Outlet::start(&folder, Arc::clone(&hub), &[]).unwrap();
        let feed = Arc::new(Feed::default());
        let inlet = Inlet::open(&folder, Arc::clone(&feed)).unwrap();
        assert!(Inlet::open(&folder, Arc::clone(&feed)).is_err(), "only one inlet");
        hub.publish(&Message::Failed { why: "x".to_string() });
        hub.publish(&Message::Over { has_report: false });
        hub.end();
        outlet.finish(Duration::from_secs(60));
        wait_until(|| feed.look(|now| now.state == State::Failed));
        assert_eq!(feed.look(|now| now.begin.title.clone()), "a");
        let mode = fs::metadata(&folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        drop(inlet);
        assert!(!folder.exists());
    }

    #[test]
    fn a_drained_inlet_has_published_all_that_was_sent_before() {
        let folder = folder("drained");
        let feed = Arc::new(Feed::default());
        let inlet = Inlet::open(&folder, Arc::clone(&feed)).unwrap();
        for round in 1..=50 {
            let mut stream = UnixStream::connect(folder.join(SOCKET)).unwrap();
            stream.write_all(b"data: {\"kind\":\"notice\",\"text\":\"good\"}\n").unwrap();
            drop(stream);
            inlet.drain();
            assert_eq!(feed.look(|now| now.notices.len()), round);
        }
    }

    #[test]
    fn a_link_is_refused_and_what_it_leads_to_stays_as_it_was() {
        let (shared, link) = (folder("shared"), folder("link"));
        fs::create_dir(&shared).unwrap();
        fs::set_permissions(&shared, Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink(&shared, &link).unwrap();
        assert!(Inlet::open(&link, Arc::new(Feed::default())).is_err());
        let mode = fs::metadata(&shared).unwrap().permissions().mode();
        assert_eq!((mode & 0o777, fs::read_dir(&shared).unwrap().count()), (0o755, 0));
        fs::remove_file(&link).unwrap();
        fs::remove_dir(&shared).unwrap();
    }

    #[test]
    fn what_is_no_message_ends_its_connection_and_no_other() {
        let folder = folder("wrong");
        let feed = Arc::new(Feed::default());
        let _inlet = Inlet::open(&folder, Arc::clone(&feed)).unwrap();
        let long = vec![b'x'; BYTES_MAX + 2];
        for wrong in [b"data: {}\n".as_slice(), b"data: x\n", &long, b"data: {\"kind\":\"no\"}\n"] {
            let mut stream = UnixStream::connect(folder.join(SOCKET)).unwrap();
            // The inlet may close before everything is written.
            let _ = stream.write_all(wrong);
        }
        let mut stream = UnixStream::connect(folder.join(SOCKET)).unwrap();
        stream.write_all(b"data: {\"kind\":\"notice\",\"text\":\"good\"}\n").unwrap();
        wait_until(|| feed.look(|now| now.notices.len() == 1));
    }
}
