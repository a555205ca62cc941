//! Texts as people publish them: which of their figures are read, refuted, or in the list of those
//! that are not read.

use model::audit::{Account, Given, Outcome};

fn audited(text: &str) -> Vec<Account> {
    let given = Given::default();
    let read = tools::audit::read_text(&mut text.as_bytes(), &given).unwrap();
    let accounts = read.into_iter().map(|(name, one)| ("-".to_string(), name, one)).collect();
    tools::audit::audit(accounts, &given).accounts
}

/// The figures of each account, as they were printed; `!` marks one that is refuted.
fn read(accounts: &[Account]) -> Vec<String> {
    let figure = |claim: &model::audit::Claim| {
        let mark = if claim.outcome == Outcome::Impossible { "!" } else { "" };
        format!("{mark}{} {}", claim.name, claim.figure.printed)
    };
    let facts = |one: &Account| {
        let of = [&one.foreign.connections, &one.foreign.depth];
        of.map(|fact| fact.as_ref().map_or("?".into(), |fact| fact.value.to_string())).join("x")
    };
    let line = |one: &Account| {
        let figures: Vec<String> = one.claims.iter().map(figure).collect();
        format!("{} {}: {}", one.name, facts(one), figures.join(", "))
    };
    accounts.iter().map(line).collect()
}

fn unread(accounts: &[Account]) -> (u64, Vec<String>) {
    let coverage = accounts[0].foreign.coverage.as_ref().unwrap();
    let one = |one: &model::audit::NotRead| format!("{} {}", one.line, one.printed);
    (coverage.read, coverage.unread.iter().map(one).collect())
}

#[test]
fn a_story_of_a_proxy() {
    let of = audited(include_str!("fixtures/story-proxy.md"));
    let expected = [
        "line3 ?x?: rate 180k requests per second",
        "line11 256x1: rate 310k RPS, p50 0.7 ms, p99 3.1 ms",
        "line12 256x1: cpu.usr 31%, cpu.sys 22%, cpu.idle 46%",
        "line13 256x1: rate 310k RPS, requests 18.6M requests, duration 60 s",
        // 290k x 3 ms x half of them are 431 in flight.
        "line15 256x1: !rate 290k RPS, !p50 4 ms",
        "line21 2048x1: rate 640119.96, requests 19210000, good 19210000, errors 0, \
         duration 30.01s, bytes 8.90GB, bytes_rate 303.68MB, mean 3.21ms, stdev 1.10ms, \
         max 41.20ms",
        "line30 2048x1: !cpu.usr 64%, !cpu.sys 33%, !cpu.idle 9%",
        "line34 2048x1: rate 641k RPS",
        "line35 2048x1: rate 639k RPS",
        "line43 2048x1: rate 610,000, bytes_rate 745, link_share 24%, p99 5.2 ms",
        "line44 2048x1: rate 540,000, bytes_rate 1,210, link_share 39%, p99 5.9 ms",
        // A link of 2.4 GB/s, in the other rows of 3.1.
        "line45 2048x1: rate 420,000, bytes_rate 1,790, !link_share 75%, p99 7.7 ms",
        "line46 2048x1: rate 301,000, bytes_rate 2,530, link_share 81%, p99 9.9 ms",
        "line48 2048x1: bytes_rate 2,530 MB/s, link_share 81%, link_rate 25 Gbps",
    ];
    assert_eq!(read(&of), expected);
    let (read, unread) = unread(&of);
    assert_eq!(read, 54);
    assert_eq!(unread, ["3 640k", "35 640k", "39 25 Gbps", "48 200 ms", "49 3-5%"]);
}

#[test]
fn a_story_of_a_queue() {
    let of = audited(include_str!("fixtures/story-queue.txt"));
    let expected = [
        "line4 ?x?: rate 1.1 million requests per second, p99 9 ms",
        "line11 400x32: rate 1,104,000, p50 9.8ms, p99 14ms",
        // Every state is there, and they add up to 93 %.
        "line15 400x32: !cpu.usr 41.2 us, !cpu.sys 30.1 sy, !cpu.nice 0.0 ni, !cpu.idle 20.5 id, \
         !cpu.iowait 0.0 wa, !cpu.irq 0.0 hi, !cpu.soft 1.2 si, !cpu.steal 0.0 st",
        // 1.1M x 45 ms are 49.5k in flight, and 12.8k fit.
        "line17 400x32: !rate 1.1M RPS, !mean 45 ms",
        "line22 100x32: rate 421,300, p50 1, p99 3ms",
        "line23 400x32: rate 811,006",
        "line24 1200x32: rate 1,090,477",
        "line25 4000x32: rate 1,101,920",
        // The text does not tell what the script did.
        "line30 ?x?: rate 2.0M RPS, p50 30 ms",
        "line34 ?x?: bytes_rate 554 MB/s, link_share 44%, link_rate 1250 MB/s",
        "line36 ?x?: rate 1.1M RPS, requests 66.2M requests, duration 60 s",
        "line37 ?x?: !rate 1.5M RPS, !requests 120M requests, !duration 60 s",
    ];
    assert_eq!(read(&of), expected);
    let (read, unread) = unread(&of);
    // 2 of the first row, 4 of each other one.
    let is_glued = |one: &&String| one.ends_with("ms") && one.contains('%');
    let (glued, others): (Vec<&String>, Vec<&String>) = unread.iter().partition(is_glued);
    assert_eq!((read, glued.len()), (40, 14));
    let expected = [
        "2 12 min",
        "10 32 requests in flight",
        "10 12,800 requests in flight",
        "35 40k",
        "35 210k interrupts/sec",
        "35 98%",
        "36 +0.2%",
    ];
    assert_eq!(others, expected);
}
