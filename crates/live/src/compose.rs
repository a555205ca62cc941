//! Makes messages from the events of a run.

use crate::message::{Conclusion, Counts, Message, Tick};
use model::event::{Event, Progress};
use model::figure::Whose;
use model::run::Run;
use report::page::{Block, Tone};
use report::progress::{LevelInfo, Pace, level_words, point_line};
use std::time::Instant;

/// Columns of the line of a level: pages wrap it.
const COLUMNS: usize = 200;

/// Makes messages, and keeps the state that this needs.
#[derive(Debug)]
pub struct Composer {
    begun: Instant,
    level: Option<LevelInfo>,
    /// How busy the hosts were at last: the generator's, and the server's if that is another.
    busy: [Option<f64>; 2],
}

impl Composer {
    /// A composer for a run that started at `begun`.
    pub fn new(begun: Instant) -> Self {
        Self { begun, level: None, busy: [None; 2] }
    }

    /// Seconds since the start of the run, rounded to milliseconds.
    fn t_s(&self, at: Instant) -> f64 {
        at.duration_since(self.begun).as_millis() as f64 / 1e3
    }

    /// The message of an event; `None` if watchers do not need one.
    pub fn message(&mut self, event: &Event, at: Instant) -> Option<Message> {
        let t_s = self.t_s(at);
        Some(match event {
            Event::Level { index, of, attempt, level } => {
                let visit = if *attempt > 1 { format!(", visit {attempt}") } else { String::new() };
                let text = level_words(level) + &visit;
                let info =
                    LevelInfo { index: *index, of: *of, attempt: *attempt, level: level.clone() };
                self.level = Some(info);
                Message::Level { index: *index, of: *of, text, t_s }
            }
            Event::Progress(progress) => Message::Tick(tick(progress, t_s, self.busy)),
            Event::Hosts(hosts) => {
                let of = |whose| hosts.iter().find(|host| host.sides.first() == Some(&whose));
                self.busy = Whose::ALL.map(|whose| of(whose)?.busy());
                Message::Hosts { hosts: hosts.clone() }
            }
            Event::Block { what, block, of } => {
                Message::Doing { text: format!("{what}, block {block} of {of}") }
            }
            Event::Notice(text) => Message::Notice { text: text.clone() },
            Event::Point(point) => {
                let pace = Pace { elapsed_s: t_s, ..Pace::default() };
                let line = |info: &LevelInfo| point_line(info, &pace, point, COLUMNS);
                Message::Point { text: self.level.as_ref().map(line)?, t_s }
            }
            Event::Present(run) => Message::Present { t_s, conclusion: conclusion(run) },
            Event::Profile { .. } => return None,
        })
    }

    /// The message of the end of a run.
    pub fn end(&self, run: &Run) -> Message {
        let (id, t_s) = (run.record.id.clone(), self.t_s(Instant::now()));
        Message::End { id, t_s, conclusion: conclusion(run) }
    }
}

/// Rounds to the digits that are shown, because messages are sent often.
fn rounded(value: f64, places: i32) -> f64 {
    let scale = 10_f64.powi(places);
    (value * scale).round() / scale
}

fn tick(progress: &Progress, t_s: f64, [client_busy, server_busy]: [Option<f64>; 2]) -> Tick {
    let (counts, rate) = match (progress.connection_rate, progress.event_rate) {
        (Some(rate), _) => (Counts::Connections, rate),
        (_, Some(rate)) => (Counts::Events, rate),
        _ => (Counts::Responses, progress.rate),
    };
    let share = |value: Option<f64>| value.map(|value| rounded(value, 3));
    Tick {
        t_s,
        stage: progress.stage.to_string(),
        done: share(progress.done.map(|done| done.clamp(0.0, 1.0))),
        in_flight: progress.in_flight,
        open: progress.open,
        counts,
        rate: rounded(rate, 1),
        p50_ns: progress.p50_ns,
        p99_ns: progress.p99_ns,
        client_cpus: share(progress.client_cpus),
        server_cpus: share(progress.server_cpus),
        client_busy: share(client_busy),
        server_busy: share(server_busy),
        failures: progress.failures,
        failed: progress.failed.clone(),
    }
}

/// The conclusion of a run, from the blocks of its report.
pub fn conclusion(run: &Run) -> Conclusion {
    let page = report::so_far(run);
    let banner = page.blocks.iter().find_map(|block| match block {
        Block::Banner(banner) => Some(banner),
        _ => None,
    });
    let tone = match banner.map(|banner| banner.tone) {
        Some(Tone::Good) => "good",
        Some(Tone::Neutral) | None => "neutral",
        Some(Tone::Caution) => "caution",
        Some(Tone::Bad) => "bad",
    };
    let (text, lines) =
        banner.map_or_else(Default::default, |banner| (banner.text.clone(), banner.lines.clone()));
    Conclusion { tone: tone.to_string(), text, lines, html: report::html::blocks(&page) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::tests::made_up;
    use std::time::Duration;

    #[test]
    fn what_is_not_known_is_null_and_what_is_counted_is_named() {
        let progress = Progress {
            stage: "measuring",
            event_rate: Some(10.0 / 3.0),
            client_cpus: Some(1.0 / 3.0),
            ..Progress::default()
        };
        let begun = Instant::now();
        let mut composer = Composer::new(begun);
        let at = begun + Duration::from_micros(1_234_567);
        let message = composer.message(&Event::Progress(progress), at).unwrap();
        let Message::Tick(tick) = message else { panic!("{message:?}") };
        assert_eq!((tick.t_s, tick.rate, tick.counts), (1.234, 3.3, Counts::Events));
        assert_eq!((tick.client_cpus, tick.server_cpus, tick.p50_ns), (Some(0.333), None, None));
    }

    #[test]
    fn a_tick_says_how_busy_the_hosts_were_at_last() {
        let mut composer = Composer::new(Instant::now());
        let mut busy = |sides: &[&[Whose]]| {
            let hosts: Vec<_> = sides.iter().map(|sides| made_up(sides, 2)).collect();
            let told = composer.message(&Event::Hosts(hosts.clone()), Instant::now());
            assert_eq!(told, Some(Message::Hosts { hosts }));
            let tick = Event::Progress(Progress::default());
            match composer.message(&tick, Instant::now()) {
                Some(Message::Tick(tick)) => (tick.client_busy, tick.server_busy),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(busy(&[]), (None, None));
        assert_eq!(busy(&[&[Whose::Client], &[Whose::Server]]), (Some(0.573), Some(0.573)));
        assert_eq!(busy(&[&Whose::ALL]), (Some(0.573), None), "one host is one line");
        assert_eq!(busy(&[&[Whose::Server]]), (None, Some(0.573)), "of a fleet");
    }

    #[test]
    fn profiles_are_for_the_record_only() {
        let event = Event::Profile { path: String::new(), bytes: Vec::new() };
        assert_eq!(Composer::new(Instant::now()).message(&event, Instant::now()), None);
    }
}
