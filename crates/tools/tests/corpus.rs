//! Real outputs of tools (`bench/fixtures`, `crates/tools/corpus`): the audit refutes exactly what
//! their server's own account refutes, and nothing else.

use model::audit::{Account, Given, Outcome};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use tools::audit::{Unread, account, read};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// Figures that the table refutes but that the file's arithmetic leaves open, with the reason.
const OPEN: &[(&str, &str, &str)] = &[
    ("wrk-stalls.txt", "p50", "the percentiles cannot all be; each but p90 can"),
    ("wrk-stalls.txt", "p75", "the percentiles cannot all be; each but p90 can"),
    ("wrk-stalls.txt", "p99", "the percentiles cannot all be; each but p90 can"),
];

fn audited(path: &Path, given: &Given) -> Result<Account, Unread> {
    let told = read(&mut File::open(path).unwrap(), given)?;
    Ok(account("-".into(), String::new(), told, given))
}

fn with(of: &Account, outcome: Outcome) -> BTreeSet<String> {
    let claims = of.claims.iter().filter(|claim| claim.outcome == outcome);
    claims.map(|claim| claim.name.clone()).collect()
}

/// `depth=1 connections=16`.
fn given(words: &str) -> Given {
    let number = |name: &str| {
        let mut pairs = words.split([',', ' ']).filter_map(|word| word.trim().split_once('='));
        pairs.find(|(key, _)| *key == name)?.1.parse::<u64>().ok()
    };
    Given {
        depth: number("depth"),
        connections: number("connections"),
        client_cpus: number("client-cpus"),
        ..Given::default()
    }
}

#[test]
fn two_outputs_in_one_file_are_not_read_as_one() {
    let (mut tried, mut silent) = (0, Vec::new());
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let once = std::fs::read(&path).unwrap();
        let given = Given::default();
        let Ok(alone) = read(&mut &once[..], &given) else { continue };
        // Files of rows are meant to have many rows.
        if alone.format.ends_with("rows") {
            continue;
        }
        tried += 1;
        let twice = [&once[..], b"\n", &once[..]].concat();
        if read(&mut &twice[..], &given).is_ok() {
            silent.push(format!("{name}, {}", alone.format));
        }
    }
    assert_eq!(silent, Vec::<String>::new());
    assert!(tried > 60, "{tried} outputs");
}

#[test]
fn exactly_what_the_server_refutes_is_refuted() {
    let table = std::fs::read_to_string(folder().join("expected.tsv")).unwrap();
    assert!(table.lines().count() > 60, "a table that was cut");
    let mut wrong = Vec::new();
    for row in table.lines().skip(1) {
        let columns: Vec<&str> = row.split('\t').collect();
        let [file, _, _, command, _, refuted, beside, open, ..] = columns[..] else {
            panic!("a row with fewer columns: {row}");
        };
        let mut given = given(beside);
        given.command = (!beside.is_empty()).then(|| command.to_string());
        let names = |list: &str| -> BTreeSet<String> {
            list.split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .map(String::from)
                .collect()
        };
        let excused: BTreeSet<String> =
            OPEN.iter().filter(|row| row.0 == file).map(|row| row.1.to_string()).collect();
        match audited(&folder().join(file), &given) {
            Ok(of) => {
                let found = with(&of, Outcome::Impossible);
                let expected = &names(refuted) - &excused;
                if found != expected {
                    wrong.push(format!("{file}: {expected:?} expected, {found:?} found"));
                }
            }
            Err(_) if refuted.is_empty() && open.is_empty() => {}
            Err(error) => wrong.push(format!("{file}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the audit finds in the corpus, per tool: the table of docs/audit.md.
#[derive(Default, Clone, Copy)]
struct Score {
    outputs: usize,
    figures: usize,
    wrong: usize,
    refuted: usize,
    missed: usize,
    alarms: usize,
    open: usize,
    said_open: usize,
}

impl Score {
    fn add(&mut self, other: Self) {
        self.outputs += other.outputs;
        self.figures += other.figures;
        self.wrong += other.wrong;
        self.refuted += other.refuted;
        self.missed += other.missed;
        self.alarms += other.alarms;
        self.open += other.open;
        self.said_open += other.said_open;
    }

    fn row(&self, tool: &str) -> String {
        let Self { outputs, figures, wrong, refuted, missed, alarms, open, said_open } = self;
        format!(
            "| {tool} | {outputs} | {figures} | {wrong} | {refuted} | {missed} | {alarms} | {open} \
             | {said_open} |\n"
        )
    }
}

/// The result for one row of `expected.tsv`.
fn score(row: &str) -> (String, Score) {
    let mut columns = row.split('\t').chain(std::iter::repeat(""));
    let mut next = || columns.next().unwrap_or_default().to_string();
    let (file, tool, _, command, _) = (next(), next(), next(), next(), next());
    let (refuted, beside, open, _, by_reading) = (next(), next(), next(), next(), next());
    let names = |list: &str| -> BTreeSet<String> {
        let names = list.split(',').map(|name| name.trim().to_string());
        names.filter(|name| !name.is_empty()).collect()
    };
    let (wrong, open, by_reading) = (names(&refuted), names(&open), names(&by_reading));
    let mut given = given(&beside);
    given.command = (!beside.is_empty()).then_some(command);
    let mut score = Score { outputs: 1, wrong: wrong.len(), open: open.len(), ..Score::default() };
    // A file that cannot be read has no figure.
    if let Ok(of) = audited(&folder().join(file), &given) {
        let (found, told) = (with(&of, Outcome::Impossible), with(&of, Outcome::Undecided));
        score.figures = of.claims.len();
        score.refuted = wrong.intersection(&found).count();
        score.alarms = found
            .iter()
            .filter(|name| !(wrong.contains(*name) || by_reading.contains(*name)))
            .count();
        score.said_open =
            open.iter().filter(|name| told.contains(*name) || found.contains(*name)).count();
    }
    score.missed = score.wrong - score.refuted;
    (tool, score)
}

#[test]
fn the_table_of_the_docs_is_what_the_audit_finds() {
    let table = std::fs::read_to_string(folder().join("expected.tsv")).unwrap();
    let mut tools: std::collections::BTreeMap<String, Score> = Default::default();
    let mut all = Score::default();
    for row in table.lines().skip(1) {
        let (tool, score) = score(row);
        tools.entry(tool).or_default().add(score);
        all.add(score);
    }
    let mut made: String = tools.iter().map(|(tool, score)| score.row(tool)).collect();
    made += &all.row("all");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/audit.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    assert!(docs.contains(&made), "docs/audit.md has another table; this is the one:\n{made}");
    assert_eq!(all.alarms, 0);
}

/// For each fixture, what is refuted with a depth of 1, which all of them had.
#[test]
fn fixtures_are_judged_like_this() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/fixtures");
    let known = Given { depth: Some(1), ..Given::default() };
    let refuted = |file: &str| {
        let of =
            audited(&fixtures.join(file), &known).unwrap_or_else(|error| panic!("{file}: {error}"));
        let names: Vec<String> = with(&of, Outcome::Impossible).into_iter().collect();
        names.join(" ")
    };
    for (file, expected) in [
        ("wrk.txt", ""),
        // The mean includes times that were added: 109 requests in flight on 50 connections.
        ("wrk-404.txt", "mean"),
        ("wrk-resetting.txt", ""),
        ("h2load.txt", ""),
        ("h2load-404.txt", ""),
        ("oha.json", ""),
        // Every response is a 404, and counts as a success.
        ("oha-404.json", "success"),
        // p50 is 0 ms, and the minimum 1 ms.
        ("autocannon.json", "min"),
        // 53536 / 1.03 s are 52k/s, but 53.6k/s is reported.
        ("autocannon-404.json", "min rate"),
        ("hey.txt", ""),
        ("hey-404.txt", ""),
        ("ab.txt", ""),
        // No failed requests, but every response is a 404.
        ("ab-404.txt", "errors"),
        ("ab-read.txt", ""),
        ("k6.json", ""),
        ("k6-refused.json", ""),
        ("k6-truth.json", ""),
        ("vegeta.json", ""),
    ] {
        assert_eq!(refuted(file), expected, "{file}");
    }
}

#[test]
fn lost_requests_and_bad_responses_of_autocannon_add_up() {
    let table = include_str!("../corpus/autocannon-table-healthy.txt");
    let failed = |more: &str| {
        let text = format!("{table}\n{more}\n");
        let told = tools::audit::read(&mut text.as_bytes(), &Given::default()).unwrap();
        told.failed.map(|figure| (figure.low, figure.value, figure.high))
    };
    let (bad, lost) = ("0 2xx responses, 5000 non 2xx responses", "1k errors (3 timeouts)");
    assert_eq!(failed(""), None);
    assert_eq!(failed(bad), Some((5000.0, 5000.0, 5000.0)));
    let (low, value, high) = failed(lost).unwrap();
    assert!(low < value && value == 1000.0 && value < high);
    let both = failed(&format!("{bad}\n{lost}"));
    assert_eq!(both, Some((5000.0 + low, 6000.0, 5000.0 + high)));
}

/// The names under which a format lists a claim: `status.404` is one of `status.*`.
fn listed_as(claim: &str) -> String {
    let is_rank = |name: &str| {
        name.strip_prefix('p').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    match claim.split_once('.') {
        Some((class, _)) => format!("{class}.*"),
        None if is_rank(claim) => "pN".into(),
        None => claim.into(),
    }
}

fn names(format: &tools::audit::Format) -> BTreeSet<&'static str> {
    format.reads.iter().flat_map(|(names, _)| names.split(", ")).collect()
}

/// Formats of which the corpus has no output.
const NOT_THERE: [&str; 1] = ["jmeter-json"];

#[test]
fn every_figure_that_is_read_from_a_real_output_is_listed_by_its_format() {
    let mut read = std::collections::BTreeMap::<String, BTreeSet<String>>::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/fixtures");
    for folder in [folder(), fixtures] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let Ok(of) = audited(&entry.unwrap().path(), &Given::default()) else { continue };
            let claims = of.claims.iter().map(|claim| listed_as(&claim.name));
            read.entry(of.foreign.format.clone()).or_default().extend(claims);
        }
    }
    for format in tools::audit::FORMATS {
        let listed = names(format);
        let found = read.remove(format.id).unwrap_or_default();
        assert!(!found.is_empty() || NOT_THERE.contains(&format.id), "{}", format.id);
        let missing: Vec<_> = found.iter().filter(|name| !listed.contains(name.as_str())).collect();
        assert!(missing.is_empty(), "{}: {missing:?} are read and not listed", format.id);
    }
    assert!(read.is_empty(), "{read:?}");
}

/// The tables of docs/audit.md: what each format reads and needs, and what is refused.
#[test]
fn the_docs_have_what_each_format_reads_and_what_makes_it_refuse() {
    let mut made = String::new();
    for format in tools::audit::FORMATS {
        made += &format!("**{}**\n\n| figures | where |\n|---|---|\n", format.about);
        for (names, fields) in format.reads {
            made += &format!("| {names} | {fields} |\n");
        }
        made += &format!("| refused without | {} |\n\n", format.needs);
    }
    made += "**Not read**\n\n";
    for one in tools::audit::REFUSED {
        made += &format!("- {}: {}\n", one.about, one.instead);
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/audit.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    assert!(docs.contains(&made), "docs/audit.md has other tables; these are the ones:\n{made}");
}
