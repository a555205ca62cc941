//! What shows a run while it goes on: browsers (`--live`), the terminal (`--tui`), and the process
//! of `ceiling run` or `ceiling journal serve` for which this one measures.

use crate::exit::Failure;
use crate::screen::{Screen, to_stderr};
use lab::Verdicts;
use live::message::Message;
use live::{Colours, Live, LiveError, Wanted};
use model::event::Event;
use model::experiment::{Experiment, Fate};
use model::load::Trial;
use model::run::Run;
use model::secret;
use plan::{Colour, LiveOptions, Options, Plan};
use stage::Progress;
use std::env;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Names the folder of the socket of a process that shows what this one measures.
pub const OUTLET: &str = "CEILING_LIVE";

/// The onlookers of one run.
pub struct Onlookers {
    live: Option<Live>,
    /// Whether the run is drawn in the terminal.
    is_drawn: bool,
    /// Notices that are reported after the drawing stops.
    held_back: Vec<Event>,
}

impl Onlookers {
    /// Opens what the options ask for, before the run starts.
    pub fn of_a_run(options: &Options, trial: &Trial) -> Result<Self, Failure> {
        let live = open(&options.live, &options.colour, &trial.cpus, None)?;
        if let Some(live) = &live {
            let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
            let version = env!("CARGO_PKG_VERSION");
            let title = format!("ceiling {} {}", trial.question.word(), trial.url);
            let subtitle = format!("{now}, ceiling {version}, seed {}", trial.seed);
            live.begin(&secret::text(&title), &subtitle);
            announce(live);
        }
        Ok(Self { live, is_drawn: options.live.tui, held_back: Vec::new() })
    }

    /// Whether anything shows the run.
    pub fn are_any(&self) -> bool {
        self.live.is_some()
    }

    /// How much is judged before the end, so that it can be shown.
    pub fn verdicts(&self) -> Verdicts {
        if self.are_any() { Verdicts::AlsoMeanwhile } else { Verdicts::OfLevels }
    }

    /// Sends an event to all of them, and prints it on the screen unless the terminal is drawn.
    pub fn tell(&mut self, event: Event, screen: &mut Screen) {
        match &event {
            Event::Notice(_) if self.is_drawn => self.held_back.push(event.clone()),
            _ if self.is_drawn => {}
            event => screen.show(event),
        }
        if let Some(live) = &self.live {
            live.tell(event);
        }
    }

    /// Restores the terminal, and prints the notices that were held back.
    pub fn stop_drawing(&mut self, screen: &mut Screen) {
        if let Some(live) = &mut self.live {
            live.stop_drawing();
        }
        self.held_back.drain(..).for_each(|event| screen.show(&event));
    }

    /// Shows all of them how the run ended.
    pub fn end(self, ended: Result<&Run, &str>) {
        if let Some(live) = self.live {
            live.end(ended);
        }
    }
}

/// The folder in a journal where `ceiling journal serve` receives what is being measured.
pub const OF_JOURNAL: &str = ".live";
/// How many folders, from a result upwards, are searched for its journal.
const JOURNAL_ABOVE: usize = 3;

/// Opens what the options ask for; `None` when nothing shows the run. Workers are pinned to
/// `taken_cpus`; `journal` is the folder where a served journal receives runs.
fn open(
    options: &LiveOptions,
    colour: &Colour,
    taken_cpus: &[usize],
    journal: Option<PathBuf>,
) -> Result<Option<Live>, Failure> {
    let listen = options.live.as_ref().map(|address| address.0);
    let colours = if colour.is_plain() { Colours::None } else { Colours::Some };
    let wanted = Wanted {
        listen,
        terminal: options.tui.then_some(colours),
        outlet: env::var_os(OUTLET).filter(|path| !path.is_empty()).map(PathBuf::from).or(journal),
        taken_cpus: taken_cpus.to_vec(),
    };
    if let Some(warning) = listen.and_then(warning) {
        to_stderr(&format!("ceiling: {warning}"));
    }
    Live::start(&wanted).map_err(refused)
}

/// Prints the URL, once the page has a title.
fn announce(live: &Live) {
    if let Some(url) = live.url() {
        to_stderr(&format!("ceiling: live at {url}"));
    }
}

/// The warning for an address that other hosts can reach.
pub fn warning(address: SocketAddr) -> Option<String> {
    (!address.ip().is_loopback()).then(|| {
        format!(
            "{address} can be reached from other hosts: anyone there can read the run, without a \
             password and unencrypted"
        )
    })
}

fn refused(error: LiveError) -> Failure {
    Failure::Usage(match error {
        LiveError::Listen(address, error) => format!(
            "--live={address}: cannot listen there: {error}; give an address of this host and a \
             free port, for example --live=127.0.0.1:0"
        ),
        error => error.to_string(),
    })
}

/// The onlookers of an experiment. Each of its cells is measured by a process of its own, which
/// sends its events to this one.
pub struct OfExperiment {
    live: Option<Live>,
    folder: Option<PathBuf>,
}

impl OfExperiment {
    /// Opens what the options ask for, before the experiment starts. If its result is in a journal
    /// that is being served, the journal shows it.
    pub fn open(
        options: &LiveOptions,
        colour: &Colour,
        plan: &Plan,
        result: Option<&Path>,
    ) -> Result<Self, Failure> {
        let above = result.into_iter().flat_map(|folder| folder.ancestors().take(JOURNAL_ABOVE));
        let journal = above.map(|folder| folder.join(OF_JOURNAL)).find(|folder| folder.is_dir());
        let Some(mut live) = open(options, colour, &[], journal)? else {
            return Ok(Self { live: None, folder: None });
        };
        // A process id can repeat after a process ends.
        let name = format!("ceiling-live-{}", std::process::id());
        let folder = env::temp_dir().join(name);
        live.take_in(&folder).map_err(|error| {
            Failure::File(format!("{}: cells cannot send here: {error}", folder.display()))
        })?;
        live.publish(&Message::Experiment { title: plan.question.clone() });
        announce(&live);
        Ok(Self { live: Some(live), folder: Some(folder) })
    }

    /// The environment of a process that measures a cell.
    pub fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        self.folder.iter().map(|folder| (OUTLET, folder.clone())).collect()
    }

    /// Sends the progress of the experiment.
    pub fn tell(&self, progress: Progress<'_>, plan: &Plan) {
        let Some(live) = &self.live else { return };
        match progress {
            Progress::Visit(index) => {
                let visits = plan.visits();
                let name = plan.cells[visits[index].cell].name.clone();
                live.begin_visit(index, visits.len(), name);
            }
            Progress::Starting(name) => {
                live.publish(&Message::Doing { text: format!("starting {name}") });
            }
            Progress::Ended(result, _) => {
                if let Fate::Failed { why } = &result.fate {
                    live.publish(&Message::Failed { why: why.clone() });
                }
            }
        }
    }

    /// Restores the terminal.
    pub fn stop_drawing(&mut self) {
        if let Some(live) = &mut self.live {
            live.stop_drawing();
        }
    }

    /// Shows the result.
    pub fn end(self, experiment: &Experiment, runs: &[Option<Run>]) {
        if let Some(live) = self.live {
            let page = report::html_experiment(experiment, runs).into_bytes();
            live.end_experiment(page, model::json::pretty(experiment).into_bytes());
        }
    }
}
