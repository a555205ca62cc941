//! A run that others look on: what a command starts, tells, and ends.

use crate::compose::Composer;
use crate::feed::{Feed, Files};
use crate::http::Server;
use crate::message::{Begin, Message};
use crate::page::RunPages;
use crate::relay::{Inlet, Outlet};
use crate::terminal::{Colours, Drawing, TerminalError};
use model::event::Event;
use model::run::Run;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Events that may wait to be encoded: those of minutes.
const QUEUE: usize = 2048;
/// At the end no one asked for anything for so long.
const QUIET: Duration = Duration::from_millis(500);
/// The longest wait at the end for watchers.
const LINGER: Duration = Duration::from_secs(5);

/// Who is to look on.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Browsers, at this address.
    pub listen: Option<SocketAddr>,
    /// The terminal; whether it may have colours.
    pub terminal: Option<Colours>,
    /// Another process, by the folder of its socket.
    pub outlet: Option<PathBuf>,
    /// CPUs that the workers are pinned to.
    pub taken_cpus: Vec<usize>,
}

/// Why nobody can look on.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The address cannot be listened at.
    #[error("cannot listen at {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// The terminal cannot be drawn on.
    #[error(transparent)]
    Terminal(#[from] TerminalError),
    /// A thread or a socket.
    #[error("cannot show the run: {0}")]
    Thread(#[from] io::Error),
}

/// A run that others look on.
pub struct Live {
    feed: Arc<Feed>,
    events: Option<SyncSender<(Instant, Event)>>,
    composing: Option<JoinHandle<Composer>>,
    /// Events that nobody heard of because they came too fast.
    lost: Arc<AtomicU64>,
    server: Option<Server>,
    outlet: Option<Outlet>,
    inlet: Option<Inlet>,
    drawing: Option<Drawing>,
}

impl Live {
    /// Opens what is wanted; nothing when nothing is.
    pub fn start(wanted: &Wanted) -> Result<Option<Self>, LiveError> {
        let Wanted { listen, terminal, outlet, taken_cpus } = wanted;
        if listen.is_none() && terminal.is_none() && outlet.is_none() {
            return Ok(None);
        }
        let feed = Arc::new(Feed::default());
        let pages = Arc::new(RunPages::new(Arc::clone(&feed)));
        let server = listen.map(|address| {
            Server::start(address, pages, taken_cpus)
                .map_err(|error| LiveError::Listen(address, error))
        });
        let outlet = outlet
            .as_deref()
            .map(|folder| Outlet::start(folder, Arc::clone(&feed.hub), taken_cpus));
        let (server, outlet) = (server.transpose()?, outlet.transpose()?);
        let (lost, (events, queue)) = (Arc::default(), sync_channel(QUEUE));
        let composing = {
            let (feed, taken, lost) = (Arc::clone(&feed), taken_cpus.clone(), Arc::clone(&lost));
            let body = move || {
                host::background::stand_back(&taken);
                compose(&queue, &feed, &lost)
            };
            thread::Builder::new().name("live compose".to_string()).spawn(body)?
        };
        // Last, because what fails before is reported in lines.
        let draw = |colours: Colours| Drawing::start(Arc::clone(&feed), colours, taken_cpus);
        let drawing = terminal.map(draw).transpose()?;
        let (events, composing, inlet) = (Some(events), Some(composing), None);
        Ok(Some(Self { feed, events, composing, lost, server, outlet, inlet, drawing }))
    }

    /// Where browsers find it.
    pub fn url(&self) -> Option<String> {
        self.server.as_ref().map(|server| format!("http://{}/", server.address()))
    }

    /// Takes in what other processes measure, by a socket in a folder.
    pub fn take_in(&mut self, folder: &Path) -> io::Result<()> {
        self.inlet = Some(Inlet::open(folder, Arc::clone(&self.feed))?);
        Ok(())
    }

    /// A run begins.
    pub fn begin(&self, title: &str, subtitle: &str) {
        let (title, subtitle) = (title.to_string(), subtitle.to_string());
        self.publish(&Message::Begin(Begin { title, subtitle }));
    }

    /// Tells what happened. It never waits: what comes too fast is lost, and counted.
    pub fn tell(&self, event: Event) {
        let Some(events) = &self.events else { return };
        if let Err(TrySendError::Full(_)) = events.try_send((Instant::now(), event)) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Tells at once. For what happens seldom and outside of a measurement.
    pub fn publish(&self, message: &Message) {
        self.feed.publish(message);
    }

    /// Gives the terminal back.
    pub fn stop_drawing(&mut self) {
        self.drawing = None;
    }

    /// The run has ended, with a result or for a reason. Watchers get to see it, and may
    /// fetch report and record; nobody else is waited for.
    pub fn end(mut self, ended: Result<&Run, &str>) {
        self.events = None;
        let composer = self.composing.take().and_then(|thread| thread.join().ok());
        match (ended, composer) {
            (Ok(run), Some(composer)) => {
                let is_watched = self.server.is_some() && self.feed.hub.watchers() > 0;
                if is_watched {
                    let report = report::html::html(run).into_bytes().into();
                    let record = report::json::json(&run.record).into();
                    self.feed.keep(Files { report, record });
                }
                self.publish(&composer.end(run));
                self.over(is_watched);
            }
            (ended, _) => {
                let why = ended.err().unwrap_or("it cannot be shown").to_string();
                self.publish(&Message::Failed { why });
                self.over(false);
            }
        }
    }

    /// An experiment has ended.
    pub fn end_experiment(self, report: Vec<u8>, record: Vec<u8>) {
        self.feed.keep(Files { report: report.into(), record: record.into() });
        self.over(true);
    }

    fn over(mut self, has_report: bool) {
        self.stop_drawing();
        self.publish(&Message::Over { has_report });
        let is_watched = self.feed.hub.watchers() > 0;
        self.feed.hub.end();
        if let (Some(server), true) = (&self.server, is_watched) {
            server.linger(QUIET, LINGER);
        }
        if let Some(outlet) = self.outlet.take() {
            outlet.finish(LINGER);
        }
    }
}

/// Encodes events until none follows.
fn compose(queue: &Receiver<(Instant, Event)>, feed: &Feed, lost: &AtomicU64) -> Composer {
    let mut composer = Composer::new(Instant::now());
    for (at, event) in queue {
        if let Some(message) = composer.message(&event, at) {
            feed.publish(&message);
        }
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let text =
                format!("{lost} events came too fast to be shown; none is missing in the run");
            feed.publish(&Message::Notice { text });
        }
    }
    composer
}
