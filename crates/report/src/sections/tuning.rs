//! Knobs: what would be changed and what that would do, what is changed, and what was put back.

use crate::page::{Block, Column, List, ListKind, Mark, Page, Table};
use crate::wording::plural;
use model::tuning::{Basis, Fate, Prediction, Row, TakesEffect};

/// A plan: `run` is the run whose verdict predicts, when there is one.
pub fn plan(rows: &[Row], run: Option<&str>) -> Page {
    let mut blocks = vec![Block::Text(match run {
        Some(run) => format!("Nothing is changed. Effects are predicted from run {run}."),
        None => "Nothing is changed. No run: nothing is known about what would help; first \
                 ceiling load URL."
            .to_string(),
    })];
    let is_idle = |row: &Row| basis(row) == Some(Basis::NoEffect);
    let of = |fate: Fate| rows.iter().filter(move |row| row.fate == fate);
    blocks.extend(proposed(&of(Fate::Proposed).filter(|row| !is_idle(row)).collect::<Vec<_>>()));
    let idle: Vec<_> = of(Fate::Proposed).filter(|row| is_idle(row)).collect();
    blocks.extend(listed("Not worth trying now", &idle, not_worth));
    let fine: Vec<_> = of(Fate::Already).collect();
    blocks.extend(listed("Left as it is", &fine, |group| {
        with_note(format!("{} = {}", title(group), or_off(group.row.now.as_deref())), group)
    }));
    let not_here = |row: &&Row| matches!(row.fate, Fate::Absent | Fate::Refused);
    let not_here: Vec<_> = rows.iter().filter(not_here).collect();
    blocks.extend(listed("Cannot be changed here", &not_here, |group| {
        with_note(title(group), group)
    }));
    let advice: Vec<_> = of(Fate::Advice).collect();
    blocks.extend(listed("Advice: ceiling does not change these", &advice, advised));
    let subtitle = "ceiling tune apply makes the proposed changes, --only some of them".to_string();
    Page { title: "ceiling tune plan".to_string(), subtitle, blocks }
}

/// What one transaction left on the host: its heading and its rows.
pub fn standing(transactions: &[(String, Vec<Row>)]) -> Page {
    let mut blocks = Vec::new();
    for (heading, rows) in transactions {
        blocks.push(Block::Heading(heading.clone()));
        blocks.extend(changes(rows));
    }
    if blocks.is_empty() {
        blocks.push(Block::Text("Nothing is changed on this host by ceiling.".to_string()));
    }
    let subtitle = format!("{} open", plural(transactions.len() as u64, "transaction"));
    Page { title: "ceiling tune status".to_string(), subtitle, blocks }
}

/// A row in one line, as it happens.
pub fn line(row: &Row) -> String {
    let arrow = match (&row.now, &row.wanted, row.fate) {
        (Some(now), _, Fate::Applied | Fate::Reverted | Fate::Already) => {
            format!(" = {}", off(now))
        }
        (Some(now), Some(wanted), Fate::Proposed) => format!(": {} -> {}", off(now), off(wanted)),
        _ => String::new(),
    };
    let note = if row.note.is_empty() { String::new() } else { format!(": {}", row.note) };
    let (fate, knob, name) = (word(row.fate), &row.knob, &row.name);
    crate::printable::printable(&format!("{fate:<9} {knob:<4} {name}  {}{arrow}{note}", row.place))
        .to_string()
}

/// How far a row has come.
pub fn word(fate: Fate) -> &'static str {
    match fate {
        Fate::Proposed => "proposed",
        Fate::Already => "as meant",
        Fate::Advice => "advice",
        Fate::Absent => "absent",
        Fate::Refused => "refused",
        Fate::Applied => "applied",
        Fate::Failed => "FAILED",
        Fate::Reverted => "reverted",
        Fate::Drifted => "DRIFTED",
        Fate::Gone => "gone",
    }
}

fn basis(row: &Row) -> Option<Basis> {
    row.prediction.as_ref().map(|prediction| prediction.basis)
}

/// Rows that differ in nothing but a number in their places.
struct Group<'a> {
    row: &'a Row,
    place: String,
}

/// Neighbours that say the same become one.
fn groups<'a>(rows: &[&'a Row]) -> Vec<Group<'a>> {
    let same = |left: &&Row, right: &&Row| {
        let key = |row: &Row| {
            let place = parts(&row.place).map(|(head, _, tail)| (head, tail));
            (
                row.knob.clone(),
                row.fate,
                row.now.clone(),
                row.wanted.clone(),
                row.note.clone(),
                place,
            )
        };
        let has_number = parts(&left.place).is_some() || left.place == right.place;
        has_number && key(left) == key(right)
    };
    let of = |rows: &[&'a Row]| Group { row: rows[0], place: joined(rows) };
    rows.chunk_by(same).map(of).collect()
}

/// A place around the number of its queue, interrupt or CPU.
fn parts(place: &str) -> Option<(String, String, String)> {
    let (at, mark) = ["rx-", "tx-", "irq/", "cpu/cpu", "policy", "state"]
        .iter()
        .filter_map(|mark| Some((place.find(mark)?, *mark)))
        .next()?;
    let (head, rest) = place.split_at(at + mark.len());
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, tail) = rest.split_at(digits);
    (digits > 0).then(|| (head.to_string(), number.to_string(), tail.to_string()))
}

fn joined(rows: &[&Row]) -> String {
    let (first, last) = (&rows[0].place, &rows[rows.len() - 1].place);
    let place = match (parts(first), parts(last)) {
        (Some((head, first, tail)), Some((_, last, _))) if rows.len() > 1 => {
            let mark = head.rsplit('/').next().unwrap_or_default();
            format!("{head}{first}..{mark}{last}{tail}")
        }
        _ => first.clone(),
    };
    shortened(&place)
}

/// Without what every place of a kind begins with.
fn shortened(place: &str) -> String {
    let short = place.strip_prefix("/sys/class/net/").or(place.strip_prefix("/proc/sys/"));
    let short = short.or(place.strip_prefix("/sys/devices/system/")).unwrap_or(place);
    short.replace("/queues/", " ").trim_start_matches("/proc/").to_string()
}

fn title(group: &Group<'_>) -> String {
    let Row { knob, name, .. } = group.row;
    match group.place.as_str() {
        "" => format!("{knob} {name}"),
        place => format!("{knob} {name} {place}"),
    }
}

fn with_note(text: String, group: &Group<'_>) -> String {
    match group.row.note.as_str() {
        "" => text,
        note => format!("{text}: {note}"),
    }
}

fn off(value: &str) -> String {
    if value.is_empty() { "none".to_string() } else { value.to_string() }
}

fn or_off(value: Option<&str>) -> String {
    value.map_or_else(|| "-".to_string(), off)
}

fn proposed(rows: &[&Row]) -> Vec<Block> {
    let mut blocks = vec![Block::Heading("Proposed".to_string())];
    if rows.is_empty() {
        blocks.push(Block::Text("Nothing that could help.".to_string()));
        return blocks;
    }
    let mut table = Table::new(vec![
        Column::words("knob"),
        Column::words("where"),
        Column::words("now"),
        Column::words("proposed"),
        Column::words("effect on rate"),
    ]);
    let groups = groups(rows);
    for group in &groups {
        let row = group.row;
        let mark = if row.is_disruptive { Mark::Caution } else { Mark::None };
        let cells = vec![
            format!("{} {}", row.knob, row.name),
            group.place.clone(),
            or_off(row.now.as_deref()),
            or_off(row.wanted.as_deref()),
            row.prediction.as_ref().map_or("not known".to_string(), effect),
        ];
        table.push(mark, cells);
    }
    if rows.iter().any(|row| row.is_disruptive) {
        let note = "~: can cut connections; only with --allow-disruptive, under a watchdog";
        table.notes.push(note.to_string());
    }
    blocks.push(Block::Table(table));
    blocks.extend(listed_as("Why, and what it can cost", &per_knob(groups), why));
    blocks
}

/// One group for each knob: its arithmetic and its risk are the same at all of its places.
fn per_knob(mut groups: Vec<Group<'_>>) -> Vec<Group<'_>> {
    groups.dedup_by(|right, left| right.row.knob == left.row.knob);
    groups
}

/// A prediction as an interval.
fn effect(prediction: &Prediction) -> String {
    let share = |share: f64| format!("{:+.0} %", share * 100.0);
    match (prediction.basis, prediction.low, prediction.high) {
        (Basis::Unknown, ..) => "not known".to_string(),
        (Basis::NoEffect, ..) => "none".to_string(),
        (Basis::Bounded, Some(low), Some(high)) => format!("{} to {}", share(low), share(high)),
        (Basis::Bounded, Some(low), None) => format!("{} to next wall", share(low)),
        (Basis::Bounded, None, _) => "not known".to_string(),
    }
}

fn why(group: &Group<'_>) -> String {
    let row = group.row;
    let works = match row.takes_effect {
        TakesEffect::Now => "works at once",
        TakesEffect::NewSockets => "works for new connections",
        TakesEffect::NewListen => "works when the server listens again",
        TakesEffect::Restart => "works when the server is started again",
        TakesEffect::Reboot => "works when the host is started again",
    };
    let of = |prediction: &Prediction| match prediction.basis {
        Basis::Unknown => {
            format!("{}; to know: {}; ", prediction.arithmetic, prediction.reconsider)
        }
        _ => format!("{}; ", prediction.arithmetic),
    };
    let arithmetic = row.prediction.as_ref().map(of).unwrap_or_default();
    format!("{} {}: {arithmetic}{works}; risk: {}", row.knob, row.name, row.risk)
}

fn not_worth(group: &Group<'_>) -> String {
    let Some(prediction) = &group.row.prediction else { return title(group) };
    let (now, wanted) = (or_off(group.row.now.as_deref()), or_off(group.row.wanted.as_deref()));
    format!(
        "{} ({now} -> {wanted}), because {}; would matter with: {}",
        title(group),
        prediction.arithmetic,
        prediction.reconsider
    )
}

fn advised(group: &Group<'_>) -> String {
    let row = group.row;
    let now = row.now.as_ref().map(|now| format!(" (now {})", off(now))).unwrap_or_default();
    let effect = row.prediction.as_ref().map(|prediction| {
        let words = match prediction.basis {
            Basis::NoEffect => format!("no effect now: {}", prediction.arithmetic),
            Basis::Unknown => format!("effect not known: {}", prediction.arithmetic),
            Basis::Bounded => format!("{}: {}", effect(prediction), prediction.arithmetic),
        };
        format!("; {words}")
    });
    format!("{} {}{now}: {}{}", row.knob, row.name, row.note, effect.unwrap_or_default())
}

fn listed(heading: &str, rows: &[&Row], show: fn(&Group<'_>) -> String) -> Vec<Block> {
    if rows.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Heading(heading.to_string())];
    blocks.extend(listed_as("", &groups(rows), show));
    blocks
}

fn listed_as(lead: &str, groups: &[Group<'_>], show: fn(&Group<'_>) -> String) -> Option<Block> {
    let items: Vec<String> = groups.iter().map(show).collect();
    let list = List { lead: lead.to_string(), kind: ListKind::Sentences, items };
    (!groups.is_empty()).then_some(Block::List(list))
}

/// Changes as they stand, and what is to be said of each.
fn changes(rows: &[Row]) -> Vec<Block> {
    let mut table = Table::new(vec![
        Column::words("knob"),
        Column::words("where"),
        Column::words("wrote"),
        Column::words("now"),
        Column::words("state"),
    ]);
    let rows: Vec<&Row> = rows.iter().collect();
    let groups = groups(&rows);
    let mut notes = Vec::new();
    for group in &groups {
        let row = group.row;
        let is_off = matches!(row.fate, Fate::Drifted | Fate::Failed);
        let mark = if is_off { Mark::Broken } else { Mark::None };
        let cells = vec![
            format!("{} {}", row.knob, row.name),
            group.place.clone(),
            or_off(row.wanted.as_deref()),
            or_off(row.now.as_deref()),
            word(row.fate).to_string(),
        ];
        table.push(mark, cells);
        if !row.note.is_empty() {
            notes.push(format!("{}: {}", title(group), row.note));
        }
    }
    let lead = String::new();
    let notes = List { lead, kind: ListKind::Sentences, items: notes };
    let has_notes = !notes.items.is_empty();
    let table = (!groups.is_empty()).then_some(Block::Table(table));
    table.into_iter().chain(has_notes.then_some(Block::List(notes))).collect()
}
