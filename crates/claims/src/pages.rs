//! Whatever a document says is drawn: as text, as a page, as a table and in a site, without a
//! panic, without a control character of the document, and in bounded space.
//!
//! An input is a count of changes, the changes, and a JSON document or the number of a fixture. A
//! change replaces one value of the document by another of its kind: numbers at every limit, text
//! that drives a terminal or leaves markup, lists that are empty or long. So nearly every input is
//! a document that can be read, which bytes at random never are.

use journal::{About, Entry, Slug};
use model::experiment::Experiment;
use model::histogram::Histogram;
use model::run::{Record, Run};
use report::{Detail, Format, Style};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use site::{Added, Contents, Listed, Measured, Site};
use std::sync::LazyLock;

/// Bytes of a change: the number of the changed value, in two bytes, and by what.
const CHANGE_BYTES: usize = 3;
/// Most changes of a document.
const CHANGES_MAX: usize = 8;
/// Copies of an element that make a list long.
const COPIES: usize = 40;
/// A page has its scripts and styles, and a bounded number of bytes for each of its document.
const PAGE_BYTES: usize = 2 << 20;
const BYTES_PER_BYTE: usize = 200;

/// Text that leaves its place where it is not escaped.
const HOSTILE: &str = "</script><script>window.pwned=1</script>\u{1b}[2J\u{9b}8m\u{202e}\r\n";

/// A document, and what its pages need besides it.
struct Base {
    document: Value,
    latencies: Vec<Histogram>,
}

static BASES: LazyLock<Vec<Base>> = LazyLock::new(|| {
    let runs = report::fixtures::all()
        .into_iter()
        .map(|(_, run)| Base { document: run_as_json(&run), latencies: run.latencies.clone() });
    let experiments =
        [report::fixtures::experiment(), report::fixtures::blocks(), report::fixtures::visits()];
    let experiments = experiments.into_iter().map(|(of, runs)| {
        let runs: Vec<Value> = runs.iter().flatten().map(run_as_json).collect();
        Base { document: json!({"experiment": of, "runs": runs}), latencies: Vec::new() }
    });
    runs.chain(experiments).collect()
});

fn run_as_json(run: &Run) -> Value {
    json!({
        "record": run.record,
        "readings": run.readings,
        "server_readings": run.server_readings,
    })
}

/// Panics if a property does not hold.
pub fn hold(bytes: &[u8]) {
    let [count, rest @ ..] = bytes else { return };
    let changed = (usize::from(*count) % (CHANGES_MAX + 1) * CHANGE_BYTES).min(rest.len());
    let (changes, rest) = if *count == b'{' { (&[][..], bytes) } else { rest.split_at(changed) };
    let (mut document, latencies) = match rest {
        [b'{', ..] => match serde_json::from_slice(rest) {
            Ok(document) => (document, Vec::new()),
            Err(_) => return,
        },
        _ => {
            let base = &BASES[usize::from(rest.first().copied().unwrap_or(0)) % BASES.len()];
            (base.document.clone(), base.latencies.clone())
        }
    };
    for change in changes.chunks_exact(CHANGE_BYTES) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]]));
        apply(&mut document, at, change[2]);
    }
    draw(&document, latencies);
}

/// How many values a document has that a change can replace.
pub fn values(document: &Value) -> usize {
    1 + match document {
        Value::Array(items) => items.iter().map(values).sum(),
        Value::Object(fields) => fields.values().map(values).sum(),
        _ => 0,
    }
}

/// Changes a value, counted from the start of the document and round again at its end.
fn apply(document: &mut Value, at: usize, kind: u8) {
    let count = values(document);
    if let Some(value) = nth(document, &mut (at % count)) {
        change(value, kind);
    }
}

fn nth<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, left)),
        Value::Object(fields) => fields.values_mut().find_map(|item| nth(item, left)),
        _ => None,
    }
}

fn change(value: &mut Value, kind: u8) {
    let kind = usize::from(kind);
    match value {
        Value::Number(_) => *value = odd_number(kind),
        Value::String(text) => {
            *text = match kind % 4 {
                0 => String::new(),
                1 => HOSTILE.to_string(),
                2 => format!("{text}{HOSTILE}"),
                _ => "\u{65e5}\u{672c}w".repeat(300),
            }
        }
        Value::Bool(is) => *is = !*is,
        Value::Null => *value = odd_number(kind),
        Value::Array(items) => match (kind % 3, items.first().cloned()) {
            (1, Some(first)) => items.extend(vec![first; COPIES]),
            (2, Some(_)) => drop(items.pop()),
            _ => items.clear(),
        },
        Value::Object(fields) => without_one(fields, kind),
    }
}

fn without_one(fields: &mut Map<String, Value>, kind: usize) {
    let name = fields.keys().nth(kind % fields.len().max(1)).cloned();
    name.and_then(|name| fields.remove(&name));
}

/// A number at a limit of what a document can hold, or nothing.
fn odd_number(kind: usize) -> Value {
    let odd = [
        json!(0),
        json!(-1),
        json!(1),
        json!(u64::MAX),
        json!(u32::MAX),
        json!(i64::MIN),
        json!(0.0),
        json!(-0.5),
        json!(1e-9),
        json!(5e-324),
        json!(1e17),
        json!(1e308),
        json!(-1e308),
        Value::Null,
    ];
    odd[kind % odd.len()].clone()
}

/// Reads a document as what it is, and draws it in every way.
fn draw(document: &Value, latencies: Vec<Histogram>) {
    let (inner, runs) = match document.get("experiment") {
        Some(inner) => (inner, document.get("runs").and_then(Value::as_array)),
        None => (document, None),
    };
    if inner.get("cells").is_some() {
        let Ok(of) = Experiment::deserialize(inner) else { return };
        let mut runs = runs.into_iter().flatten().map(|run| run_of(run, Vec::new()));
        let runs: Vec<Option<Run>> = of.cells.iter().map(|_| runs.next().flatten()).collect();
        experiment(document, of, runs);
    } else if let Some(of) = run_of(document, latencies) {
        run(document, of);
    }
}

/// A run, or a record without its readings.
fn run_of(document: &Value, latencies: Vec<Histogram>) -> Option<Run> {
    let record = document.get("record").unwrap_or(document);
    let readings = |name| {
        let readings = document.get(name).and_then(Value::as_array).into_iter().flatten();
        readings.filter_map(|one| Deserialize::deserialize(one).ok()).collect()
    };
    Some(Run {
        record: Record::deserialize(record).ok()?,
        readings: readings("readings"),
        server_readings: readings("server_readings"),
        latencies,
    })
}

fn experiment(document: &Value, of: Experiment, runs: Vec<Option<Run>>) {
    plain(&report::text_experiment(&of, &runs, Style::PLAIN));
    page(document, &report::html_experiment(&of, &runs));
    in_site(
        document,
        Contents {
            results: vec![Measured { id: of.id.clone(), experiment: of, runs }],
            chosen: Some(0),
            ..Contents::default()
        },
    );
}

fn run(document: &Value, of: Run) {
    for detail in [Detail::Summary, Detail::Everything] {
        plain(&report::text(&of, detail, Style::PLAIN));
    }
    // Data for programs: it has the texts of the document as they are.
    for format in [Format::Csv, Format::Hlog, Format::Json] {
        report::render(&of, format);
    }
    page(document, &String::from_utf8_lossy(&report::render(&of, Format::Html)));
    plain(&report::text_beside(&[of.clone(), of.clone()], Detail::Everything, Style::PLAIN));
    let runs = vec![Added { name: "run".to_string(), run: of }];
    in_site(document, Contents { runs, ..Contents::default() });
}

/// Draws the pages of a site whose only entry has these contents.
fn in_site(document: &Value, of: Contents) {
    let about = About::parse("title = \"t\"\ndescription = \"d\"\n").expect("it is one");
    let entry = "schema = \"ceiling.entry/1\"\ntitle = \"t\"\ndate = 2026-01-01\ntags = []\n\
                 status = \"running\"\nquestion = \"q\"\n";
    let slug = Slug::parse("entry").expect("it is one");
    let entry = Entry::parse(entry).expect("it is one");
    let site = Site::new(about, vec![Listed { slug: slug.clone(), entry }]);
    let drawn = site.draw(&slug, &of);
    for (path, file) in site.finish(drawn.into_iter().collect()) {
        if path.ends_with(".html") {
            page(document, &String::from_utf8_lossy(&file));
        }
    }
}

/// Nothing in a text drives the terminal.
fn plain(text: &str) {
    let drives = |letter: char| letter.is_control() && letter != '\n' || letter == '\u{202e}';
    if let Some(line) = text.lines().find(|line| line.contains(drives)) {
        panic!("the text drives a terminal: {line:?}");
    }
}

/// Nothing in a page is markup of the document, and its size is bounded.
fn page(document: &Value, html: &str) {
    assert!(!html.contains("<script>window.pwned"), "a script of the document");
    assert!(!html.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "a control of the document");
    let limit = PAGE_BYTES + BYTES_PER_BYTE * document.to_string().len();
    assert!(html.len() < limit, "{} bytes, more than {limit}", html.len());
}
