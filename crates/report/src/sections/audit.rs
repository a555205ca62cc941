//! What another tool reported, and the result for each figure.

use crate::page::{Banner, Block, Column, List, Mark, Page, Table, Tone};
use crate::wording::plural;
use model::audit::{
    Account, Audit, Claim, Coverage, Figure, Finding, Foreign, NotRead, Outcome, Why,
};
use model::unit::Unit;
use model::units::{show_count, show_ns};

/// The page of an audit: one section for each account.
pub fn audit(of: &Audit) -> Page {
    let mut blocks = vec![Block::Banner(banner(&of.accounts))];
    let (open, checked): (Vec<&Account>, Vec<&Account>) =
        of.accounts.iter().partition(|account| is_open(account));
    checked.into_iter().for_each(|account| blocks.extend(account_blocks(account)));
    blocks.extend(open_block(&open));
    blocks.extend(of.accounts.iter().filter_map(unread_block));
    if !of.together.is_empty() {
        blocks.push(Block::Heading("All together".into()));
        blocks.push(Block::Table(rows_of(of.together.iter().map(together_row))));
        blocks.extend(to_settle(of.together.iter()));
    }
    let files = of.accounts.len() as u64;
    let figures: u64 = of.accounts.iter().map(|one| one.claims.len() as u64).sum();
    Page {
        title: "ceiling audit".into(),
        subtitle: format!("{}, {}", plural(files, "account"), plural(figures, "figure")),
        blocks,
    }
}

fn banner(accounts: &[Account]) -> Banner {
    let claims: Vec<&Claim> = accounts.iter().flat_map(|one| &one.claims).collect();
    let asked: Vec<&&Claim> = claims.iter().filter(|claim| !claim.findings.is_empty()).collect();
    let many = |outcome| asked.iter().filter(|claim| claim.outcome == outcome).count() as u64;
    let (wrong, open, held) =
        (many(Outcome::Impossible), many(Outcome::Undecided), many(Outcome::Holds));
    let coverage: Vec<&Coverage> =
        accounts.iter().filter_map(|one| one.foreign.coverage.as_ref()).collect();
    let read: u64 = coverage.iter().map(|one| one.read).sum();
    let unread: usize = coverage.iter().map(|one| one.unread.len()).sum();
    let tone = match (wrong, open) {
        (0, 0) if unread == 0 && held > 0 => Tone::Good,
        (0, _) => Tone::Caution,
        _ => Tone::Bad,
    };
    let covered = match coverage.is_empty() {
        true => String::new(),
        false => format!("{} READ, {unread} NOT: ", plural(read, "figure").to_uppercase()),
    };
    let refuted = match wrong {
        0 => "NOTHING IS REFUTED".to_string(),
        1 => "1 FIGURE IS IMPOSSIBLE".to_string(),
        wrong => format!("{wrong} FIGURES ARE IMPOSSIBLE"),
    };
    let unasked = (claims.len() - asked.len()) as u64;
    let others = [
        (open, "undecided"),
        (held, if held == 1 { "agrees with others" } else { "agree with others" }),
        (unasked, if unasked == 1 { "has no check" } else { "have no check" }),
    ];
    let others = others.into_iter().filter(|(many, _)| *many > 0);
    let others: Vec<String> = others.map(|(many, words)| format!("{many} {words}")).collect();
    let rest = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
    Banner { tone, text: format!("{covered}{refuted}{rest}."), lines: vec![] }
}

/// Whether it is of a text, and no check could compare a figure with another.
fn is_open(of: &Account) -> bool {
    let is_rounded = |finding: &Finding| finding.check == "resolution";
    let is_open = |claim: &Claim| claim.findings.iter().all(is_rounded);
    of.foreign.tool == "text" && of.claims.iter().all(is_open)
}

/// The accounts of a text with nothing to check, in one list.
fn open_block(of: &[&Account]) -> Option<Block> {
    let mut items: Vec<String> = Vec::new();
    let mut last = String::new();
    for one in of.iter().filter(|one| !one.claims.is_empty()) {
        let named = |claim: &Claim| format!("{} {}", claim.name, claim.figure.printed);
        let figures: Vec<String> = one.claims.iter().map(named).collect();
        let line = one.name.split('_').next().unwrap_or_default();
        let place = format!("{}, {line}", one.file);
        match items.last_mut().filter(|_| place == last) {
            Some(item) => *item += &format!("; {}", figures.join(", ")),
            None => items.push(format!("{place}: {}", figures.join(", "))),
        }
        last = place;
    }
    let lead = "Read, and nothing beside it to check it with:".to_string();
    (!items.is_empty()).then_some(Block::List(List { lead, items }))
}

/// Figures of a text that were not read, and why.
fn unread_block(of: &Account) -> Option<Block> {
    let coverage = of.foreign.coverage.as_ref()?;
    let of_why = |why: &Why| {
        let mut all: Vec<(&NotRead, u64)> = Vec::new();
        for one in coverage.unread.iter().filter(|one| one.why == *why) {
            match all.last_mut().filter(|(last, _)| *last == one) {
                Some((_, many)) => *many += 1,
                None => all.push((one, 1)),
            }
        }
        let those: Vec<String> = all.into_iter().map(shown).collect();
        let more = match those.len().saturating_sub(SHOWN_MAX) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let shown = those[..those.len().min(SHOWN_MAX)].join(", ");
        (!those.is_empty()).then(|| format!("{}: {shown}{more}", why.words()))
    };
    let items: Vec<String> = Why::ALL.iter().filter_map(of_why).collect();
    let lead = format!("Not read in {}, so nothing is said about them:", of.file);
    (!items.is_empty()).then_some(Block::List(List { lead, items }))
}

fn shown((one, many): (&NotRead, u64)) -> String {
    let many = if many > 1 { format!(", {many} figures") } else { String::new() };
    format!("{} (line {}{many})", one.printed, one.line)
}

/// How many figures of one kind are listed.
const SHOWN_MAX: usize = 20;

fn account_blocks(account: &Account) -> Vec<Block> {
    let part = if account.name.is_empty() { String::new() } else { format!(", {}", account.name) };
    let mut blocks =
        vec![Block::Heading(format!("{}{part}: {}", account.file, account.foreign.format))];
    blocks.extend(of_account(account));
    blocks
}

/// The report of one load, without a heading.
pub(super) fn of_account(account: &Account) -> Vec<Block> {
    let mut blocks = vec![Block::Text(sentence(&account.foreign))];
    blocks.push(Block::Table(rows_of(grouped(&account.claims).into_iter())));
    let unasked = account.claims.iter().filter(|claim| claim.findings.is_empty());
    let names: Vec<&str> = unasked.map(|claim| claim.name.as_str()).collect();
    if !names.is_empty() {
        blocks.push(Block::Text(format!("Could not be checked: {}.", names.join(", "))));
    }
    let worst = account.claims.iter().filter_map(|claim| claim.findings.first());
    blocks.extend(to_settle(worst));
    blocks
}

/// The load as the tool reported it, in one sentence.
fn sentence(of: &Foreign) -> String {
    let count = |figure: &Option<Figure>, word: &str| {
        figure.as_ref().map(|figure| format!("{} {word}", show_count(figure.value)))
    };
    let time = of.duration_s.as_ref().or(of.asked_s.as_ref());
    let parts = [
        of.version.as_ref().map(|version| format!("version {version}")),
        of.url.clone(),
        count(&of.threads, "threads"),
        count(&of.connections, "connections"),
        count(&of.depth, "in flight on each"),
        time.map(|time| show_ns(time.value * 1e9)),
        of.command.as_ref().map(|command| format!("`{command}`")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let tool = if of.tool == "text" { "Figures from a text" } else { &of.tool };
    let load = if parts.is_empty() {
        format!("{tool}.")
    } else {
        format!("{tool}: {}.", parts.join(", "))
    };
    match of.crossed.is_empty() {
        true => load,
        false => {
            format!("{load} {} reports crossed thresholds: {}.", of.tool, of.crossed.join(", "))
        }
    }
}

/// The outcome of a row; its names, values, result and arithmetic.
type Cells = (Outcome, [String; 4]);

fn rows_of(rows: impl Iterator<Item = Cells>) -> Table {
    let columns = ["figure", "reported", "result", "arithmetic"].map(Column::words);
    let mut table = Table::new(columns.to_vec());
    for (outcome, cells) in rows {
        let mark = match outcome {
            Outcome::Holds => Mark::None,
            Outcome::Undecided => Mark::Caution,
            Outcome::Impossible => Mark::Broken,
        };
        table.push(mark, cells.to_vec());
    }
    table
}

/// Claims with the same outcome and arithmetic share a row.
fn grouped(claims: &[Claim]) -> Vec<Cells> {
    let mut rows: Vec<(Outcome, &str, Vec<&Claim>)> = Vec::new();
    // Claims without a check are in the document, and in the sentence below the table.
    for claim in claims.iter().filter(|claim| !claim.findings.is_empty()) {
        let why = claim.findings.first().map_or("", |worst| worst.arithmetic.as_str());
        match rows.iter_mut().find(|(outcome, same, _)| (*outcome, *same) == (claim.outcome, why)) {
            Some((_, _, same)) => same.push(claim),
            None => rows.push((claim.outcome, why, vec![claim])),
        }
    }
    let cells = |(outcome, why, claims): (Outcome, &str, Vec<&Claim>)| {
        let names: Vec<&str> = claims.iter().map(|claim| claim.name.as_str()).collect();
        let values: Vec<String> = claims.iter().map(|claim| value(claim)).collect();
        (outcome, [names.join(", "), values.join(", "), outcome.words().into(), why.into()])
    };
    rows.into_iter().map(cells).collect()
}

fn together_row(finding: &Finding) -> Cells {
    let names = finding.claims.join(", ");
    let words = finding.outcome.words().into();
    (finding.outcome, [names, String::new(), words, finding.arithmetic.clone()])
}

fn value(claim: &Claim) -> String {
    let value = claim.figure.value;
    if !value.is_finite() {
        return claim.figure.printed.clone();
    }
    match claim.unit {
        Unit::Share => format!("{:.2} %", value * 100.0),
        Unit::Count => show_count(value),
        unit => unit.show(value),
    }
}

/// What to run, without duplicates.
fn to_settle<'a>(findings: impl Iterator<Item = &'a Finding>) -> Option<Block> {
    let mut items: Vec<String> = Vec::new();
    for finding in findings.filter(|finding| finding.outcome != Outcome::Holds) {
        if !finding.settle.is_empty() && !items.contains(&finding.settle) {
            items.push(finding.settle.clone());
        }
    }
    let lead = "To settle it:".to_string();
    (!items.is_empty()).then_some(Block::List(List { lead, items }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Style, text_audit};
    use model::audit::{Given, SCHEMA};

    fn claim(name: &str, unit: Unit, value: f64, of: (Outcome, &str, &str)) -> Claim {
        let (outcome, arithmetic, settle) = of;
        let finding = Finding {
            check: "littles_law".into(),
            claims: vec![name.into()],
            outcome,
            arithmetic: arithmetic.into(),
            settle: settle.into(),
            bound: None,
        };
        let findings = if arithmetic.is_empty() { vec![] } else { vec![finding] };
        let figure = Figure::exact(value, 1);
        Claim { name: name.into(), unit, figure, outcome, bound: None, findings }
    }

    #[test]
    fn crossed_thresholds_are_those_that_the_tool_reports() {
        let crossed = vec!["http_req_failed".to_string(), "http_reqs".to_string()];
        let of = Foreign { tool: "k6".into(), crossed, ..Foreign::default() };
        assert_eq!(sentence(&of), "k6. k6 reports crossed thresholds: http_req_failed, http_reqs.");
    }

    /// A verdict counts what it is about, and does not speak of what was not read.
    #[test]
    fn the_verdict_says_how_many_figures_it_is_about() {
        let made = |claims: Vec<Claim>, unread: Option<usize>| {
            let one = NotRead { line: 5, printed: "3ms".into(), why: Why::Unnamed };
            let coverage = unread.map(|many| Coverage { read: 4, unread: vec![one; many] });
            let foreign = Foreign { tool: "text".into(), coverage, ..Foreign::default() };
            banner(&[Account { file: "-".into(), name: String::new(), foreign, claims }])
        };
        let one = |outcome, words| claim("rate", Unit::PerSecond, 1.0, (outcome, words, ""));
        let (held, unasked) = (one(Outcome::Holds, "1 x 1 = 1"), one(Outcome::Undecided, ""));
        let of = made(vec![held.clone(), held.clone()], None);
        assert_eq!((of.tone, &*of.text), (Tone::Good, "NOTHING IS REFUTED; 2 agree with others."));
        let of = made(vec![held, unasked.clone()], Some(3));
        let expected = "4 FIGURES READ, 3 NOT: NOTHING IS REFUTED; 1 agrees with others, 1 has no \
                        check.";
        assert_eq!((of.tone, &*of.text), (Tone::Caution, expected));
        let of = made(vec![unasked], None);
        assert_eq!((of.tone, &*of.text), (Tone::Caution, "NOTHING IS REFUTED; 1 has no check."));
        let of = made(vec![one(Outcome::Impossible, "no")], None);
        assert_eq!((of.tone, &*of.text), (Tone::Bad, "1 FIGURE IS IMPOSSIBLE."));
    }

    #[test]
    fn an_audit_reads_like_this() {
        let foreign = Foreign {
            tool: "wrk".into(),
            format: "wrk".into(),
            url: Some("http://127.0.0.1:8083/".into()),
            connections: Some(Figure::exact(50.0, 2)),
            ..Foreign::default()
        };
        let both = (
            Outcome::Impossible,
            "108k/s x 1.01ms = 109 in flight, but at most 50 fit",
            "run again",
        );
        let claims = vec![
            claim(
                "rate",
                Unit::PerSecond,
                108_037.0,
                (Outcome::Holds, "108k/s x 1.01s is reported", ""),
            ),
            claim("bytes", Unit::Bytes, 15.5e6, (Outcome::Undecided, "", "")),
            claim("mean", Unit::Seconds, 0.00101, both),
            claim("p99", Unit::Seconds, 0.0168, both),
        ];
        let account = Account { file: "wrk.txt".into(), name: String::new(), foreign, claims };
        let given = Given::default();
        let audit =
            Audit { schema: SCHEMA.into(), given, accounts: vec![account], together: vec![] };
        insta::assert_snapshot!(text_audit(&audit, Style::PLAIN));
    }
}
