//! Figures in text that people wrote: sentences and tables of a page.
//!
//! Each row of a table, each sentence, and the output of a tool in it is one account. A sentence
//! with two values of one figure does not say which belongs to what, so each value is an account of
//! its own. Latencies count from the send, unless the text says that it measured in open loop; then
//! Little's law does not apply to them. What a command states belongs to the figures below it
//! (`settings.rs`). A figure is a number whose unit or name says that a check could ask about it:
//! each is read, or is in the list of those that were not, so that a verdict is not taken for one
//! about them.

mod found;
mod glued;
mod prose;
mod settings;
mod table;

use crate::audit::command;
use crate::audit::page::Page;
use crate::audit::read::{Printed, clear, printed_in};
use crate::audit::unread::{SIZE_MAX, Unread};
use found::{Apart, Found, Role, apart, foreign};
use model::audit::{Coverage, Figure, Foreign, Given, NotRead, Since, Why};
use model::order::OrderBy as _;
use settings::Settings;
use std::collections::BTreeSet;
use std::io::Read;

/// Accounts of one text.
const ACCOUNTS_MAX: usize = 10_000;
/// Words after which latencies may count from a plan.
const OF_A_PLAN: [&str; 6] =
    ["wrk2", "open loop", "open-loop", "latency-correction", "coordinated omission", "hyperfoil"];

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
    let outputs = printed_in(&text);
    let page = Page(&text);
    let mut others: BTreeSet<u64> = outputs.iter().flat_map(|one| one.lines.clone()).collect();
    let (rows, in_tables) = table::rows(page, &others);
    others.extend(in_tables);
    let mut settings = Settings::of(page, &others);
    let about = prose::About::of(&small);
    let is_prose = |line: u64| !others.contains(&line) && !settings.lines.contains(&line);
    let sentences = page.lines().filter(|spot| is_prose(spot.line));
    let sentences = sentences.flat_map(|spot| prose::sentences(spot, about));
    let sentences = sentences.map(|figures| table::Row { table: None, figures });
    let all: Vec<table::Row> = rows.into_iter().chain(sentences).collect();
    all.iter().for_each(|row| settings.hear(&row.figures));
    settings.hear_depths(page);

    let mut read = Accounts { since, accounts: Vec::new(), unread: Vec::new(), read: 0 };
    all.into_iter().for_each(|row| read.row(row));
    outputs.into_iter().for_each(|output| read.output(output));
    read.finish(settings, given)
}

/// What was read of a text, and what was not.
struct Accounts {
    since: Since,
    accounts: Vec<Foreign>,
    unread: Vec<Found>,
    read: u64,
}

impl Accounts {
    fn row(&mut self, row: table::Row) {
        let Apart { shared, groups, open } = apart(row.figures);
        let mut is_read = false;
        for group in groups {
            let all: Vec<Found> = group.iter().chain(&shared).cloned().collect();
            match foreign(&all, self.since).filter(|_| self.accounts.len() < ACCOUNTS_MAX) {
                Some(account) => {
                    self.read += group.len() as u64;
                    is_read = true;
                    self.accounts.push(Foreign { table: row.table, ..account });
                }
                None => self.unread.extend(group),
            }
        }
        match is_read {
            true => self.read += shared.len() as u64,
            false => self.unread.extend(shared),
        }
        self.unread.extend(open);
    }

    fn output(&mut self, output: Printed) {
        self.read += lines(&output.foreign).count() as u64;
        self.accounts.push(output.foreign);
    }

    fn finish(
        mut self,
        mut settings: Settings,
        given: &Given,
    ) -> Result<Vec<(String, Foreign)>, Unread> {
        self.accounts.order_by_key(line);
        clear(&self.accounts)?;
        let mut named = named(self.accounts, given, &mut settings);
        let (taken, mut unread) = settings.rest(self.unread);
        unread.order_by_key(|one| one.figure.line);
        let not_read = |one: Found| NotRead {
            line: one.figure.line,
            printed: one.figure.printed,
            why: if let Role::Open(why) = one.role { why } else { Why::Alone },
        };
        let unread: Vec<NotRead> = unread.into_iter().map(not_read).collect();
        if named.is_empty() && unread.is_empty() {
            return Err(Unread::NoFigure);
        }
        if named.is_empty() {
            // It says what was not read.
            let text = || "text".to_string();
            let none = Foreign { tool: text(), format: text(), ..Foreign::default() };
            named.push((String::new(), none));
        }
        named[0].1.coverage = Some(Coverage { read: self.read + taken, unread });
        Ok(named)
    }
}

/// The line of an account's first figure.
fn line(of: &Foreign) -> u64 {
    lines(of).min().unwrap_or(0)
}

/// The lines of an account's figures.
fn lines(of: &Foreign) -> impl Iterator<Item = u64> + use<> {
    let figures = of.figures().into_iter().map(|(_, _, figure)| figure);
    let facts = [&of.connections, &of.depth, &of.threads, &of.asked_s].into_iter().flatten();
    let lines = figures.chain(facts).map(|figure: &Figure| figure.line);
    lines.filter(|line| *line > 0).collect::<Vec<_>>().into_iter()
}

/// Names accounts by their line, so that adding one below does not change any name. What a person
/// states goes before what the text does.
fn named(accounts: Vec<Foreign>, given: &Given, settings: &mut Settings) -> Vec<(String, Foreign)> {
    let (mut before, mut same) = (0, 0);
    let name = |mut foreign: Foreign| {
        let line = line(&foreign);
        command::complete(&mut foreign, given, Page(""));
        settings.complete(&mut foreign, line);
        same = if line == before { same + 1 } else { 1 };
        before = line;
        let part = if same == 1 { format!("line{line}") } else { format!("line{line}_{same}") };
        (part, foreign)
    };
    accounts.into_iter().map(name).collect()
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
    fn the_name_of_a_row_may_say_how_it_was_measured() {
        let of = audited(
            "autocannon -w 120 -c 50 http://h/\n\n\
             approach connections RPS p50\n\
             30 workers 1000 2,299,162 38ms\n\
             no workers 1000 2,299,162 38ms\n",
            &Given::default(),
        );
        let threads = |at: usize| of[at].foreign.threads.as_ref().map(|one| one.value);
        assert_eq!([threads(0), threads(1)], [Some(30.0), None], "not the 120 of the command");
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
        let names: Vec<&str> = link.claims.iter().map(|claim| claim.name.as_str()).collect();
        assert_eq!(names, ["rate", "link_rate"]);
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
        let rates: Vec<f64> =
            of.iter().filter_map(|one| Some(one.foreign.rate.as_ref()?.value)).collect();
        assert_eq!(rates, [4_913_152.0], "no rate of 2/s");
        let of: Vec<Account> = of.into_iter().filter(|one| one.foreign.rate.is_some()).collect();
        assert_eq!(outcomes(&of[0]), "rate impossible, p50 impossible");
        for other in ["Then without pipelining.", "Pipelining 1→50 stays flat."] {
            let of = audited(&format!("{STEERED}\n{other}\n"), &Given::default());
            assert_eq!(outcomes(&of[0]), "rate undecided, p50 undecided", "{other}");
        }
        let of = audited(&format!("{STEERED}\nwrk -t2 http://h/\n"), &Given::default());
        assert_eq!(outcomes(&of[0]), "rate impossible, p50 impossible", "of what follows it");
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
        let of = audited("p99 -3 ms", &Given::default());
        assert!(of[0].claims.is_empty(), "{of:?}");
        assert_eq!(coverage(&of), (0, vec![(1, "-3 ms".to_string())]));
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
        assert!(report.iter().all(|(_, one)| one.tool == "text"), "two outputs of one tool");
        assert!(!report[0].1.coverage.as_ref().unwrap().unread.is_empty());
    }

    fn coverage(of: &[Account]) -> (u64, Vec<(u64, String)>) {
        let coverage = of[0].foreign.coverage.clone().unwrap();
        let unread = coverage.unread.into_iter().map(|one| (one.line, one.printed));
        (coverage.read, unread.collect())
    }

    /// Every figure of a text is counted once, read or not, and the reason is with it.
    #[test]
    fn what_was_not_read_is_counted() {
        for (text, read, unread) in [
            ("It did 120k req/s at 3 ms p99, on 64 connections.\n", 3, vec![]),
            ("A pause of 40 ms. It did 120k req/s.\n", 1, vec!["40 ms"]),
            ("From 10-20M RPS down to 5k RPS.\n", 1, vec!["10-20M RPS"]),
            ("352k interrupts/s, 4M pps, +31%, 64 GB.\n", 0, vec!["352k interrupts/s"; 1]),
            ("The 90th percentile was between 1 and 2 ms.\n", 0, vec!["2 ms"]),
            ("It peaked, 2.04 to 2.05 million RPS.\n", 0, vec!["2.05 million RPS"]),
            (
                "It adds 400 microseconds to 5k/s and 7/s.\n",
                0,
                vec!["400 microseconds", "5k/s", "7/s"],
            ),
            ("We had 500 connections.\n", 0, vec!["500 connections"]),
            ("The queue never gets close to 1k. It reaches 99k, of 2.\n", 0, vec!["1k", "99k"]),
        ] {
            let (of, all) = coverage(&audited(text, &Given::default()));
            assert_eq!(of, read, "{text}: {all:?}");
            let printed: Vec<&str> = all.iter().map(|(_, printed)| printed.as_str()).collect();
            assert_eq!(printed[..unread.len()], unread[..], "{text}");
        }
        let of = audited("352k interrupts/s, 4M pps, +31%, 64 GB.\n", &Given::default());
        assert_eq!((coverage(&of).1.len(), of[0].claims.len()), (4, 0));
    }

    #[test]
    fn a_name_behind_a_comma_is_of_the_next_figure() {
        let of = audited("201k RPS, P50 0.49ms, P99 0.68ms.\n", &Given::default());
        let figures: Vec<String> =
            of[0].claims.iter().map(|one| format!("{} {}", one.name, one.figure.value)).collect();
        assert_eq!(figures, ["rate 201000", "p50 0.00049", "p99 0.00068"]);
        let of = audited("It hit 2.3M, p50 stayed at 3 ms.\n", &Given::default());
        assert_eq!(of[0].claims.len(), 1, "2.3M are no minutes: {of:?}");
    }

    #[test]
    fn a_label_is_of_the_figure_behind_it() {
        let figures = |text: &str| {
            let of = audited(text, &Given::default());
            let one = |one: &model::audit::Claim| format!("{} {}", one.name, one.figure.value);
            of[0].claims.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(
            figures("http_req_duration: avg=2ms min=100us med=1ms max=50ms p(90)=3ms p(95)=4ms\n"),
            "mean 0.002, p50 0.001, p90 0.003, p95 0.004, max 0.05"
        );
        assert_eq!(
            figures("http_reqs: 16,000,000 (26,666.67/s)\n"),
            "rate 26666.67, requests 16000000"
        );
    }

    #[test]
    fn a_rate_may_be_in_words_and_behind_its_name() {
        let rate = |text: &str| {
            let of = audited(text, &Given::default());
            of[0].foreign.rate.as_ref().map(|rate| rate.value)
        };
        assert_eq!(rate("It served 1.2 million requests per second.\n"), Some(1.2e6));
        assert_eq!(rate("It reached 2.04-million requests per second.\n"), Some(2.04e6));
        assert_eq!(rate("Over 2 Million API Requests per Second\n"), Some(2e6));
        assert_eq!(rate("It made 40 thousand HTTP requests a second.\n"), Some(40e3));
        assert_eq!(rate("Requests/sec: 76543.21\n"), Some(76543.21));
        assert_eq!(rate("Requests per second:    76543.21 [#/sec] (mean)\n"), Some(76543.21));
        assert_eq!(rate("RPS=12,345, which is enough\n"), Some(12345.0));
        for text in ["peaked at 1.2M RPS\n", "a target of 1M RPS\n", "10 RPS queues\n"] {
            let all = read_text(&mut text.as_bytes(), &Given::default());
            let is_rate = all.is_ok_and(|all| all[0].1.rate.is_some());
            assert!(!is_rate, "{text}");
        }
    }

    /// 19.8M in 30 s are 660k/s.
    #[test]
    fn a_total_and_a_duration_give_the_rate() {
        for (rate, outcome) in [("655k", "holds"), ("~620k", "holds"), ("540k", "impossible")] {
            let text = format!("It made 19.8M requests in 30 s, that is {rate} RPS.\n");
            let of = audited(&text, &Given::default());
            let all = format!("rate {outcome}, requests {outcome}, duration {outcome}");
            assert_eq!(outcomes(&of[0]), all);
        }
        let of = audited("It made 19.8M requests in 30 s.\n", &Given::default());
        assert_eq!(outcomes(&of[0]), "requests undecided, duration undecided");
        let other =
            audited("At 540k RPS it made 8 requests per page in 30 s.\n", &Given::default());
        assert_eq!(other[0].claims.len(), 1);
    }

    #[test]
    fn states_of_cpus_are_read_as_people_write_them() {
        let states = |text: &str| {
            let of = audited(text, &Given::default());
            let one = |one: &model::audit::Tally| format!("{} {:.4}", one.name, one.count.value);
            of[0].foreign.cpu.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        let three = "usr 0.2000, sys 0.2500, idle 0.5500";
        for text in [
            "Server CPU: usr 20%  sys 25%  idle 55%\n",
            "AVG usr:20%  sys:25%  idle:55%\n",
            "20% user, 25% system, 55% idle\n",
            "%Cpu(s): 20.0 us, 25.0 sy, 55.0 id\n",
        ] {
            assert_eq!(states(text), three, "{text}");
        }
        assert_eq!(states("at 85% CPU — IRQ pinning is flat\n"), "busy 0.8500");
        assert_eq!(states("82.93% usr CPU, 0% idle\n"), "usr 0.8293, idle 0.0000");
        for text in ["98% CPU headroom\n", "node used 2823% CPU\n", "2.25% of the profile\n"] {
            assert_eq!(states(text), "", "{text}");
        }
        let of = audited("usr 60%, sys 30%, idle 25%\n", &Given::default());
        assert_eq!(outcomes(&of[0]), "cpu.usr impossible, cpu.sys impossible, cpu.idle impossible");
    }

    #[test]
    fn shares_of_a_link_agree_with_its_bytes() {
        for (text, outcome) in [
            ("TX: 236 MB/s  (3.8% of 6250 MB/s ceiling)\n", "holds"),
            ("TX is 236 MB/s out of 6250 MB/s capacity (3.8%).\n", "holds"),
            ("3.49 GB/s TX (56% of the 50 Gbps link)\n", "holds"),
            ("3.49 GB/s TX (72% of the 50 Gbps link)\n", "impossible"),
            ("TX: 236 MB/s  (38% of 6250 MB/s ceiling)\n", "impossible"),
        ] {
            let of = audited(text, &Given::default());
            let share = of[0].claims.iter().find(|one| one.name == "link_share").expect(text);
            assert_eq!(share.outcome.words(), outcome, "{text}");
        }
        let full = audited("It sends 8.4 GB/s over a 50 Gbps NIC.\n", &Given::default());
        assert_eq!(outcomes(&full[0]), "bytes_rate impossible, link_rate impossible");
    }

    /// The third row is of a link of 4.9 GB/s, the others of 6.25 GB/s.
    #[test]
    fn the_rows_of_a_table_are_of_one_link() {
        let table = "| connections | RPS | MB/s | NIC % |\n\
                     | 100 | 400,000 | 1,960 | 31% |\n\
                     | 500 | 700,000 | 3,490 | 56% |\n\
                     | 1000 | 700,100 | 3,475 | 71% |\n";
        let of = tools_audit(table);
        let last = |at: usize| {
            let claim = of[at].claims.iter().find(|one| one.name == "link_share").unwrap();
            claim.outcome
        };
        assert_eq!(
            [last(0), last(1), last(2)],
            [Outcome::Holds, Outcome::Holds, Outcome::Impossible]
        );
        let refuted = of.iter().flat_map(|one| &one.claims);
        let refuted = refuted.filter(|one| one.outcome == Outcome::Impossible).count();
        assert_eq!(refuted, 1, "the bytes are not");
        let same = "It did 790k RPS with 500 connections at 72% of the NIC.\n\
                    It did 790k RPS with 500 connections at 56% of the NIC.\n\
                    It did 790k RPS with 900 connections at 30% of the NIC.\n";
        let of = tools_audit(same);
        let all = [0, 1, 2].map(|at| outcomes(&of[at]));
        assert!(all[..2].iter().all(|one| one.contains("link_share undecided")), "{all:?}");
        assert!(of[2].claims.iter().all(|one| one.findings.is_empty()), "another load");
    }

    fn tools_audit(text: &str) -> Vec<Account> {
        let given = Given::default();
        let report = read_text(&mut text.as_bytes(), &given).unwrap();
        let all = report.into_iter().map(|(name, one)| ("-".to_string(), name, one)).collect();
        crate::audit::audit(all, &given).accounts
    }

    /// 500k/s with a median of 4 ms need 1000 in flight at least.
    #[test]
    fn options_of_a_command_are_of_the_figures_below_it() {
        let after = |command: &str| {
            let of = audited(
                &format!("{command}\n\nIt did 500k RPS with a p50 of 4 ms.\n"),
                &Given::default(),
            );
            let facts = [&of[0].foreign.connections, &of[0].foreign.depth, &of[0].foreign.threads];
            let facts = facts.map(|fact| fact.as_ref().map(|fact| fact.value));
            (facts, of[0].claims[0].outcome)
        };
        use Outcome::{Holds, Impossible, Undecided};
        for (command, facts, outcome) in [
            ("wrk -t 16 -c 512 -d 30s http://h/", [Some(512.0), Some(1.0), Some(16.0)], Impossible),
            (
                "autocannon -c 512 -w 16 --pipelining 10 http://h/",
                [Some(512.0), Some(10.0), Some(16.0)],
                Holds,
            ),
            (
                "We ran `wrk -t 16 -c 512 -d 30s http://h/` on it.",
                [Some(512.0), Some(1.0), Some(16.0)],
                Impossible,
            ),
            ("wrk -c 64 http://h/\nNow with `-c 5000`.", [Some(5e3), Some(1.0), None], Holds),
            ("wrk -c 64 http://h/\nh2load -c 5000 http://h/", [Some(5e3), Some(1.0), None], Holds),
            ("wrk -c 64 http://h/\nThen 5000 connections:", [None, Some(1.0), None], Undecided),
            ("wrk -c 64 http://h/\n./bench.sh 5000", [None, None, None], Undecided),
            ("wrk -c $C http://h/", [None, Some(1.0), None], Undecided),
            ("wrk -c 64 -s deep.lua http://h/", [Some(64.0), None, None], Undecided),
        ] {
            assert_eq!(after(command), (facts, outcome), "{command}");
        }
        let before = "It did 500k RPS with a p50 of 4 ms.\nwrk -c 64 http://h/\n";
        assert_eq!(audited(before, &Given::default())[0].foreign.connections, None);
    }

    /// The prose above an output has the words of its labels.
    #[test]
    fn an_output_is_read_from_its_own_lines() {
        let text = "With 100 requests in flight on 1000 connections and 7 workers:\n\n\
                    Running 30s test @ http://h/\n1000 connections with 10 pipelining factor\n\
                    120 workers\n\n\
                    │ Latency │ 8 ms │ 14 ms │ 37 ms │ 43 ms │ 14.65 ms │ 10.63 ms │ 227 ms │\n\
                    │ Req/Sec │ 397,567 │ 608,255 │ 1,204,223 │ Avg: 634,823 │ Stdev: 210,113 │\n\n\
                    19765k requests in 30.12s, 2.44 GB read\n\nIt has 3 requests in 5s.\n";
        let of = &read_text(&mut text.as_bytes(), &Given::default()).unwrap()[0].1;
        let facts = [&of.connections, &of.depth, &of.threads, &of.duration_s];
        let facts = facts.map(|fact| fact.as_ref().unwrap().value);
        assert_eq!(facts, [960.0, 10.0, 120.0, 30.12]);
        assert_eq!(of.rate.as_ref().unwrap().line, 8, "lines are those of the text");
        assert_eq!(of.meaning.defects.len(), 1, "656k/s were sent");
    }

    #[test]
    fn a_text_without_a_figure_is_refused() {
        let error = read_text(&mut "nothing here".as_bytes(), &Given::default()).unwrap_err();
        assert!(matches!(error, Unread::NoFigure), "{error}");
    }
}
