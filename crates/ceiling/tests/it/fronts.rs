//! The fronts against the tools themselves: every line of a layout has the shape of the line of the
//! tool, and counts that follow from the load are the same. wrk and h2load run beside them; of the
//! others the outputs are kept, in `crates/tools/corpus` and in `fronts/`.

use crate::harness::{Finished, Server, run, turn};
use std::process::{Command, Stdio};

/// What the tool itself printed.
fn of_tool(tool: &str, words: &[&str], url: &str) -> String {
    let made = Command::new(tool).args(words).arg(url).stdin(Stdio::null()).output();
    let made = made.unwrap_or_else(|error| panic!("{tool}: {error}: run make test-programs"));
    Finished::of(made).stdout
}

/// What its front printed, without what the tool would not have reported.
fn of_front(tool: &str, words: &[&str], url: &str) -> String {
    let said = run(&[&[tool], words, &[url]].concat());
    let layout = said.stdout.split_once("\nWhat ").map(|(layout, _)| layout.to_string());
    layout.unwrap_or_else(|| panic!("{tool} {words:?}: {}{}", said.stdout, said.stderr))
}

/// The lines with `#` for figures, and `T` and `B` for units that depend on how large they are.
/// Rows of the same shape are one: how many a distribution has depends on its values. A reason in
/// parentheses, why a line cannot be had, is left out, and the dashes of such a line are figures.
fn shape(text: &str) -> Vec<String> {
    let mut shapes: Vec<String> =
        text.lines().filter(|line| !is_progress(line)).map(of_line).collect();
    shapes.dedup();
    shapes
}

/// h2load tells what it does while it does it.
fn is_progress(line: &str) -> bool {
    ["progress:", "Warm-up ", "Main benchmark ", "Stopped all "]
        .iter()
        .any(|begin| line.starts_with(begin))
}

fn of_line(line: &str) -> String {
    let line = if line.ends_with(')') { line.split("  (").next().unwrap() } else { line };
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.len() > 1
        && words[0].starts_with('[')
        && !line.contains('|')
        && words.last() != Some(&"responses")
    {
        return "[#] error".to_string();
    }
    let shapes: Vec<String> =
        words.iter().enumerate().map(|(nth, word)| of_word(nth, word)).collect();
    shapes.join(" ")
}

fn of_word(nth: usize, word: &str) -> String {
    let is_label = nth == 0 && (word.ends_with('%') || word.starts_with('['));
    let bare = word.trim_matches(['(', ')', '[', ']', ',']);
    let is_number = bare.starts_with(|one: char| one.is_ascii_digit());
    let is_none = ["-", "-nan", "NaN", "inf", "-inf", "-%"].contains(&bare);
    match bare {
        _ if is_label => word.to_string(),
        "ns" | "us" | "ms" | "sec" => word.replace(bare, "T"),
        "B" | "KiB" | "MiB" | "GiB" => word.replace(bare, "B"),
        _ if word.starts_with('|') => "|".to_string(),
        _ if word.starts_with("http://") => "URL".to_string(),
        _ if is_number || is_none => word.replace(bare, "#"),
        _ => word.to_string(),
    }
}

fn assert_alike(what: &str, real: &str, ours: &str) {
    let (expected, made) = (shape(real), shape(ours));
    assert_eq!(made, expected, "{what}\n--- real\n{real}\n--- ours\n{ours}");
}

/// The lines that begin like this.
fn lines<'a>(text: &'a str, begins: &[&str]) -> Vec<&'a str> {
    let is_one = |line: &&str| begins.iter().any(|begin| line.trim_start().starts_with(begin));
    text.lines().filter(is_one).collect()
}

#[test]
fn the_front_of_h2load_prints_its_lines_and_the_same_counts() {
    let _turn = turn();
    let all = ["spawning ", "requests:", "status codes:", "traffic:"];
    for (server, path, words) in [
        (&[][..], "/simple", &["--h1", "-n", "100", "-c", "4"][..]),
        (&[], "/bytes/5000", &["--h1", "-n", "101", "-c", "3", "-t", "2"]),
        (&[], "/chunked/70000", &["--h1", "-n", "20", "-c", "2", "-m", "4"]),
        (&[], "/status/404", &["--h1", "-n", "12", "-c", "4"]),
        (&[], "/status/302", &["--h1", "-n", "12", "-c", "4"]),
        (&["--close-after", "1"], "/simple", &["--h1", "-n", "12", "-c", "2"]),
        (&["--close-after", "5"], "/bytes/0", &["--h1", "-n", "40", "-c", "1"]),
        (&["--close-after", "5"], "/bytes/0", &["--h1", "-n", "40", "-c", "4"]),
    ] {
        let closes = !server.is_empty();
        let server = Server::start("target-sink", &[&["--threads", "1"], server].concat());
        let url = server.url(path);
        let (real, ours) = (of_tool("h2load", words, &url), of_front("h2load", words, &url));
        let what = format!("h2load {} {path}", words.join(" "));
        assert_alike(&what, &real, &ours);
        // h2load deals requests out to its connections beforehand, and ours are for whichever is
        // free: a server that closes after five may close one time more or less, with its header.
        let exact = if closes && words.ends_with(&["4"]) { &all[..3] } else { &all[..] };
        // h2load leaves the last read of a connection that closes out of its total.
        let is_cut = |line: &&str| closes && line.starts_with("traffic:");
        let of = |line: &str| match line.split_once(" total, ").filter(|_| is_cut(&line)) {
            Some((_, parts)) => parts.to_string(),
            None => line.to_string(),
        };
        let counts = |text: &str| lines(text, exact).into_iter().map(of).collect::<Vec<_>>();
        assert_eq!(counts(&ours), counts(&real), "{what}\n{real}\n{ours}");
    }
}

#[test]
fn the_front_of_h2load_prints_its_lines_of_a_load_that_ends_with_a_time() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let url = server.url("/simple");
    let words = ["--h1", "-D", "1", "-c", "4", "-t", "2"];
    let (real, ours) = (of_tool("h2load", &words, &url), of_front("h2load", &words, &url));
    assert_alike("h2load -D 1", &real, &ours);
    assert_eq!(lines(&ours, &["spawning "]), lines(&real, &["spawning "]));
    // Each response has 87 bytes, 44 of names and values, 16 of its body.
    let done: u64 =
        ours.split(" done,").next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    let traffic = lines(&ours, &["traffic:"])[0];
    for part in [87, 44, 16] {
        assert!(traffic.contains(&format!("({})", done * part)), "{done}: {traffic}");
    }
}

#[test]
fn the_front_of_wrk_prints_its_lines() {
    let _turn = turn();
    for (path, words) in [
        ("/simple", &["-t2", "-c4", "-d1s", "--latency"][..]),
        ("/bytes/100000", &["-t1", "-c3", "-d1s"]),
        ("/simple", &["-t2", "-c5", "-d1s"]),
        ("/status/503", &["-t1", "-c4", "-d1s", "--latency"]),
    ] {
        let server = Server::start("target-sink", &["--threads", "1"]);
        let url = server.url(path);
        let (real, ours) = (of_tool("wrk", words, &url), of_front("wrk", words, &url));
        let what = format!("wrk {} {path}", words.join(" "));
        assert_alike(&what, &real, &ours);
        let exact = ["Running ", "2 threads ", "1 threads "];
        assert_eq!(lines(&ours, &exact), lines(&real, &exact), "{what}");
        let all = |text: &str, label: &str| lines(text, &[label]).len();
        assert_eq!(all(&ours, "Non-2xx"), usize::from(path == "/status/503"), "{ours}");
    }
}

/// Made with hey 0.1.5 and one worker thread of the sink, by the words of the test.
const HEY: &str = include_str!("fronts/hey.txt");
const HEY_CHUNKED: &str = include_str!("fronts/hey-chunked.txt");

#[test]
fn the_front_of_hey_prints_its_lines_and_the_same_counts() {
    let _turn = turn();
    let exact = ["Total data:", "Size/request:", "[200]", "[404]", "DNS-lookup:"];
    for (kept, path, words) in [
        (HEY, "/simple", &["-n", "202", "-c", "4"][..]),
        (HEY_CHUNKED, "/chunked/5000", &["-n", "200", "-c", "4"]),
    ] {
        let server = Server::start("target-sink", &["--threads", "1"]);
        let ours = of_front("hey", words, &server.url(path));
        assert_alike(&format!("hey {path}"), kept, &ours);
        assert_eq!(lines(&ours, &exact), lines(kept, &exact), "{ours}");
    }
}

#[test]
fn the_fronts_of_oha_and_wrk2_print_their_lines() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let missing = server.url("/status/404");
    let simple = server.url("/simple");
    let kept = include_str!("../../../tools/corpus/oha-text-healthy.txt");
    let ours = of_front("oha", &["--no-tui", "-c", "16", "-z", "1s"], &simple);
    assert_alike("oha -z", kept, &ours);
    assert_eq!(lines(&ours, &["Size/request:"]), lines(kept, &["Size/request:"]), "{ours}");
    let kept = include_str!("../../../tools/corpus/wrk2-stalls-uncorrected.txt");
    let words = ["-t1", "-c16", "-d3s", "-R500", "--latency", "-U"];
    let ours = of_front("wrk2", &words, &simple);
    let real = kept.split("\n  Detailed").next().unwrap();
    assert_alike("wrk2 -U", real, ours.split("\n  Detailed").next().unwrap());
    let tail = |text: &str| text.lines().rev().take(3).map(of_line).collect::<Vec<_>>();
    assert_eq!(tail(&ours), tail(kept), "{ours}");
    let said = run(&["oha", "-n", "40", "-c", "4", &missing]);
    assert!(said.stdout.contains("  Success rate:\t100.00%\n"), "{}", said.stdout);
    assert!(said.stdout.contains("  [404] 40 responses\n"), "{}", said.stdout);
    let why = "  Average:\t- ns  (no good response; others are not timed)\n";
    assert!(said.stdout.contains(why), "{}", said.stdout);
}
