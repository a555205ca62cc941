//! The layout of the drawing, with the same values as on the page.

use super::Colours;
use crate::hosts;
use crate::message::{Conclusion, Tick};
use crate::now::{Now, State};
use crate::page::facts;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Span};
use ratatui_core::widgets::Widget;
use ratatui_widgets::paragraph::{Paragraph, Wrap};
use ratatui_widgets::sparkline::Sparkline;

/// How many facts a row has.
const FACTS_PER_ROW: usize = 3;
/// Columns of the title of figures over time.
const TITLE_COLUMNS: u16 = 5;

/// Draws everything from the top, as far as there is room.
pub(super) fn whole(frame: &mut Frame<'_>, now: &Now, colours: Colours) {
    let area = frame.area();
    let mut rows = Rows { area, used: 0 };
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let dim = Style::new().add_modifier(Modifier::DIM);
    let mut line = |rows: &mut Rows, text: Line<'_>| text.render(rows.take(1), frame.buffer_mut());
    if let Some((title, visit)) = &now.experiment {
        line(&mut rows, Line::styled(format!("{title}  {visit}"), dim));
    }
    line(&mut rows, Line::styled(now.begin.title.clone(), bold));
    line(&mut rows, stage(now));
    for few in facts(now.tick()).chunks(FACTS_PER_ROW) {
        line(&mut rows, fact_row(few, area.width, bold));
    }
    if let Some(tick) = now.tick().filter(|tick| !tick.failed.is_empty()) {
        let named = tick.failed.iter().take(5).map(|(name, count)| format!("{name}: {count}"));
        line(&mut rows, Line::raw(named.collect::<Vec<_>>().join(", ")));
    }
    for host in &now.hosts {
        for (nth, text) in hosts::lines(host, usize::from(area.width)).into_iter().enumerate() {
            let style = if nth == 0 { bold } else { Style::new() };
            line(&mut rows, Line::styled(text, style));
        }
    }
    // About half of the remaining rows show the figures over time, the rest the conclusion.
    let height = (rows.left().saturating_sub(2) / 2).min(12);
    let (upper, lower) = (height.div_ceil(2), height / 2);
    spark(frame, &mut rows, upper, ("Rate", dim), now, |tick| Some(tick.rate as u64));
    spark(frame, &mut rows, lower, ("p99", dim), now, |tick| tick.p99_ns);
    conclusion(frame, &mut rows, now, colours);
    let left = usize::from(rows.left().saturating_sub(1));
    let lines = now.levels.iter().chain(&now.notices);
    let skipped = (now.levels.len() + now.notices.len()).saturating_sub(left);
    for text in lines.skip(skipped) {
        Line::raw(text.clone()).render(rows.take(1), frame.buffer_mut());
    }
    let last = Rect { y: area.bottom().saturating_sub(1), height: 1.min(area.height), ..area };
    let hint = "Ctrl-C ends the run in order; the result is printed afterwards";
    if rows.left() > 0 {
        Line::styled(hint, dim).render(last, frame.buffer_mut());
    }
}

/// Rows from the top.
struct Rows {
    area: Rect,
    used: u16,
}

impl Rows {
    fn left(&self) -> u16 {
        self.area.height.saturating_sub(self.used)
    }

    /// The next rows; fewer if there are not enough.
    fn take(&mut self, rows: u16) -> Rect {
        let height = rows.min(self.left());
        let taken = Rect { y: self.area.y + self.used, height, ..self.area };
        self.used += height;
        taken
    }
}

/// The level, its stage, and how much of the stage is done.
fn stage(now: &Now) -> Line<'static> {
    let mut parts = vec![now.stage()];
    let tick = now.tick().filter(|_| now.state == State::Running);
    if let Some(done) = tick.and_then(|tick| tick.done) {
        parts.push(format!("{:.0} %", 100.0 * done));
    }
    if let Some(tick) = tick {
        parts.push(format!("{:.0} s", tick.t_s));
    }
    parts.extend(Some(now.level.clone()).filter(|level| !level.is_empty()));
    Line::raw(parts.join(", "))
}

fn fact_row(few: &[(&str, &str, String)], width: u16, bold: Style) -> Line<'static> {
    let room = usize::from(width) / FACTS_PER_ROW;
    let spans = few.iter().flat_map(|(_, name, value)| {
        let used = name.chars().count() + 1 + value.chars().count();
        let rest = " ".repeat(room.saturating_sub(used).max(1));
        [Span::raw(format!("{name} ")), Span::styled(value.clone(), bold), Span::raw(rest)]
    });
    Line::from(spans.collect::<Vec<_>>())
}

/// The latest values behind their title, as many as there are columns.
fn spark(
    frame: &mut Frame<'_>,
    rows: &mut Rows,
    height: u16,
    (title, dim): (&str, Style),
    now: &Now,
    value: fn(&Tick) -> Option<u64>,
) {
    if height == 0 {
        return;
    }
    let area = rows.take(height);
    let named = TITLE_COLUMNS.min(area.width);
    Line::styled(title.to_string(), dim).render(Rect { width: named, ..area }, frame.buffer_mut());
    let area = Rect { x: area.x + named, width: area.width - named, ..area };
    let skipped = now.ticks.len().saturating_sub(usize::from(area.width));
    let values: Vec<Option<u64>> = now.ticks.iter().skip(skipped).map(value).collect();
    Sparkline::default().data(values).render(area, frame.buffer_mut());
}

fn conclusion(frame: &mut Frame<'_>, rows: &mut Rows, now: &Now, colours: Colours) {
    let dim = Style::new().add_modifier(Modifier::DIM);
    let Some((t_s, said)) = &now.conclusion else {
        Line::styled("There is no verdict yet.", dim).render(rows.take(1), frame.buffer_mut());
        return;
    };
    let when = match now.state {
        State::Ended => "Verdict".to_string(),
        _ => format!("Verdict so far, after {t_s:.0} s"),
    };
    Line::styled(when, dim).render(rows.take(1), frame.buffer_mut());
    let style = Style::new().add_modifier(Modifier::BOLD);
    let style = match colours {
        Colours::None => style,
        Colours::Some => style.fg(colour(said)),
    };
    let mut text = vec![Line::styled(said.text.clone(), style)];
    text.extend(said.lines.iter().map(|line| Line::raw(line.clone())));
    // A sentence may need several rows, and levels and notices need rows as well.
    let width = usize::from(rows.area.width.max(1));
    let wrapped = |line: &Line<'_>| line.width().div_ceil(width).max(1);
    let needed = text.iter().map(wrapped).sum::<usize>();
    let height = rows.left().saturating_sub(1).min(6).min(u16::try_from(needed).unwrap_or(6));
    let paragraph = Paragraph::new(text).wrap(Wrap { trim: true });
    paragraph.render(rows.take(height), frame.buffer_mut());
}

fn colour(said: &Conclusion) -> Color {
    match said.tone.as_str() {
        "good" => Color::Green,
        "caution" => Color::Yellow,
        "bad" => Color::Red,
        _ => Color::Blue,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::tests::made_up;
    use crate::message::{Begin, Message};
    use model::figure::Whose;
    use ratatui_core::backend::TestBackend;
    use ratatui_core::terminal::Terminal;

    fn busy() -> Now {
        let mut now = Now::default();
        now.apply(&Message::Begin(Begin {
            title: "ceiling load http://127.0.0.1:8080/".to_string(),
            subtitle: "2026-11-23".to_string(),
        }));
        now.apply(&Message::Level {
            index: 0,
            of: 1,
            text: "64 connections".to_string(),
            t_s: 0.0,
        });
        for at in 0..100_u32 {
            now.apply(&Message::Tick(Tick {
                t_s: f64::from(at) / 5.0,
                stage: "measuring".to_string(),
                done: Some(f64::from(at) / 200.0),
                in_flight: Some(64),
                open: 64,
                rate: 40_000.0 + 100.0 * f64::from(at),
                p50_ns: Some(1_310_000),
                p99_ns: (at > 50).then_some(4_200_000 + u64::from(at) * 10_000),
                client_cpus: Some(0.42),
                server_cpus: Some(3.98),
                failures: 12,
                failed: vec![("503".to_string(), 10), ("reset".to_string(), 2)],
                ..Tick::default()
            }));
        }
        now.apply(&Message::Present {
            t_s: 19.0,
            conclusion: Conclusion {
                tone: "good".to_string(),
                text: "AT LEAST 49.1k/s (48.8k to 49.4k inside this run)".to_string(),
                lines: vec!["Wall: server CPUs (S1), likely.".to_string()],
                html: String::new(),
            },
        });
        now.apply(&Message::Notice { text: "raised the limit of open files".to_string() });
        now
    }

    fn drawn(now: &Now, columns: u16, rows: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| whole(frame, now, Colours::Some)).unwrap();
        terminal.backend().to_string()
    }

    /// The same with both hosts, of this many CPUs each.
    fn with_hosts(cpus: u32) -> Now {
        let mut now = busy();
        let hosts = Whose::ALL.map(|whose| made_up(&[whose], cpus)).to_vec();
        now.apply(&Message::Hosts { hosts });
        now
    }

    #[test]
    fn both_hosts_fit_a_usual_terminal_with_few_cpus_and_with_many() {
        insta::assert_snapshot!("two_cpus", drawn(&with_hosts(2), 80, 24));
        insta::assert_snapshot!("many_cpus", drawn(&with_hosts(64), 80, 24));
    }

    #[test]
    fn a_run_under_way_fits_a_usual_terminal() {
        insta::assert_snapshot!("busy", drawn(&busy(), 80, 24));
    }

    #[test]
    fn before_and_after_it_says_so() {
        let mut now = Now::default();
        assert!(drawn(&now, 80, 24).contains("no run is under way"));
        now = busy();
        let (_, conclusion) = now.conclusion.clone().unwrap();
        now.apply(&Message::End { id: "x".to_string(), t_s: 20.0, conclusion });
        let ended = drawn(&now, 80, 24);
        assert!(ended.contains("Verdict ") && !ended.contains("so far"), "{ended}");
    }

    #[test]
    fn no_size_is_too_small() {
        for (columns, rows) in [(1, 1), (1, 40), (200, 1), (7, 3), (30, 9)] {
            drawn(&busy(), columns, rows);
            drawn(&with_hosts(8), columns, rows);
        }
    }
}
