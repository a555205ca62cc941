//! The current state of a run, from the messages so far.

use crate::message::{Begin, Conclusion, Message, Tick};
use model::host_now::HostNow;
use std::collections::VecDeque;

/// How many ticks are kept: as many as fit into a drawing in the terminal.
const TICKS_KEPT: usize = 600;
/// How many notices and levels are kept.
const LINES_KEPT: usize = 200;

/// The state of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum State {
    /// No run has started.
    #[default]
    Waiting,
    /// The run goes on.
    Running,
    /// The run has ended, and its conclusion is final.
    Ended,
    /// The run has ended without a result.
    Failed,
}

/// Everything that is shown of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Now {
    /// The state.
    pub state: State,
    /// Its experiment, and the visit.
    pub experiment: Option<(String, String)>,
    /// Whether a visit was told of since the last run began.
    is_of_visit: bool,
    /// Title and subtitle.
    pub begin: Begin,
    /// The current level.
    pub level: String,
    /// The current activity other than a level.
    pub doing: String,
    /// The latest ticks, oldest first.
    pub ticks: VecDeque<Tick>,
    /// What the hosts did in the last second.
    pub hosts: Vec<HostNow>,
    /// Levels that have ended.
    pub levels: VecDeque<String>,
    /// The conclusion so far, and its time; final if the run has ended.
    pub conclusion: Option<(f64, Conclusion)>,
    /// Notices, and the reason if there is no result.
    pub notices: VecDeque<String>,
    /// Whether report and record can be fetched.
    pub has_report: bool,
}

impl Now {
    /// Updates the state by a message.
    pub fn apply(&mut self, message: &Message) {
        match message {
            Message::Reset => *self = Self::default(),
            Message::Experiment { title } => {
                *self = Self::default();
                self.experiment = Some((title.clone(), String::new()));
            }
            Message::Visit { index, of, name } => {
                let title = self.experiment.take().map_or_else(String::new, |(title, _)| title);
                self.experiment = Some((title, format!("visit {} of {of}: {name}", index + 1)));
                self.is_of_visit = true;
            }
            Message::Begin(begin) => {
                // A run without a visit before it is of no experiment.
                let experiment = self.experiment.take().filter(|_| self.is_of_visit);
                let state = State::Running;
                *self = Self { state, experiment, begin: begin.clone(), ..Self::default() };
            }
            Message::Level { index, of, text, .. } => {
                let place = match of {
                    0 => format!("trial {}", index + 1),
                    of => format!("level {} of {of}", index + 1),
                };
                (self.level, self.doing) = (format!("{place}: {text}"), String::new());
            }
            Message::Tick(tick) => push(&mut self.ticks, tick.clone(), TICKS_KEPT),
            Message::Hosts { hosts } => self.hosts.clone_from(hosts),
            Message::Doing { text } => self.doing.clone_from(text),
            Message::Notice { text } => push(&mut self.notices, text.clone(), LINES_KEPT),
            Message::Point { text, .. } => push(&mut self.levels, text.clone(), LINES_KEPT),
            Message::Present { t_s, conclusion } => {
                self.conclusion = Some((*t_s, conclusion.clone()));
            }
            Message::End { t_s, conclusion, .. } => {
                self.state = State::Ended;
                self.conclusion = Some((*t_s, conclusion.clone()));
            }
            Message::Failed { why } => {
                self.state = State::Failed;
                push(&mut self.notices, why.clone(), LINES_KEPT);
            }
            Message::Over { has_report } => self.has_report = *has_report,
            Message::Gap { .. } => {}
        }
    }

    /// The latest tick.
    pub fn tick(&self) -> Option<&Tick> {
        self.ticks.back()
    }

    /// The stage in a few words.
    pub fn stage(&self) -> String {
        match self.state {
            State::Waiting => "no run is under way".to_string(),
            State::Failed => "ended without a result".to_string(),
            State::Ended => "ended".to_string(),
            State::Running if !self.doing.is_empty() => self.doing.clone(),
            State::Running => self.tick().map_or("starting".to_string(), |tick| tick.stage.clone()),
        }
    }
}

/// Appends, and removes the oldest beyond a limit.
fn push<T>(all: &mut VecDeque<T>, one: T, most: usize) {
    if all.len() == most {
        all.pop_front();
    }
    all.push_back(one);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_begins_forgets_the_one_before_but_not_its_experiment() {
        let mut now = Now::default();
        assert_eq!(now.stage(), "no run is under way");
        let begin =
            |title: &str| Message::Begin(Begin { title: title.to_string(), ..Begin::default() });
        now.apply(&Message::Experiment { title: "plan".to_string() });
        now.apply(&Message::Visit { index: 1, of: 4, name: "free".to_string() });
        now.apply(&begin("one"));
        now.apply(&Message::Tick(Tick { stage: "measuring".to_string(), ..Tick::default() }));
        assert_eq!(now.stage(), "measuring");
        now.apply(&Message::Visit { index: 1, of: 4, name: "free".to_string() });
        now.apply(&begin("two"));
        assert!(now.ticks.is_empty() && now.begin.title == "two");
        let (title, visit) = now.experiment.clone().unwrap();
        assert_eq!((title.as_str(), visit.as_str()), ("plan", "visit 2 of 4: free"));
        now.apply(&begin("a run of its own"));
        assert_eq!(now.experiment, None, "it belongs to no experiment");
        now.apply(&Message::Failed { why: "no response".to_string() });
        assert_eq!((now.state, now.notices.len()), (State::Failed, 1));
    }

    #[test]
    fn it_does_not_grow_with_the_run() {
        let mut now = Now::default();
        (0..5000).for_each(|_| now.apply(&Message::Tick(Tick::default())));
        (0..5000).for_each(|_| now.apply(&Message::Notice { text: String::new() }));
        assert_eq!((now.ticks.len(), now.notices.len()), (TICKS_KEPT, LINES_KEPT));
    }
}
