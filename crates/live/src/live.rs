//! A run with watchers: started, fed with events, and ended by a command.

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

/// Most events that may wait to be encoded: those of several minutes.
const QUEUE: usize = 2048;
/// At the end, how long there must be no connection.
const QUIET: Duration = Duration::from_secs(1);
/// The longest wait at the end for watchers.
const LINGER: Duration = Duration::from_secs(5);

/// Where the run is shown.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// To browsers, on this address.
    pub listen: Option<SocketAddr>,
    /// In the terminal, with or without colours.
    pub terminal: Option<Colours>,
    /// By another process, through a socket in this folder.
    pub outlet: Option<PathBuf>,
    /// CPUs to which the workers are pinned.
    pub taken_cpus: Vec<usize>,
}

/// Why a run cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The server cannot listen.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// The terminal cannot be used.
    #[error(transparent)]
    Terminal(#[from] TerminalError),
    /// A thread or a socket failed.
    #[error("cannot show the run: {0}")]
    Thread(#[from] io::Error),
}

/// A run with watchers.
pub struct Live {
    feed: Arc<Feed>,
    events: Option<SyncSender<(Instant, Event)>>,
    composing: Option<JoinHandle<Composer>>,
    /// How many events were lost because they came too fast.
    lost: Arc<AtomicU64>,
    server: Option<Server>,
    outlet: Option<Outlet>,
    inlet: Option<Inlet>,
    drawing: Option<Drawing>,
}

impl Live {
    /// Opens everything that is wanted; `None` if nothing is.
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
        // The terminal comes last, so that earlier failures are reported as plain lines.
        let draw = |colours: Colours| Drawing::start(Arc::clone(&feed), colours, taken_cpus);
        let drawing = terminal.map(draw).transpose()?;
        let (events, composing, inlet) = (Some(events), Some(composing), None);
        Ok(Some(Self { feed, events, composing, lost, server, outlet, inlet, drawing }))
    }

    /// The URL for browsers.
    pub fn url(&self) -> Option<String> {
        self.server.as_ref().map(|server| format!("http://{}/", server.address()))
    }

    /// Receives what other processes measure, through a socket in a folder.
    pub fn take_in(&mut self, folder: &Path) -> io::Result<()> {
        self.inlet = Some(Inlet::open(folder, Arc::clone(&self.feed))?);
        Ok(())
    }

    /// A run starts.
    pub fn begin(&self, title: &str, subtitle: &str) {
        let (title, subtitle) = (title.to_string(), subtitle.to_string());
        self.publish(&Message::Begin(Begin { title, subtitle }));
    }

    /// Queues an event. It never waits: if events come too fast, they are lost and counted.
    pub fn tell(&self, event: Event) {
        let Some(events) = &self.events else { return };
        if let Err(TrySendError::Full(_)) = events.try_send((Instant::now(), event)) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Publishes a message at once. For rare messages outside of measurements.
    pub fn publish(&self, message: &Message) {
        self.feed.publish(message);
    }

    /// Restores the terminal.
    pub fn stop_drawing(&mut self) {
        self.drawing = None;
    }

    /// A visit of an experiment begins. All that earlier visits sent comes before it.
    pub fn begin_visit(&self, index: usize, of: usize, name: String) {
        self.drain();
        self.publish(&Message::Visit { index, of, name });
    }

    fn drain(&self) {
        if let Some(inlet) = &self.inlet {
            inlet.drain();
        }
    }

    /// The run has ended, with a result or an error. Watchers see the end and can fetch report and
    /// record; without watchers this does not wait.
    pub fn end(mut self, ended: Result<&Run, &str>) {
        self.events = None;
        let composer = self.composing.take().and_then(|thread| thread.join().ok());
        match (ended, composer) {
            (Ok(run), Some(composer)) => {
                let is_watched = self.server.is_some() && self.feed.hub.watchers() > 0;
                if is_watched {
                    let report = report::html::html(run).into_bytes().into();
                    let record = model::json::pretty(&run.record).into_bytes().into();
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
        self.drain();
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

/// Encodes events until the queue is closed.
fn compose(queue: &Receiver<(Instant, Event)>, feed: &Feed, lost: &AtomicU64) -> Composer {
    let mut composer = Composer::new(Instant::now());
    for (at, event) in queue {
        if let Some(message) = composer.message(&event, at) {
            feed.publish(&message);
        }
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let text =
                format!("{lost} events came too fast to be shown; the run itself has all of them");
            feed.publish(&Message::Notice { text });
        }
    }
    composer
}
