//! The contents of a directory of runs: one row per run, newest first.

use crate::page::{Block, Column, Mark, Page, Table};
use crate::wording::{or_dash, per_second, plural};
use jiff::Timestamp;
use model::inventory::{Found, Inventory, Item, State};
use model::units::show_bytes;
use model::verdict::{Confidence, Named};
use model::wall::Side;

/// The page of a directory of runs.
pub fn inventory(of: &Inventory, now: Timestamp) -> Page {
    let whole = format!("{}, {}", plural(of.count, "run"), show_bytes(of.bytes as f64));
    let blocks = match of.runs.is_empty() {
        true => vec![Block::Text("There are no runs.".to_string())],
        false => vec![Block::Table(table(of, now))],
    };
    Page {
        title: "ceiling runs".to_string(),
        subtitle: format!("{whole} in {}", of.directory),
        blocks,
    }
}

fn table(of: &Inventory, now: Timestamp) -> Table {
    // Names and times are never cut: the user types them in the next command.
    let mut columns = vec![Column::numbers("id"), Column::numbers("ago")];
    columns.extend([Column::words("command"), Column::numbers("rate")]);
    columns.extend([Column::words("verdict"), Column::numbers("size"), Column::words("url")]);
    let mut table = Table::new(columns);
    for item in &of.runs {
        let (mark, verdict) = verdict(item);
        let url = item.url.as_ref().map(|url| url.strip_prefix("http://").unwrap_or(url));
        table.push(
            mark,
            vec![
                item.short.clone(),
                or_dash(item.started_at.parse().ok(), |at| age(now, at)),
                or_dash(item.command.clone(), |command| command),
                or_dash(item.rate, per_second),
                verdict,
                show_bytes(item.bytes as f64),
                or_dash(url, str::to_string),
            ],
        );
    }
    let older = of.count.saturating_sub(of.runs.len() as u64);
    if older > 0 {
        table.notes.push(format!("{} not listed: --limit all.", plural(older, "older run")));
    }
    table
}

fn verdict(item: &Item) -> (Mark, String) {
    if let Some(why) = &item.unreadable {
        return (Mark::Broken, format!("cannot be read: {why}"));
    }
    match (item.state, &item.found) {
        (State::BeingWritten, _) => (Mark::None, "being written".to_string()),
        (State::Unfinished, None) => (Mark::Caution, "did not end".to_string()),
        (_, Some(found)) => found_words(found),
        (State::Done, None) => (Mark::None, "-".to_string()),
    }
}

fn found_words(found: &Found) -> (Mark, String) {
    match found {
        Found::Experiment { cells, measured } => {
            let mark = if measured < cells { Mark::Caution } else { Mark::None };
            (mark, format!("{measured} of {} measured", plural(*cells, "cell")))
        }
        Found::Run { valid, wall: Named::Wall(wall), name, confidence } => {
            let doubt = if *confidence == Confidence::Suspected { "?" } else { "" };
            let wall_said = format!("{name} ({}{doubt})", wall.id());
            match (valid, wall.side()) {
                (true, _) => (Mark::None, wall_said),
                (false, Side::Client) => (Mark::Caution, format!("generator: {wall_said}")),
                (false, _) => (Mark::Broken, format!("not valid: {wall_said}")),
            }
        }
        Found::Run { valid: false, .. } => (Mark::Broken, "not valid".to_string()),
        Found::Run { wall: Named::None, .. } => (Mark::None, "no wall".to_string()),
        Found::Run { .. } => (Mark::None, "unknown".to_string()),
    }
}

/// The age in the largest unit that is at least 1.
fn age(now: Timestamp, at: Timestamp) -> String {
    let seconds = (now.as_second() - at.as_second()).max(0);
    let units = [(86_400, "d"), (3600, "h"), (60, "m"), (1, "s")];
    let (length, unit) =
        units.into_iter().find(|(length, _)| seconds >= *length).unwrap_or((1, "s"));
    format!("{}{unit}", seconds / length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use model::inventory::SCHEMA;

    fn item(id: &str, state: State) -> Item {
        let (date, time) = (format!("2026-01-{}", &id[6..8]), format!("{}:00:00Z", &id[9..11]));
        let item = Item::unknown(id, format!("{date}T{time}"), state);
        Item { short: id[16..].to_string(), bytes: 1_234_567, ..item }
    }

    #[test]
    fn the_list_reads_like_this() {
        let (experiment, _) = fixtures::experiment();
        let cut = "run.json: EOF while parsing a value at line 1";
        let mut runs = vec![
            item("20260109T120000-00000001", State::BeingWritten),
            item("20260109T110000-00000002", State::Unfinished),
            Item {
                unreadable: Some(cut.to_string()),
                ..item("20260108T110000-00000003", State::Done)
            },
            item("20260107T110000-spectrum", State::Done).of_experiment(&experiment),
        ];
        let fixtures = [
            fixtures::ramp_quota(),
            fixtures::ramp_generator(),
            fixtures::ramp_invalid(),
            fixtures::ramp_no_wall(),
            fixtures::load_unwatched(),
            fixtures::find_answer(),
        ];
        for (at, run) in fixtures.into_iter().enumerate() {
            let item = item(&format!("2026010{}T100000-1f3a9c0{at}", 6 - at), State::Done);
            runs.push(item.of_record(&run.record));
        }
        let of = Inventory {
            schema: SCHEMA.to_string(),
            directory: "out/runs".to_string(),
            runs,
            count: 212,
            bytes: 294_000_000,
        };
        let now = "2026-01-09T12:00:07Z".parse().unwrap();
        let text = crate::text_inventory(&of, now, crate::Style::PLAIN);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!("inventory", text);
        let none = Inventory { runs: vec![], count: 0, bytes: 0, ..of };
        let text = crate::text_inventory(&none, now, crate::Style::PLAIN);
        assert!(text.contains("There are no runs."), "{text}");
    }
}
