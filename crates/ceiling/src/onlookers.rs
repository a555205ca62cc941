//! Who looks on while a run goes on: browsers (`--live`), the terminal (`--tui`), and the process
//! of `ceiling run` or `ceiling journal serve` that this one measures for.

use crate::exit::Failure;
use crate::screen::Screen;
use lab::Verdicts;
use lab::experiment::Progress;
use live::message::Message;
use live::{Colours, Live, LiveError, Wanted};
use model::event::Event;
use model::experiment::{Experiment, Fate};
use model::load::Trial;
use model::run::Run;
use model::secret;
use plan::{Colour, LiveOptions, Options, Plan};
use std::env;
use std::io::{Write, stderr};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Names the folder of the socket of a process that shows what this one measures.
pub const OUTLET: &str = "CEILING_LIVE";

/// Those of one run, and of the terminal.
pub struct Onlookers {
    live: Option<Live>,
    /// Whether the terminal is drawn on.
    is_drawn: bool,
    /// What was noticed meanwhile is reported afterwards.
    held_back: Vec<Event>,
}

impl Onlookers {
    /// Opens what is asked for of a run that is about to begin.
    pub fn of_a_run(options: &Options, trial: &Trial) -> Result<Self, Failure> {
        let live = open(&options.live, &options.colour, &trial.cpus, None)?;
        if let Some(live) = &live {
            let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
            let version = env!("CARGO_PKG_VERSION");
            let title = format!("ceiling {} {}", trial.question.word(), trial.url);
            let subtitle = format!("{now}, ceiling {version}, seed {}", trial.seed);
            live.begin(&secret::text(&title), &subtitle);
        }
        Ok(Self { live, is_drawn: options.live.tui, held_back: Vec::new() })
    }

    /// Whether there are any.
    pub fn are_any(&self) -> bool {
        self.live.is_some()
    }

    /// How much is judged for them before the end.
    pub fn verdicts(&self) -> Verdicts {
        if self.are_any() { Verdicts::AlsoMeanwhile } else { Verdicts::OfLevels }
    }

    /// Tells them, and draws lines where the terminal is not drawn on.
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

    /// Gives the terminal back, and tells what was noticed meanwhile.
    pub fn stop_drawing(&mut self, screen: &mut Screen) {
        if let Some(live) = &mut self.live {
            live.stop_drawing();
        }
        self.held_back.drain(..).for_each(|event| screen.show(&event));
    }

    /// Shows them how it ended.
    pub fn end(self, ended: Result<&Run, &str>) {
        if let Some(live) = self.live {
            live.end(ended);
        }
    }
}

/// The folder in a journal that `ceiling journal serve` takes in what is measured by.
pub const OF_JOURNAL: &str = ".live";
/// So far above a result is its journal.
const JOURNAL_ABOVE: usize = 3;

/// Opens what is asked for, and says where it is; nothing when there are no watchers. `taken_cpus`
/// are those the workers are pinned to, `journal` is where a journal that is served takes runs in.
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
        let _ = writeln!(stderr(), "ceiling: {warning}");
    }
    let live = Live::start(&wanted).map_err(refused)?;
    if let Some(url) = live.as_ref().and_then(Live::url) {
        let _ = writeln!(stderr(), "ceiling: live at {url}");
    }
    Ok(live)
}

/// What has to be known of an address that others reach.
pub fn warning(address: SocketAddr) -> Option<String> {
    (!address.ip().is_loopback()).then(|| {
        format!(
            "{address} can be reached from other hosts: whoever reaches it reads the run, without \
             a password and unencrypted"
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

/// Those of an experiment. Its cells are measured by processes of their own, which send what
/// happens to this one.
pub struct OfExperiment {
    live: Option<Live>,
    folder: Option<PathBuf>,
}

impl OfExperiment {
    /// Opens what is asked for of an experiment that is about to begin.
    /// A journal around the folder of its result shows it when it is served.
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
        // Of processes that end there is one more, and each may have the same number again.
        let name = format!("ceiling-live-{}", std::process::id());
        let folder = env::temp_dir().join(name);
        live.take_in(&folder).map_err(|error| {
            Failure::File(format!("{}: cells cannot send here: {error}", folder.display()))
        })?;
        live.publish(&Message::Experiment { title: plan.question.clone() });
        Ok(Self { live: Some(live), folder: Some(folder) })
    }

    /// What a process that measures a cell is told.
    pub fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        self.folder.iter().map(|folder| (OUTLET, folder.clone())).collect()
    }

    /// Tells of progress.
    pub fn tell(&self, progress: Progress<'_>, plan: &Plan) {
        let Some(live) = &self.live else { return };
        match progress {
            Progress::Visit(index) => {
                let visits = plan.visits();
                let name = plan.cells[visits[index].cell].name.clone();
                live.publish(&Message::Visit { index, of: visits.len(), name });
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

    /// Gives the terminal back.
    pub fn stop_drawing(&mut self) {
        if let Some(live) = &mut self.live {
            live.stop_drawing();
        }
    }

    /// Shows the result.
    pub fn end(self, experiment: &Experiment, runs: &[Option<Run>]) {
        if let Some(live) = self.live {
            let page = report::html_experiment(experiment, runs).into_bytes();
            live.end_experiment(page, report::json::json(experiment));
        }
    }
}
