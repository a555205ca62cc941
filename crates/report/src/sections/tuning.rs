//! Knobs: proposed changes with their predicted effect, changes made, and values restored.

use super::Detail;
use crate::page::{Block, Column, List, Mark, Page, Table};
use crate::wording::plural;
use model::tuning::{Basis, Fate, Prediction, Row, TakesEffect};

/// A plan: `run` is the run whose verdict predicts, when there is one. What is not proposed is
/// counted, and listed from [`Detail::Evidence`] on.
pub fn plan(rows: &[Row], run: Option<&str>, detail: Detail) -> Page {
    let is_idle = |row: &Row| basis(row) == Some(Basis::NoEffect);
    let of = |fate: Fate| rows.iter().filter(move |row| row.fate == fate);
    let worth: Vec<_> = of(Fate::Proposed).filter(|row| !is_idle(row)).collect();
    let rest = Rest {
        idle: of(Fate::Proposed).filter(|row| is_idle(row)).collect(),
        fine: of(Fate::Already).collect(),
        not_here: rows.iter().filter(|row| Rest::is_not_here(row)).collect(),
        advice: of(Fate::Advice).collect(),
    };
    let title = "ceiling tune plan".to_string();
    if worth.is_empty() && detail < Detail::Evidence {
        let by = run.map_or("no knob could help".to_string(), |run| format!("by run {run}"));
        let subtitle = format!("Nothing to propose, {by}.");
        return Page { title, subtitle, blocks: vec![Block::Text(rest.counted())] };
    }
    let mut blocks = vec![Block::Text(match run {
        Some(run) => format!("Nothing is changed. Effects are predicted from run {run}."),
        None => "Nothing is changed. Without a run, nothing is known about what would help; first \
                 ceiling load URL."
            .to_string(),
    })];
    blocks.extend(proposed(&worth));
    match detail < Detail::Evidence {
        true => blocks.push(Block::Text(rest.counted())),
        false => blocks.extend(rest.listed()),
    }
    let subtitle = "ceiling tune apply makes the proposed changes, --only some of them".to_string();
    Page { title, subtitle, blocks }
}

/// The rows of a plan that are not proposed.
struct Rest<'a> {
    idle: Vec<&'a Row>,
    fine: Vec<&'a Row>,
    not_here: Vec<&'a Row>,
    advice: Vec<&'a Row>,
}

impl Rest<'_> {
    fn is_not_here(row: &Row) -> bool {
        matches!(row.fate, Fate::Absent | Fate::Refused)
    }

    /// How many they are.
    fn counted(&self) -> String {
        let parts = [
            (&self.idle, "would change nothing now"),
            (&self.fine, "are as they should be"),
            (&self.not_here, "cannot be changed here"),
            (&self.advice, "are advice"),
        ];
        let some = parts.iter().filter(|(rows, _)| !rows.is_empty());
        let others: Vec<_> = some.map(|(rows, what)| format!("{} {what}", rows.len())).collect();
        match others.is_empty() {
            true => "No other setting was compared.".to_string(),
            false => format!("Of the other settings {}; -v lists them.", others.join(", ")),
        }
    }

    fn listed(&self) -> Vec<Block> {
        let idle = "Not worth trying now; --only leaves them out of apply";
        let advice = "Advice: ceiling does not change these";
        [
            listed(idle, &self.idle, not_worth),
            listed("Left as it is", &self.fine, |group| {
                with_note(format!("{} = {}", title(group), or_off(group.row.now.as_deref())), group)
            }),
            listed("Cannot be changed here", &self.not_here, |group| {
                with_note(title(group), group)
            }),
            listed(advice, &self.advice, advised),
        ]
        .concat()
    }
}

/// What each transaction left on the host: its heading and its rows.
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

/// A row in one line, printed as it happens.
pub fn line(row: &Row) -> String {
    let arrow = match (&row.now, &row.wanted, row.fate) {
        (Some(now), _, Fate::Applied | Fate::Reverted | Fate::Already) => {
            format!(" = {}", off(now))
        }
        (Some(now), Some(wanted), Fate::Proposed) => format!(": {} -> {}", off(now), off(wanted)),
        _ => String::new(),
    };
    let note = if row.note.is_empty() { String::new() } else { format!(": {}", row.note) };
    let (fate, knob, name) = (row.fate.word(), &row.knob, &row.name);
    model::printable::printable(&format!("{fate:<9} {knob:<4} {name}  {}{arrow}{note}", row.place))
        .to_string()
}

fn basis(row: &Row) -> Option<Basis> {
    row.prediction.as_ref().map(|prediction| prediction.basis)
}

/// Rows that differ only in a number in their places.
struct Group<'a> {
    row: &'a Row,
    place: String,
}

/// Merges consecutive rows of the same content.
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

/// A place split around the number of its queue, interrupt or CPU.
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

/// A place without the prefix that all places of its kind share.
fn shortened(place: &str) -> String {
    if let Some(of_device) = place.strip_prefix("/sys/class/net/") {
        // Spaces, so that a narrow column can break there.
        return of_device.replace("/queues/", " ").replace('/', " ");
    }
    let roots = ["/proc/sys/", "/sys/devices/system/", "/proc/"];
    let short = roots.iter().find_map(|root| place.strip_prefix(root));
    short.unwrap_or(place).to_string()
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

/// One group per knob: arithmetic and risk are the same at all of its places.
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
        TakesEffect::Now => "takes effect at once",
        TakesEffect::NewSockets => "takes effect for new connections",
        TakesEffect::NewListen => "takes effect when the server listens again",
        TakesEffect::Restart => "takes effect when the server restarts",
        TakesEffect::Reboot => "takes effect when the host restarts",
    };
    let of = |prediction: &Prediction| match prediction.basis {
        Basis::Unknown => {
            format!("{}; to find out: {}; ", prediction.arithmetic, prediction.reconsider)
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
    let list = List { lead: lead.to_string(), items };
    (!groups.is_empty()).then_some(Block::List(list))
}

/// Changes in their current state, with their notes.
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
            row.fate.word().to_string(),
        ];
        table.push(mark, cells);
        if !row.note.is_empty() {
            notes.push(format!("{}: {}", title(group), row.note));
        }
    }
    let lead = String::new();
    let notes = List { lead, items: notes };
    let has_notes = !notes.items.is_empty();
    let table = (!groups.is_empty()).then_some(Block::Table(table));
    table.into_iter().chain(has_notes.then_some(Block::List(notes))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Style, draw};
    use model::tuning::Scope;

    fn row(knob: &str, name: &str, place: &str, fate: Fate) -> Row {
        Row {
            knob: knob.to_string(),
            name: name.to_string(),
            place: place.to_string(),
            scope: Scope::Device,
            takes_effect: TakesEffect::Now,
            is_disruptive: false,
            now: Some(String::new()),
            wanted: Some("0-7".to_string()),
            fate,
            note: String::new(),
            risk: "more CPU per packet".to_string(),
            prediction: None,
        }
    }

    fn queues(fate: Fate) -> Vec<Row> {
        let place = |queue| format!("/sys/class/net/eth0/queues/rx-{queue}/rps_cpus");
        (0..16).map(|queue| row("T5", "rps", &place(queue), fate)).collect()
    }

    fn predicted(row: Row, prediction: Prediction) -> Row {
        Row { prediction: Some(prediction), ..row }
    }

    fn rows() -> Vec<Row> {
        let somaxconn = row("T29", "somaxconn", "/proc/sys/net/core/somaxconn", Fate::Proposed);
        let somaxconn = Row {
            now: Some("4096".to_string()),
            wanted: Some("16384".to_string()),
            takes_effect: TakesEffect::NewListen,
            risk: "a longer queue hides a slow acceptor".to_string(),
            ..somaxconn
        };
        let nothing = "0 handshakes refused because an accept queue was at its limit of 4096";
        let idle = Prediction::no_effect(0.02, nothing.to_string(), "ListenOverflows above 0");
        let bounded = "CPU 0 is 97 % busy, 88 % in softirq; the mean of 8 CPUs is 55 %";
        let bounded = Prediction::bounded(-0.35, Some(0.76), bounded.to_string(), "another run");
        let unknown = Prediction::unknown("not measured: waits".to_string(), "ceiling load URL");
        let rings = row("T17", "rings", "eth0 rings", Fate::Proposed);
        let rings = Row {
            is_disruptive: true,
            now: Some("rx 256 tx 256".to_string()),
            wanted: Some("rx 1024 tx 1024".to_string()),
            ..predicted(rings, unknown)
        };
        let absent = row("T16", "coalescing", "eth0 coalescing", Fate::Absent);
        let absent = Row { note: "this host has none".to_string(), ..absent };
        let advice = Row {
            note: "give the server one listener for each CPU".to_string(),
            place: String::new(),
            ..row("T13", "workers", "", Fate::Advice)
        };
        let mut rows: Vec<Row> =
            queues(Fate::Proposed).into_iter().map(|row| predicted(row, bounded.clone())).collect();
        rows.extend([rings, predicted(somaxconn, idle), absent, advice]);
        rows
    }

    fn plain(rows: &[Row], run: Option<&str>, detail: Detail) -> String {
        draw(&plan(rows, run, detail), Style::PLAIN)
    }

    #[test]
    fn a_plan_with_nothing_to_propose_is_five_lines() {
        let others = |row: &Row| {
            row.fate != Fate::Proposed || basis(row).is_some_and(|basis| basis == Basis::NoEffect)
        };
        let mut rows: Vec<Row> = rows().into_iter().filter(others).collect();
        rows.extend(queues(Fate::Already));
        for run in [Some("20260101T120000-0000002a"), None] {
            let text = plain(&rows, run, Detail::Summary);
            assert!(text.lines().count() <= 5, "{text}");
            assert!(text.contains("Nothing to propose") && text.contains("-v lists"), "{text}");
            assert!(text.contains("1 would change nothing now, 16 are as they should"), "{text}");
            let whole = plain(&rows, run, Detail::Evidence);
            assert!(whole.contains("Cannot be changed here"), "{whole}");
        }
        let some = plain(&self::rows(), None, Detail::Summary);
        assert!(some.contains("Proposed") && !some.contains("Cannot be changed"), "{some}");
    }

    #[test]
    fn a_plan_says_what_would_help_and_what_would_not() {
        let text = plain(&rows(), Some("20260101T120000-0000002a"), Detail::Evidence);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
        let text = plain(&queues(Fate::Proposed), None, Detail::Summary);
        assert!(text.contains("nothing is known about what would help"), "{text}");
    }

    #[test]
    fn what_has_drifted_is_marked() {
        let mut rows = queues(Fate::Applied);
        rows[7].fate = Fate::Drifted;
        rows[7].note = "another program set '1' after ceiling wrote '0-7'; left alone".to_string();
        let text = draw(&standing(&[("Transaction 17".to_string(), rows)]), Style::PLAIN);
        insta::assert_snapshot!(text);
        assert!(draw(&standing(&[]), Style::PLAIN).contains("Nothing is changed"));
    }

    #[test]
    fn a_line_is_one_line_whatever_is_in_it() {
        let row = Row { note: "a\nb\u{1b}[2J".to_string(), ..rows().remove(0) };
        assert_eq!(
            line(&row),
            "proposed  T5   rps  /sys/class/net/eth0/queues/rx-0/rps_cpus: none -> 0-7: \
             a\\nb\\u{1b}[2J"
        );
    }

    #[test]
    fn only_neighbours_that_say_the_same_are_joined() {
        let rows = rows();
        let refs: Vec<&Row> = rows.iter().collect();
        let places: Vec<_> = groups(&refs).into_iter().map(|group| group.place).collect();
        assert_eq!(places[0], "eth0 rx-0..rx-15 rps_cpus");
        assert_eq!(places.len(), 5);
    }
}
