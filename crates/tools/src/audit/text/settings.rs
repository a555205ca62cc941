//! What commands in a text say about the figures below them.
//!
//! The options of a command belong to the figures that follow it, up to the next command. Options
//! in a sentence change those of the command before. Where a sentence or a table in between states
//! another value of the same thing, the text does not tell which of them a figure is of, so then
//! none is. A depth may also be stated by sentences alone, and anywhere before the next command.

use super::found::{Found, Role};
use super::prose;
use crate::audit::command::{self, Facts};
use crate::audit::page::Page;
use crate::command_line::CommandLine;
use model::audit::{Figure, Foreign, Why};
use std::collections::BTreeSet;

/// The most characters of a command.
const COMMAND_MAX: usize = 4000;
/// The most stretches between commands.
const STRETCHES_MAX: usize = 2000;

/// The place of the depth among the facts.
const DEPTH: usize = 1;

/// The lines from one command to the next.
#[derive(Debug, Default)]
struct Stretch {
    begin: u64,
    facts: Facts,
    /// What sentences and tables say in it of connections, depth and threads.
    stated: [Vec<Option<Figure>>; 3],
    /// What they say of connections x depth.
    in_flight: Vec<Figure>,
}

pub(super) struct Settings {
    stretches: Vec<Stretch>,
    /// Lines that are nothing but a command.
    pub lines: BTreeSet<u64>,
    /// Figures of commands that no account took yet.
    open: Vec<Figure>,
    /// Figures that accounts took.
    taken: BTreeSet<(u64, String)>,
}

impl Settings {
    /// Reads the commands of a text, but not those in lines that are read as something else.
    pub(super) fn of(page: Page<'_>, others: &BTreeSet<u64>) -> Self {
        let mut of = Self {
            stretches: vec![Stretch::default()],
            lines: BTreeSet::new(),
            open: Vec::new(),
            taken: BTreeSet::new(),
        };
        let mut last: Option<&'static CommandLine> = None;
        let (mut typed, mut begin) = (String::new(), 0);
        for spot in page.lines().filter(|spot| !others.contains(&spot.line)) {
            begin = if typed.is_empty() { spot.line } else { begin };
            typed += spot.text.trim_end();
            if typed.ends_with('\\') && typed.len() < COMMAND_MAX {
                typed.pop();
                continue;
            }
            of.line(&std::mem::take(&mut typed), (begin, spot.line), &mut last);
        }
        of
    }

    fn line(&mut self, text: &str, of: (u64, u64), last: &mut Option<&'static CommandLine>) {
        let (begin, end) = of;
        // Commands in a sentence stand between marks, or go on to its end.
        let pieces = text.split('`').filter(|piece| piece.contains(' '));
        let whole = command::typed(text, begin);
        let is_alone = whole.is_some() && is_alone(text);
        let facts = whole.or_else(|| pieces.filter_map(|of| command::typed(of, begin)).next_back());
        *last = command::last_named(text).or(*last);
        let before = self.stretches.last().map(|one| one.facts.clone()).unwrap_or_default();
        let facts = match facts {
            Some(facts) => facts,
            None if command::is_other_load(text) => Facts::default(),
            None => {
                let options = last.map(|of| command::options_typed(text, begin, of));
                let Some(facts) = options.and_then(|options| changed(&before, options)) else {
                    return;
                };
                facts
            }
        };
        if is_alone {
            self.lines.extend(begin..=end);
            let own = facts.iter().flatten().flatten().filter(|figure| figure.line == begin);
            self.open.extend(own.cloned());
        }
        if self.stretches.len() < STRETCHES_MAX {
            self.stretches.push(Stretch { begin, facts, ..Stretch::default() });
        }
    }

    /// Remembers what sentences and tables say.
    pub(super) fn hear(&mut self, found: &[Found]) {
        for one in found {
            let figure = Some(one.figure.clone());
            let (at, figure) = match one.role {
                Role::Connections => (0, figure),
                Role::InFlight => {
                    self.stretch(one.figure.line).in_flight.push(one.figure.clone());
                    continue;
                }
                Role::Depth => (1, figure),
                Role::Threads => (2, figure),
                _ => continue,
            };
            self.stretch(one.figure.line).stated[at].push(figure);
        }
    }

    /// Remembers what lines say of the depth.
    pub(super) fn hear_depths(&mut self, page: Page<'_>) {
        for spot in page.lines() {
            if let Some(depth) = prose::depth(spot) {
                self.stretch(spot.line).stated[1].push(depth);
            }
        }
    }

    fn stretch(&mut self, line: u64) -> &mut Stretch {
        let at = self.stretches.partition_point(|one| one.begin <= line);
        &mut self.stretches[at.max(1) - 1]
    }

    /// Adds to an account what the command above it says.
    pub(super) fn complete(&mut self, account: &mut Foreign, line: u64) {
        let stretch = self.stretch(line);
        let fact = |at: usize| {
            let typed = stretch.facts[at].clone();
            let stated = stretch.stated.get(at).map_or(&[][..], Vec::as_slice);
            // Other connections further down are those of other figures.
            let is_heard = |one: &&Option<Figure>| {
                at > 0 || one.as_ref().is_none_or(|figure| figure.line <= line)
            };
            let heard = stated.iter().filter(is_heard).cloned();
            let mut all = typed.clone().into_iter().chain(heard);
            let first = all.next()??;
            let is_above = first.line <= line;
            let is_same = |one: Option<Figure>| one.is_some_and(|one| one.value == first.value);
            let is_sure = at == DEPTH || typed.is_some();
            (is_sure && is_above && all.all(is_same)).then_some(first)
        };
        let depth = fact(DEPTH);
        let each = depth.as_ref().map_or(1.0, |depth| depth.value);
        let is_held = |connections: &Figure| {
            let is_it = |all: &Figure| all.value == each || all.value == connections.value * each;
            stretch.in_flight.iter().filter(|all| all.line <= line).all(is_it)
        };
        let facts = [fact(0).filter(is_held), depth, fact(2), fact(3)];
        let own = [
            &mut account.connections,
            &mut account.depth,
            &mut account.threads,
            &mut account.asked_s,
        ];
        for (own, fact) in own.into_iter().zip(facts) {
            if own.is_none()
                && let Some(fact) = fact
            {
                self.taken.insert((fact.line, fact.printed.clone()));
                *own = Some(fact);
            }
        }
    }

    /// Divides what no account has into what one took from a command or a sentence, and the rest.
    /// How many were taken, and the rest.
    pub(super) fn rest(self, unread: Vec<Found>) -> (u64, Vec<Found>) {
        let is_taken =
            |figure: &Figure| self.taken.contains(&(figure.line, figure.printed.clone()));
        let typed = self.open.iter().filter(|figure| figure.line > 0);
        let typed =
            typed.map(|figure| Found { role: Role::Open(Why::Alone), figure: figure.clone() });
        let all = unread.into_iter().chain(typed);
        let (taken, rest): (Vec<Found>, Vec<Found>) = all.partition(|one| is_taken(&one.figure));
        (taken.len() as u64, rest)
    }
}

/// What options in a sentence change of the facts before; none if they change nothing.
fn changed(before: &Facts, options: Facts) -> Option<Facts> {
    let value = |fact: &Option<Option<Figure>>| {
        fact.as_ref().map(|figure| figure.as_ref().map(|figure| figure.value))
    };
    let mut facts = before.clone();
    let mut is_changed = false;
    for (fact, option) in facts.iter_mut().zip(options) {
        if option.is_some() && value(fact) != value(&option) {
            (*fact, is_changed) = (option, true);
        }
    }
    is_changed.then_some(facts)
}

/// Whether a line is a command and not a sentence that has one.
fn is_alone(text: &str) -> bool {
    let text = text.trim_start_matches(['$', '#', '>', ' ']);
    !text.starts_with(char::is_uppercase) && !text.trim_end().ends_with(['.', ':'])
}
