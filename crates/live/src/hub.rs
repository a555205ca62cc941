//! The history of a run, encoded once, for any number of watchers.
//!
//! There is one history, and no queue per watcher: publishing never waits for readers, and a
//! watcher that connects late or again reads on from its last event. The history has a limit.
//! Beyond the limit, every second tick of the older half is left out, again and again. Of the
//! verdicts during a run, and of what its hosts did, only the latest is kept, because it replaces
//! the earlier ones. Of the run before, all but its ticks stay for watchers that were connected
//! when the next one began: one that reads slowly gets every end.

use crate::message::Message;
use std::collections::VecDeque;
use std::process;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Ticks of a little over an hour, at five a second.
const TICKS_MAX: usize = 20_000;

/// How a message may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// Every other one, if there are too many.
    Tick,
    /// When the next one of its kind arrives.
    Replaced(Latest),
    /// When another run begins.
    Kept,
    /// When there is another experiment, or another visit of it: a run that begins is of these.
    Heading,
}

/// What only the latest message of counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Latest {
    /// The verdict so far.
    Present,
    /// What the hosts do.
    Hosts,
}

#[derive(Debug)]
struct Frame {
    id: u64,
    weight: Weight,
    /// The number of the run in which it was forgotten: watchers that connect later do not get it.
    past: Option<u64>,
    bytes: Arc<[u8]>,
}

#[derive(Debug, Default)]
struct History {
    frames: VecDeque<Frame>,
    /// The id of the next frame.
    next: u64,
    /// How many runs have begun.
    runs: u64,
    ticks: usize,
    /// How many ticks were left out, and the id of the last of them.
    dropped: (u64, u64),
    is_over: bool,
    watchers: usize,
}

/// The history of a run.
#[derive(Debug)]
pub struct Hub {
    history: Mutex<History>,
    changed: Condvar,
    /// Distinguishes this history from that of another process at the same address.
    token: String,
    ticks_max: usize,
}

/// The next result for a watcher.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Frames, oldest first.
    Frames(Vec<Arc<[u8]>>),
    /// Nothing happened within the timeout.
    Nothing,
    /// The history has ended.
    Over,
}

/// A watcher and its position in the history. It is counted until it is dropped.
#[derive(Debug)]
pub struct Watcher {
    hub: Arc<Hub>,
    /// The id of the next frame to send.
    next: u64,
    /// It also gets frames from this id on that were forgotten since.
    since: u64,
    /// Frames to send before those of the history.
    first: Vec<Arc<[u8]>>,
}

impl Default for Hub {
    fn default() -> Self {
        Self::with_limit(TICKS_MAX)
    }
}

impl Hub {
    /// A hub that keeps at most this many ticks.
    pub fn with_limit(ticks_max: usize) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let token = format!("{:x}{:x}", process::id(), now.as_millis());
        let (history, changed) = (Mutex::default(), Condvar::new());
        Self { history, changed, token, ticks_max: ticks_max.max(4) }
    }

    fn lock(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message.
    pub fn publish(&self, message: &Message) {
        let weight = match message {
            Message::Tick(_) => Weight::Tick,
            Message::Present { .. } => Weight::Replaced(Latest::Present),
            Message::Hosts { .. } => Weight::Replaced(Latest::Hosts),
            Message::Experiment { .. } | Message::Visit { .. } => Weight::Heading,
            _ => Weight::Kept,
        };
        let json = serde_json::to_string(message).unwrap_or_default();
        let mut history = self.lock();
        let id = history.next;
        let bytes = Arc::from(format!("id: {}-{id}\ndata: {json}\n\n", self.token).into_bytes());
        history.next += 1;
        if matches!(weight, Weight::Replaced(_)) {
            history.frames.retain(|frame| frame.weight != weight);
        }
        match message {
            // A watcher that connects later sees the current run; a page clears the others, too.
            Message::Begin(_) => history.forget_run(),
            Message::Experiment { .. } => history.forget_headings(0),
            // That of the experiment is the first.
            Message::Visit { .. } => history.forget_headings(1),
            _ => {}
        }
        history.ticks += usize::from(weight == Weight::Tick);
        history.frames.push_back(Frame { id, weight, past: None, bytes });
        if history.ticks > self.ticks_max {
            history.thin();
        }
        drop(history);
        self.changed.notify_all();
    }

    /// Ends the history.
    pub fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    /// The current number of watchers.
    pub fn watchers(&self) -> usize {
        self.lock().watchers
    }

    /// A new watcher; `last` is the id of the last event that it has received, if known.
    pub fn watch(self: &Arc<Self>, last: Option<&str>) -> Watcher {
        let mut history = self.lock();
        history.watchers += 1;
        let known = last.and_then(|last| {
            let (token, id) = last.rsplit_once('-')?;
            let id: u64 = id.parse().ok().filter(|_| token == self.token)?;
            (id < history.next).then_some(id + 1)
        });
        let mut first = Vec::new();
        if last.is_some() && known.is_none() {
            first.push(unnumbered(&Message::Reset));
        }
        let (next, (dropped, until)) = (known.unwrap_or(0), history.dropped);
        let since = known.unwrap_or(history.next);
        if dropped > 0 && next <= until {
            first.push(unnumbered(&Message::Gap { dropped }));
        }
        drop(history);
        Watcher { hub: Arc::clone(self), next, since, first }
    }
}

/// A frame without an id, for one watcher only.
fn unnumbered(message: &Message) -> Arc<[u8]> {
    let json = serde_json::to_string(message).unwrap_or_default();
    Arc::from(format!("data: {json}\n\n").into_bytes())
}

impl History {
    /// Another run begins. Watchers that connect later get only the headings of the one before.
    fn forget_run(&mut self) {
        let run = self.runs;
        self.frames.retain(|frame| match frame.weight {
            Weight::Tick | Weight::Replaced(_) => false,
            Weight::Kept | Weight::Heading => frame.past.is_none_or(|past| past == run),
        });
        self.forget(|frame| frame.weight == Weight::Kept);
        (self.ticks, self.dropped) = (0, (0, 0));
        self.runs += 1;
    }

    /// Forgets the headings behind the first few.
    fn forget_headings(&mut self, few: usize) {
        let mut seen = 0;
        self.forget(|frame| {
            seen += usize::from(frame.weight == Weight::Heading);
            frame.weight == Weight::Heading && seen > few
        });
    }

    /// Hides frames from watchers that connect later, and drops them when no watcher is connected.
    fn forget(&mut self, mut is_past: impl FnMut(&Frame) -> bool) {
        let (run, is_watched) = (self.runs, self.watchers > 0);
        self.frames.retain_mut(|frame| {
            if frame.past.is_some() || !is_past(frame) {
                return true;
            }
            frame.past = Some(run);
            is_watched
        });
    }

    /// Leaves out every second tick of the older half.
    fn thin(&mut self) {
        let half = self.ticks / 2;
        let (mut seen, mut dropped) = (0, self.dropped);
        self.frames.retain(|frame| {
            if frame.weight != Weight::Tick {
                return true;
            }
            seen += 1;
            let stays = seen > half || seen % 2 == 1;
            if !stays {
                dropped = (dropped.0 + 1, frame.id.max(dropped.1));
            }
            stays
        });
        self.ticks -= (dropped.0 - self.dropped.0) as usize;
        self.dropped = dropped;
    }
}

impl Watcher {
    /// The next frames, at most `most`; waits for at most `patience` until there are some.
    pub fn next(&mut self, most: usize, patience: Duration) -> Next {
        if !self.first.is_empty() {
            return Next::Frames(std::mem::take(&mut self.first));
        }
        let until = Instant::now() + patience;
        let mut history = self.hub.lock();
        loop {
            let from = history.frames.partition_point(|frame| frame.id < self.next);
            let is_for_it = |frame: &&Frame| frame.past.is_none() || frame.id >= self.since;
            let frames = history.frames.range(from..).filter(is_for_it).take(most.max(1));
            let (ids, frames): (Vec<u64>, Vec<_>) =
                frames.map(|frame| (frame.id, Arc::clone(&frame.bytes))).unzip();
            if let Some(last) = ids.last() {
                self.next = last + 1;
                return Next::Frames(frames);
            }
            if history.is_over {
                return Next::Over;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Next::Nothing;
            }
            let waited = self.hub.changed.wait_timeout(history, left);
            history = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.hub.lock().watchers -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Begin, Conclusion, Tick};
    use model::host_now::HostNow;

    fn tick(t_s: f64) -> Message {
        Message::Tick(Tick { t_s, ..Tick::default() })
    }

    fn all(watcher: &mut Watcher) -> Vec<String> {
        let mut texts = Vec::new();
        while let Next::Frames(frames) = watcher.next(3, Duration::ZERO) {
            texts.extend(frames.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
        }
        texts
    }

    fn id(frame: &str) -> Option<&str> {
        frame.lines().find_map(|line| line.strip_prefix("id: "))
    }

    #[test]
    fn one_that_comes_again_gets_what_it_missed_and_nothing_twice() {
        let hub = Arc::new(Hub::default());
        (0..5).for_each(|at| hub.publish(&tick(f64::from(at))));
        let mut first = hub.watch(None);
        let seen = all(&mut first);
        assert_eq!(seen.len(), 5);
        let last = id(&seen[4]).unwrap().to_string();
        drop(first);
        assert_eq!(hub.watchers(), 0);
        (5..8).for_each(|at| hub.publish(&tick(f64::from(at))));
        let missed = all(&mut hub.watch(Some(&last)));
        assert_eq!(missed.len(), 3, "{missed:?}");
        assert!(missed[0].contains("\"t_s\":5.0"), "{}", missed[0]);
        hub.end();
        let mut again = hub.watch(Some(id(&missed[2]).unwrap()));
        assert_eq!(again.next(9, Duration::from_secs(9)), Next::Over);
    }

    #[test]
    fn a_run_that_begins_is_all_that_is_kept_with_its_experiment_and_visit() {
        let hub = Arc::new(Hub::default());
        let visit = |index| Message::Visit { index, of: 2, name: format!("cell {index}") };
        hub.publish(&Message::Experiment { title: "gzip".to_string() });
        for index in 0..2 {
            hub.publish(&visit(index));
            hub.publish(&Message::Begin(Begin::default()));
            hub.publish(&tick(1.0));
            hub.publish(&Message::Notice { text: "done".to_string() });
        }
        let seen = all(&mut hub.watch(None));
        let kinds = ["experiment", "visit", "begin", "tick", "notice"];
        assert_eq!(seen.len(), kinds.len(), "{seen:?}");
        for (frame, kind) in seen.iter().zip(kinds) {
            assert!(frame.contains(&format!("\"kind\":\"{kind}\"")), "{frame}");
        }
        assert!(seen[1].contains("cell 1"), "{}", seen[1]);
    }

    #[test]
    fn one_that_reads_slowly_gets_all_but_the_ticks_of_the_run_before() {
        let hub = Arc::new(Hub::default());
        let visit = |index| Message::Visit { index, of: 3, name: format!("cell {index}") };
        let slow = &mut hub.watch(None);
        let publish = |index| {
            hub.publish(&visit(index));
            hub.publish(&Message::Begin(Begin::default()));
            hub.publish(&tick(1.0));
            hub.publish(&Message::Notice { text: format!("end {index}") });
        };
        let kinds = |watcher: &mut Watcher| {
            let kind = |text: &String| text.split('"').nth(3).unwrap().to_string();
            all(watcher).iter().map(kind).collect::<Vec<_>>()
        };
        hub.publish(&Message::Experiment { title: "gzip".to_string() });
        publish(0);
        publish(1);
        let run = ["visit", "begin", "tick", "notice"];
        let but_ticks = ["visit", "begin", "notice"];
        assert_eq!(kinds(&mut hub.watch(None)), [&["experiment"][..], &run].concat());
        assert_eq!(kinds(slow), [&["experiment"][..], &but_ticks, &run].concat());
        assert_eq!(kinds(slow), [""; 0], "nothing twice");

        // Two runs later the one that was never read is gone.
        let slow = &mut hub.watch(None);
        (2..5).for_each(publish);
        assert_eq!(kinds(slow), [&["experiment"][..], &but_ticks, &run].concat());
        let all = hub.lock().frames.len();
        (5..50).for_each(publish);
        assert_eq!(hub.lock().frames.len(), all, "what is kept does not grow");
    }

    #[test]
    fn only_the_latest_of_the_hosts_and_of_the_verdicts_is_kept() {
        let hub = Arc::new(Hub::default());
        let present = |t_s| Message::Present { t_s, conclusion: Conclusion::default() };
        for at in 0..3 {
            hub.publish(&Message::Hosts { hosts: vec![HostNow::default(); at] });
            hub.publish(&present(at as f64));
        }
        let seen = all(&mut hub.watch(None));
        assert_eq!(seen.len(), 2, "{seen:?}");
        assert!(seen[0].contains("},{") && seen[1].contains("\"t_s\":2.0"), "{seen:?}");
    }

    #[test]
    fn an_id_of_another_process_or_of_nobody_begins_anew() {
        let hub = Arc::new(Hub::default());
        hub.publish(&tick(0.0));
        for last in ["1234-0", "", "x", "-", &format!("{}-99", hub.token)] {
            let seen = all(&mut hub.watch(Some(last)));
            assert_eq!(seen.len(), 2, "{last}: {seen:?}");
            assert!(seen[0].contains("reset") && id(&seen[0]).is_none());
        }
    }

    #[test]
    fn a_long_run_is_thinned_where_it_is_old_and_says_so() {
        let hub = Arc::new(Hub::with_limit(100));
        hub.publish(&Message::Notice { text: "kept".to_string() });
        (0..1000).for_each(|at| hub.publish(&tick(f64::from(at))));
        let seen = all(&mut hub.watch(None));
        assert!(seen.len() <= 102 && seen[0].contains("gap"), "{} {}", seen.len(), seen[0]);
        assert!(seen[1].contains("kept"), "{}", seen[1]);
        let dropped: u64 = 1002 - seen.len() as u64;
        assert!(seen[0].contains(&format!("\"dropped\":{dropped}}}")), "{} {dropped}", seen[0]);
        assert!(seen[2].contains("\"t_s\":0.0"), "the first one stays: {}", seen[2]);
        // A watcher that was connected recently has missed nothing.
        let last = format!("{}-{}", hub.token, 990);
        let seen = all(&mut hub.watch(Some(&last)));
        assert_eq!(seen.len(), 10);
        assert!(!seen[0].contains("gap"));
    }

    #[test]
    fn of_verdicts_meanwhile_only_the_latest_is_kept() {
        let hub = Arc::new(Hub::default());
        let present = |t_s| Message::Present { t_s, conclusion: Conclusion::default() };
        [present(1.0), tick(1.0), present(2.0)].iter().for_each(|one| hub.publish(one));
        let seen = all(&mut hub.watch(None));
        assert_eq!(seen.len(), 2);
        assert!(seen[1].contains("\"present\",\"t_s\":2.0"), "{}", seen[1]);
    }

    #[test]
    fn one_who_waits_is_woken() {
        let hub = Arc::new(Hub::default());
        let mut watcher = hub.watch(None);
        assert_eq!(watcher.next(9, Duration::ZERO), Next::Nothing);
        let publisher = Arc::clone(&hub);
        let publish = std::thread::spawn(move || publisher.publish(&tick(1.0)));
        assert!(matches!(watcher.next(9, Duration::from_secs(60)), Next::Frames(_)));
        publish.join().unwrap();
    }
}
