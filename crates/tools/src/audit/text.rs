//! Figures in text that people wrote: sentences and tables of a page.
//!
//! Each row of a table, each sentence, and the output of a tool in it is one account. A sentence
//! with two values of one figure does not say which belongs to what, so each value is an account of
//! its own. Latencies count from the send, unless the text says that it measured in open loop; then
//! Little's law does not apply to them. Where a text states one depth and no other, in a sentence
//! or in a command of a tool, it is that of every account. Lines with figures that no account has
//! are listed, so that a verdict is not taken for one about them.

mod prose;
mod table;

use crate::audit::command;
use crate::audit::page::{Page, Spot};
use crate::audit::read::clear;
use crate::audit::unread::{SIZE_MAX, Unread};
use model::audit::{Figure, Foreign, Given, Latencies, Meaning, Percentile, Since};
use model::order::OrderBy as _;
use std::collections::BTreeSet;
use std::io::Read;

/// Accounts of one text.
const ACCOUNTS_MAX: usize = 10_000;
/// A text gives no window. Requests may have started up to this long before it.
const EDGE_S: f64 = 1.0;
/// Words after which latencies may count from a plan.
const OF_A_PLAN: [&str; 6] =
    ["wrk2", "open loop", "open-loop", "latency-correction", "coordinated omission", "hyperfoil"];

/// A figure of a text, and what it is a figure of.
#[derive(Debug, Clone, PartialEq)]
enum Stated {
    Rate(Figure),
    Connections(Figure),
    Depth(Figure),
    InFlight(Figure),
    Requests(Figure),
    BytesRate(Figure),
    Mean(Figure),
    Max(Figure),
    Rank(f64, Figure),
}

impl Stated {
    fn figure(&self) -> &Figure {
        match self {
            Self::Rate(of) | Self::Connections(of) | Self::Depth(of) | Self::InFlight(of) => of,
            Self::Requests(of) | Self::BytesRate(of) | Self::Mean(of) | Self::Max(of) => of,
            Self::Rank(_, of) => of,
        }
    }
}

/// Reads every account of a text: its name and what it reports.
pub fn read_text(source: &mut dyn Read, given: &Given) -> Result<Vec<(String, Foreign)>, Unread> {
    let mut bytes = Vec::new();
    source.take(SIZE_MAX as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > SIZE_MAX {
        return Err(Unread::Long);
    }
    let text = String::from_utf8_lossy(&bytes);
    let small = text.to_lowercase();
    let is_of_a_plan = OF_A_PLAN.iter().any(|word| small.contains(word));
    let since = if is_of_a_plan { Since::Unknown } else { Since::Send };
    let page = Page(&text);
    let (rows, in_tables) = table::rows(page);
    let about = prose::About::of(&small);
    let sentences = page.lines().filter(|spot| !in_tables.contains(&spot.line));
    let sentences = sentences.flat_map(|spot| prose::sentences(spot, about));
    let report = rows.into_iter().chain(sentences).take(ACCOUNTS_MAX);
    let accounts = report.filter_map(|(_, figures)| foreign(&figures, since));
    let mut accounts: Vec<Foreign> = accounts.chain(printed(&text)).collect();
    accounts.order_by_key(line);
    if accounts.is_empty() {
        return Err(Unread::NoFigure);
    }
    clear(&accounts)?;
    let read: BTreeSet<u64> = accounts.iter().flat_map(lines).collect();
    let has_figure = |spot: &Spot<'_>| prose::has_figure(spot.text, about);
    let is_unread = |spot: &Spot<'_>| !read.contains(&spot.line) && has_figure(spot);
    accounts[0].unread = page.lines().filter(is_unread).map(|spot| spot.line).collect();
    Ok(named(accounts, given, depth(page).as_ref()))
}

/// The line of an account's first figure.
fn line(of: &Foreign) -> u64 {
    lines(of).min().unwrap_or(0)
}

/// The lines of an account's figures.
fn lines(of: &Foreign) -> impl Iterator<Item = u64> + use<> {
    let figures = of.figures().into_iter().map(|(_, _, figure)| figure.line);
    let facts = [&of.connections, &of.depth, &of.asked_s].into_iter().flatten();
    let facts = facts.map(|figure| figure.line);
    figures.chain(facts).filter(|line| *line > 0).collect::<Vec<_>>().into_iter()
}

/// The outputs of tools in a text, of each tool one. Of several nothing tells where one ends.
fn printed(text: &str) -> Vec<Foreign> {
    crate::audit::read::printed_in(text)
}

/// The depth that every statement of a text agrees on. A command may go on over several lines.
fn depth(page: Page<'_>) -> Option<Figure> {
    let mut stated: Vec<Option<Figure>> = page.lines().filter_map(prose::depth).collect();
    let (mut command, mut begin) = (String::new(), 0);
    for spot in page.lines() {
        begin = if command.is_empty() { spot.line } else { begin };
        command += spot.text.trim_end();
        if command.ends_with('\\') && command.len() < COMMAND_MAX {
            command.pop();
            continue;
        }
        let typed = command::depth_typed(&command);
        stated.extend(typed.map(|depth| depth.map(|depth| Figure { line: begin, ..depth })));
        command.clear();
    }
    let first = stated.first()?.clone()?;
    let is_same = |one: &Option<Figure>| one.as_ref().is_some_and(|one| one.value == first.value);
    stated.iter().all(is_same).then_some(first)
}

/// The most characters of a command.
const COMMAND_MAX: usize = 4000;

/// Names accounts by their line, so that adding one below does not change any name.
fn named(accounts: Vec<Foreign>, given: &Given, depth: Option<&Figure>) -> Vec<(String, Foreign)> {
    let (mut before, mut same) = (0, 0);
    let name = |mut foreign: Foreign| {
        let line = line(&foreign);
        command::complete(&mut foreign, given, Page(""));
        foreign.depth = foreign.depth.take().or(depth.cloned());
        same = if line == before { same + 1 } else { 1 };
        before = line;
        let part = if same == 1 { format!("line{line}") } else { format!("line{line}_{same}") };
        (part, foreign)
    };
    accounts.into_iter().map(name).collect()
}

/// An account, if it contains a rate or a latency.
fn foreign(figures: &[Stated], since: Since) -> Option<Foreign> {
    let mut of = Foreign {
        tool: "text".into(),
        format: "text".into(),
        meaning: Meaning { edge_s: Some(EDGE_S), ..Meaning::default() },
        ..Foreign::default()
    };
    let mut latency = Latencies { since, ..Latencies::default() };
    for report in figures {
        match report.clone() {
            Stated::Rate(figure) => of.rate = Some(figure),
            Stated::Connections(figure) => of.connections = Some(figure),
            Stated::Depth(figure) => of.depth = Some(figure),
            Stated::Requests(figure) => of.requests = Some(figure),
            Stated::BytesRate(figure) => of.bytes_rate = Some(figure),
            Stated::Mean(figure) => latency.mean = Some(figure),
            Stated::Max(figure) => latency.max = Some(figure),
            Stated::Rank(share, value) => latency.percentiles.push(Percentile { share, value }),
            Stated::InFlight(_) => {}
        }
    }
    // Connections x depth in one figure.
    for report in figures {
        if let Stated::InFlight(figure) = report {
            (of.connections, of.depth) =
                (Some(figure.clone()), Some(Figure::exact(1.0, figure.line)));
        }
    }
    Percentile::sort(&mut latency.percentiles);
    latency.percentiles.dedup_by(|a, b| a.share == b.share);
    let has_latency =
        !latency.percentiles.is_empty() || latency.mean.is_some() || latency.max.is_some();
    of.latencies.extend(has_latency.then_some(latency));
    (of.rate.is_some() || has_latency).then_some(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::judge::account;
    use model::audit::{Account, Outcome};

    fn audited(text: &str, given: &Given) -> Vec<Account> {
        let report = read_text(&mut text.as_bytes(), given).unwrap();
        report.into_iter().map(|(name, report)| account("-".into(), name, report, given)).collect()
    }

    fn outcomes(account: &Account) -> String {
        let one = |claim: &model::audit::Claim| format!("{} {}", claim.name, claim.outcome.words());
        account.claims.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// 4.9M/s with half of the responses after 1225 ms need 3M in flight; 2000 x 100 are 200k.
    #[test]
    fn a_rate_that_its_median_refutes_is_impossible() {
        let table = "approach connections RPS p50 latency\n\
                     no workers 2000 4,913,152 1225ms\n\
                     30 workers 1000 2,299,162 38ms\n";
        let given = Given { depth: Some(100), ..Given::default() };
        let of = audited(table, &given);
        assert_eq!(of.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["line2", "line3"]);
        assert_eq!(outcomes(&of[0]), "rate impossible, p50 impossible");
        assert_eq!(outcomes(&of[1]), "rate holds, p50 holds");
        let unknown = audited(table, &Given::default());
        assert_eq!(outcomes(&unknown[0]), "rate undecided, p50 undecided");
        let open = audited(&format!("measured with wrk2\n{table}"), &given);
        assert!(
            open.iter().flat_map(|one| &one.claims).all(|one| one.outcome != Outcome::Impossible)
        );
    }

    #[test]
    fn tables_in_markdown_have_units_in_their_heads() {
        let table = "| connections | in-flight | RPS | p50 ms | p99 ms | throughput MB/s |\n\
                     |---|---|---|---|---|---|\n\
                     | 1000 | 100,000 | 2,299,162 | 38 | 89 | 285 |\n\
                     | 100 | 100 | 444,621 | <1 | <1 | 1964 |\n";
        let of = audited(table, &Given::default());
        let figures: Vec<String> =
            of[0].claims.iter().map(|one| format!("{} {}", one.name, one.figure.value)).collect();
        assert_eq!(figures.join(", "), "rate 2299162, bytes_rate 285000000, p50 0.038, p99 0.089");
        assert_eq!(of[1].claims[2].figure.low, 0.0);
        assert_eq!(of.len(), 2);
    }

    /// 4.9 in a column of millions is the story above, and not four requests in a second.
    #[test]
    fn a_head_may_name_the_factor_of_its_rates() {
        let given = Given { depth: Some(100), ..Given::default() };
        for (head, rate) in [("M req/s", "4.9"), ("RPS (k)", "4900"), ("RPS", "4.9M")] {
            let table = format!("| connections | {head} | p50 ms |\n| 2000 | {rate} | 1225 |\n");
            let of = &audited(&table, &given)[0];
            assert_eq!(outcomes(of), "rate impossible, p50 impossible", "{head}");
            assert_eq!(of.claims[0].figure.value, 4.9e6, "{head}");
        }
    }

    /// 9.4 Gb/s are 1.175 GB/s, which a link of 10 Gbit/s carries.
    #[test]
    fn a_head_may_count_bits_or_bytes() {
        let given = Given { link_bits_per_s: Some(10e9), ..Given::default() };
        let claim = |head: &str, cell: &str| {
            let table = format!("| connections | RPS | {head} |\n| 64 | 100,000 | {cell} |\n");
            let of = audited(&table, &given).remove(0);
            of.claims.into_iter().find(|claim| claim.name == "bytes_rate")
        };
        for (head, cell, rate) in [
            ("Gb/s", "9.4", 1.175e9),
            ("throughput (Gbit/s)", "9.4", 1.175e9),
            ("Mb/s", "9400", 1.175e9),
            ("Mbps", "9.4G", 1.175e9),
            ("kb/s", "800", 100e3),
            ("MB/s", "1175", 1.175e9),
            ("MB/s", "9.4 Gb/s", 1.175e9),
            ("MB/s", "1.175 GB", 1.175e9),
            ("MB/s", "1.175G", 1.175e9),
            ("B/s", "800", 800.0),
            ("MB/s", "1175 MB/s*", 1.175e9),
            ("MB/s", "1,175 (peak)", 1.175e9),
        ] {
            let claim = claim(head, cell).expect(head);
            assert!((claim.figure.value / rate - 1.0).abs() < 1e-9, "{head} {cell}: {claim:?}");
            assert_ne!(claim.outcome, Outcome::Impossible, "{head} {cell}");
        }
        assert_eq!(claim("GB/s", "9.4").map(|one| one.outcome), Some(Outcome::Impossible));
        assert!(claim("mb/s", "800").is_none(), "bits or bytes");
    }

    #[test]
    fn a_sentence_may_have_a_space_before_the_unit_of_its_bytes() {
        for text in ["1.2M requests/s, 3.49 GB/s.\n", "1.2M requests/s, 3.49GB/s.\n"] {
            let of = &audited(text, &Given::default())[0];
            let figures: Vec<_> =
                of.claims.iter().map(|one| (&*one.name, one.figure.value)).collect();
            assert_eq!(figures, [("rate", 1.2e6), ("bytes_rate", 3.49e9)], "{text}");
        }
        let link = &audited("1.2M requests/s over a link of 10 Gb/s\n", &Given::default())[0];
        assert_eq!(link.claims.len(), 1, "{:?}", link.claims);
    }

    #[test]
    fn sentences_hold_figures_in_either_order() {
        let text = "We saw 1.2M requests/s over 128 connections, p99 of 3 ms.\n\
                    It had 20 ms p50, an average latency of 25ms at 800 req/s with 16 connections.";
        let of = audited(text, &Given { depth: Some(1), ..Given::default() });
        assert_eq!(outcomes(&of[0]), "rate holds, p99 holds");
        assert_eq!(outcomes(&of[1]), "rate holds, mean holds, p50 holds");
        let twice = audited("from 200k RPS to 4.9M RPS at 5 ms p50\n", &Given::default());
        assert_eq!(twice.len(), 3, "two rates do not say whose the median is");
    }

    #[test]
    fn a_decimal_comma_is_read_or_the_text_is_refused() {
        let of = audited("Es waren 1.234,5 req/s, p99 1,23 ms.\n", &Given::default());
        let figures: Vec<f64> = of[0].claims.iter().map(|claim| claim.figure.value).collect();
        assert_eq!(figures, [1234.5, 0.001_23]);
        let error = read_text(&mut "1.234 req/s, p99 1,23 ms".as_bytes(), &Given::default());
        assert!(matches!(error, Err(Unread::Ambiguous { line: 1, .. })), "{error:?}");
    }

    /// As copied from a page: the command of the run, and a table without gaps between its cells.
    const STEERED: &str = "\
Apply RPS and RFS (receive flow steering).

autocannon -m GET \\
  --connections 2000 \\
  --pipelining 100 http://h/

RunConfigAvg RPSP50
1No RPS542,9041,050,623163ms0.81% usr
2RPS only601,2341,214,463155ms1.14% usr
3 RPS + RFS

approach connections RPS p50 latency
no workers 2000 4,913,152 1225ms
";

    #[test]
    fn the_depth_of_a_command_is_that_of_the_text_unless_another_one_is_there() {
        let of = audited(STEERED, &Given::default());
        assert_eq!(of.len(), 1, "no rate of 2/s: {of:?}");
        assert_eq!(outcomes(&of[0]), "rate impossible, p50 impossible");
        assert_eq!(of[0].foreign.unread, [8, 9], "the glued rows");
        for other in
            ["Then without pipelining.", "Pipelining 1→50 stays flat.", "wrk -t2 http://h/"]
        {
            let of = audited(&format!("{STEERED}\n{other}\n"), &Given::default());
            assert_eq!(outcomes(&of[0]), "rate undecided, p50 undecided", "{other}");
        }
        let given = Given { depth: Some(1000), ..Given::default() };
        let of = audited(STEERED, &given);
        assert_eq!(outcomes(&of[0]), "rate holds, p50 holds", "what a person states goes first");
    }

    #[test]
    fn small_numbers_before_rps_are_rates_in_texts_about_nothing_else() {
        let rate = |text: &str| {
            let report = read_text(&mut text.as_bytes(), &Given::default()).ok()?;
            Some(report[0].1.rate.as_ref()?.value)
        };
        assert_eq!(rate("It did 2 RPS, and 3ms p99.\n"), Some(2.0));
        assert_eq!(rate("With RFS it did 790k RPS at 3ms p99.\n"), Some(790e3));
        assert_eq!(rate("RFS on: 16 RPS queues, 3ms p99.\n"), None);
    }

    /// Changes against another row are no times.
    #[test]
    fn numbers_below_zero_in_a_text_are_differences() {
        let of =
            audited("| run | RPS | p99 ms |\n|---|---|---|\n| b | 900 | -3 |\n", &Given::default());
        assert_eq!(of[0].claims.len(), 1, "{of:?}");
        let error = read_text(&mut "p99 -3 ms".as_bytes(), &Given::default());
        assert!(matches!(error, Err(Unread::NoFigure)), "{error:?}");
    }

    /// The output of a tool among sentences is read by the reader of that tool.
    #[test]
    fn an_output_of_a_tool_in_a_text_is_an_account() {
        let wrk = include_str!("../../../../bench/fixtures/wrk.txt");
        let text = format!("# A page\n\nWe measured:\n\n{wrk}\nThat is 3ms p99 over the link.\n");
        let report = read_text(&mut text.as_bytes(), &Given::default()).unwrap();
        let tools: Vec<&str> = report.iter().map(|(_, report)| report.tool.as_str()).collect();
        assert_eq!(tools, ["wrk", "text"]);
        assert_eq!(report[0].1.rate.as_ref().unwrap().printed, "175225.20");
        let twice = format!("{text}{wrk}");
        let report = read_text(&mut twice.as_bytes(), &Given::default()).unwrap();
        assert_eq!(report.len(), 1, "two outputs of one tool");
        assert!(!report[0].1.unread.is_empty());
    }

    #[test]
    fn a_text_without_a_figure_is_refused() {
        let error = read_text(&mut "nothing here".as_bytes(), &Given::default()).unwrap_err();
        assert!(matches!(error, Unread::NoFigure), "{error}");
    }
}
