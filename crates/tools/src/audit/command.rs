//! What a command line tells that an output does not, and what a person stated.
//!
//! A command line is passed, or is in the first lines of the file after a prompt (`$ wrk ..`). Only
//! the words after the tool's name count, up to a pipe: what stands before it are programs that
//! start the tool (`taskset -c 1 wrk ..`), with flags of their own. Some take the tool's command as
//! one word (`ssh client 'wrk ..'`). Others start nothing, and what they name is no command of the
//! tool (`mkdir wrk`). The file takes precedence over the command line, and the command line over
//! figures passed as options.

use crate::LINES;
use crate::audit::page::Page;
use crate::audit::printed::{count, go_duration, rounded, seconds};
use crate::command_line::{CommandLine, Sets};
use model::audit::{Figure, Foreign, Given, Loop, Since};
use model::shell;

/// Lines of a file that are searched for its command line.
const HEAD_LINES: usize = 20;
/// Words of a command line that are examined.
const WORDS_MAX: usize = 200;
/// Words of a line in a file among which the tool's name is looked for.
const NAMED_MAX: usize = 20;

/// Adds what the command line and the person state to what the output reports.
pub(crate) fn complete(report: &mut Foreign, given: &Given, head: Page<'_>) {
    let line = LINES.iter().find(|line| line.tool == report.tool);
    let typed = given.command.clone().or_else(|| in_head(&report.tool, head));
    if let Some(own) = typed.as_deref().and_then(|typed| own_words(&report.tool, typed)) {
        let own: Vec<&str> = own.iter().take(WORDS_MAX).map(String::as_str).collect();
        line.into_iter().for_each(|line| from_flags(report, line, &own));
        match report.tool.as_str() {
            "oha" => of_oha(report, &own),
            "h2load" => of_h2load(report, &own),
            _ => {}
        }
    }
    report.command = typed.or(report.command.take());
    let by_person = |figure: &mut Option<Figure>, given: Option<u64>| {
        *figure = figure.take().or(given.map(|value| Figure::exact(value as f64, 0)));
    };
    by_person(&mut report.connections, given.connections);
    by_person(&mut report.depth, given.depth);
}

/// What a line of prose or of a script states about the load: connections, depth, threads and
/// duration. Within none: it is set, and not to a number.
pub(crate) type Facts = [Option<Option<Figure>>; 4];

const FACTS: [Sets; 4] = [Sets::Connections, Sets::Depth, Sets::Threads, Sets::Duration];

/// What the command of a tool in a line states. A fact that no word of the line sets has line 0.
pub(crate) fn typed(text: &str, line: u64) -> Option<Facts> {
    let words = words_typed(text);
    let first = words.first()?;
    LINES.iter().find_map(|of| {
        let own = started(of.tool, &words, WORDS_MAX)?;
        let is_alone = is_program(of.tool, first) && is_typed(words.iter().skip(1));
        let is_flag = |word: &String| word.starts_with('-') && word.len() > 1;
        (is_alone || own.first().is_some_and(is_flag)).then(|| facts(of, &own, line))
    })
}

fn words_typed(text: &str) -> Vec<String> {
    shell::words(text.trim_start_matches(['$', '#', '>', ' ']))
}

/// What the words of a tool's command set, and what it does without them.
fn facts(of: &CommandLine, own: &[String], line: u64) -> Facts {
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let mut report = Foreign::default();
    from_flags(&mut report, of, &own);
    let read = [report.connections, report.depth, report.threads, report.asked_s];
    let mut read = read.into_iter();
    FACTS.map(|sets| {
        let figure = read.next().flatten();
        let is_set = value(&own, &of.names(sets), |_| true).is_some();
        let line = if is_set { line } else { 0 };
        Some(figure.map(|figure| Figure { line, ..figure }))
    })
}

/// What options among the words of a sentence set, if they are those of a tool.
pub(crate) fn options_typed(text: &str, line: u64, of: &CommandLine) -> Facts {
    let words = words_typed(text);
    let trim =
        |word: &String| word.trim_matches(|char: char| "`\"'()[],.;:".contains(char)).to_string();
    let words: Vec<String> = words.iter().map(trim).collect();
    let own: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_number = |text: &str| text.starts_with(|letter: char| letter.is_ascii_digit());
    FACTS.map(|sets| {
        let text = value(&own, &of.names(sets), is_number)?;
        let figure = match sets {
            Sets::Duration => seconds(&text, line).or_else(|| count(&text, line)),
            _ => count(&text, line).filter(|figure| figure.low == figure.high),
        }?;
        let is_whole = text.chars().all(|char| char.is_ascii_alphanumeric() || char == ',');
        is_whole.then_some(Some(figure))
    })
}

/// The tool that a line names last.
pub(crate) fn last_named(text: &str) -> Option<&'static CommandLine> {
    let words = words_typed(text);
    let named = |word: &String| {
        let word = word.trim_matches(|char: char| "`\"'()[],.;:*".contains(char));
        LINES.iter().copied().find(|of| program(word) == of.tool)
    };
    words.iter().rev().take(WORDS_MAX).find_map(named)
}

/// Whether a line starts a load in a way that its text does not tell: a script for it, or another
/// tool.
pub(crate) fn is_other_load(text: &str) -> bool {
    const HINTS: [&str; 5] = ["bench", "load", "stress", "perftest", "loadtest"];
    const TOOLS: [&str; 9] =
        ["bombardier", "locust", "siege", "ghz", "tsung", "drill", "rewrk", "plow", "artillery"];
    let line = text.trim_start();
    let typed = line.trim_start_matches(['$', '#', '>', ' ']);
    let words = shell::words(typed);
    let mut words = words.iter().filter(|word| !is_setting(word) && *word != "sudo");
    let Some(first) = words.next() else { return false };
    let is_starter = ["bash", "sh", "python", "python3", "nohup", "time"].contains(&program(first));
    let Some(name) = (if is_starter { words.next() } else { Some(first) }) else { return false };
    let is_script = is_starter || line.starts_with("$ ") || name.starts_with("./");
    let small = program(name).to_lowercase();
    let is_known = TOOLS.contains(&small.as_str()) && is_typed(words);
    is_known || (is_script && HINTS.iter().any(|hint| small.contains(hint)))
}

/// The words of a command line that are the tool's own. None if it does not name the tool: the
/// flags of another program, such as a script, say nothing about the load.
fn own_words(tool: &str, typed: &str) -> Option<Vec<String>> {
    let words = shell::words(typed);
    match words.first()?.starts_with('-') {
        true => Some(words.into_iter().take_while(|word| !is_end(word)).collect()),
        false => started(tool, &words, usize::MAX),
    }
}

/// The words after the tool's name, which is one of the first `most` words. Where none of them is,
/// a word with spaces may be the tool's command (`bash -c "wrk .."`); it may also be a text about
/// the tool, so a flag or an address must follow the name there.
fn started(tool: &str, words: &[String], most: usize) -> Option<Vec<String>> {
    if let Some(at) = named_at(tool, words) {
        return (at < most).then(|| behind(words, at).cloned().collect());
    }
    let all = of_starters(words).map(|at| &words[at]);
    let quoted = all.filter(|word| word.contains(char::is_whitespace));
    let own =
        |word: &String| started(tool, &shell::words(word), most).filter(|own| is_typed(own.iter()));
    quoted.take(WORDS_MAX).find_map(own)
}

/// The words of a command behind one of them.
fn behind(words: &[String], at: usize) -> impl Iterator<Item = &String> {
    words[at + 1..].iter().take_while(|word| !is_end(word)).take(WORDS_MAX)
}

/// Whether a flag or an address is among the words after a tool's name.
fn is_typed<'a>(mut own: impl Iterator<Item = &'a String>) -> bool {
    let is_flag = |word: &str| word.starts_with('-') && word.contains(char::is_alphanumeric);
    own.any(|word| is_flag(word) || word.contains("://"))
}

/// Words that end a command.
const ENDS: [&str; 5] = ["|", "||", "&&", "&", ";"];
/// Flags of other programs whose value may be the name of a tool.
const NAMING: [&str; 7] = ["--name", "-u", "--user", "-g", "--group", "-h", "--hostname"];

/// What may stand before the name of a program.
const LEADING: [&str; 4] = ["sudo", "do", "then", "{"];
/// Programs that start no tool; what follows them may be called like one.
const OTHERS: [&str; 40] = [
    "[", "alias", "apk", "apt", "apt-get", "brew", "cargo", "cat", "cd", "chmod", "chown",
    "command", "cp", "curl", "dnf", "echo", "export", "file", "git", "grep", "head", "ln", "ls",
    "make", "mkdir", "mv", "npm", "printf", "pushd", "rm", "stat", "tail", "tar", "test", "touch",
    "type", "unzip", "wget", "which", "yum",
];
/// Programs that start others, and that a line after `#` or `>` may begin with.
const STARTERS: [&str; 23] = [
    "bash", "chroot", "chrt", "docker", "env", "exec", "ionice", "ip", "kubectl", "nice", "nohup",
    "npx", "nsenter", "numactl", "perf", "podman", "sh", "ssh", "stdbuf", "strace", "taskset",
    "time", "timeout",
];

fn is_end(word: &str) -> bool {
    ENDS.contains(&word)
}

/// The name of a program without its folder.
fn program(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// Whether a word sets a variable for the program behind it.
fn is_setting(word: &str) -> bool {
    word.contains('=') && !word.starts_with('-')
}

/// The words that may start a tool: not those of a program that starts none, such as `mkdir`.
fn of_starters(words: &[String]) -> impl Iterator<Item = usize> {
    let (mut begins, mut is_other) = (true, false);
    (0..words.len()).filter(move |at| {
        let word = words[*at].as_str();
        if is_end(word) {
            (begins, is_other) = (true, false);
        } else if begins && !is_setting(word) && !LEADING.contains(&word) {
            (begins, is_other) = (false, OTHERS.contains(&program(word)));
        }
        !is_other
    })
}

/// Whether a word names a tool, or a program that is built of it.
fn is_named(tool: &str, word: &str) -> bool {
    // wrk2 builds a program that is called wrk.
    let called = |tool: &str| program(word).strip_prefix(tool).is_some_and(is_version);
    let is_called = called(tool) || (tool == "wrk2" && called("wrk"));
    is_called && !word.starts_with('-') && !word.contains("://") && !word.contains('=')
}

/// Which word starts the tool. Other words follow it: no tool starts a load without any, and in
/// `cd hey && ./hey ..` the first is the name of a folder. A flag or an address tells more than
/// another word, as in `docker build -t hey . && hey -c 5 ..`.
fn named_at(tool: &str, words: &[String]) -> Option<usize> {
    let is_value = |at: usize| at > 0 && NAMING.contains(&words[at - 1].as_str());
    let is_followed = |at: usize| words.get(at + 1).is_some_and(|next| !is_end(next));
    let is_it = |at: &usize| is_named(tool, &words[*at]) && !is_value(*at) && is_followed(*at);
    let named: Vec<usize> = of_starters(words).filter(is_it).take(WORDS_MAX).collect();
    let typed = named.iter().find(|at| is_typed(behind(words, **at)));
    typed.or(named.first()).copied()
}

/// Whether the name of a program or an image goes on like this after the tool's:
/// `hey_linux_amd64`, `oha:latest`, `autocannon@7`.
fn is_version(rest: &str) -> bool {
    let behind = rest.strip_prefix(['-', '_']).unwrap_or_default();
    let is_of_build = behind.starts_with(|first: char| first.is_ascii_digit())
        || ["linux", "darwin", "v"].iter().any(|of| behind.starts_with(of));
    rest.is_empty() || rest == ".exe" || rest.starts_with([':', '@']) || is_of_build
}

/// Only the command line of oha tells from when its times count.
fn of_oha(report: &mut Foreign, own: &[&str]) {
    let has = |flag: &str| value(own, &[flag], |_| true).is_some();
    let is_from_plan = has("--latency-correction");
    let since = if is_from_plan { Since::Plan } else { Since::Send };
    report.latencies.iter_mut().for_each(|latency| latency.since = since);
    report.meaning.load = if has("-q") { Loop::Unknown } else { Loop::Closed };
}

/// The rate of h2load is that of each client, and its times count from the send.
fn of_h2load(report: &mut Foreign, own: &[&str]) {
    let each = value(own, &["--rps"], |_| true).and_then(|text| rounded(&text, 0));
    let (Some(each), Some(clients)) = (each, &report.connections) else { return };
    report.meaning.load = Loop::Open;
    let all = each.value * clients.value;
    report.target_rate = report.target_rate.take().or(Some(Figure::exact(all, 0)));
}

/// A line that starts with a prompt followed by the tool's command. `#` and `>` may also begin a
/// comment or a quote, which may be about another run. So the first word must be a program there,
/// and a flag or an address must follow the tool's name.
fn in_head(tool: &str, head: Page<'_>) -> Option<String> {
    head.lines().take(HEAD_LINES).find_map(|spot| {
        let line = spot.text.trim_start();
        let typed = line.strip_prefix(['$', '#', '>'])?.trim();
        let words = shell::words(typed);
        let own = started(tool, &words, NAMED_MAX)?;
        let is_command =
            line.starts_with('$') || (is_program(tool, words.first()?) && is_typed(own.iter()));
        is_command.then(|| model::secret::text(typed))
    })
}

/// Whether a line that starts so is a command, and not prose.
fn is_program(tool: &str, word: &str) -> bool {
    let known: [&[&str]; 3] = [&STARTERS, &OTHERS, &LEADING];
    let is_known = known.iter().any(|names| names.contains(&program(word)));
    is_known || is_named(tool, word) || is_setting(word)
}

fn from_flags(report: &mut Foreign, line: &CommandLine, words: &[&str]) {
    let has = |sets: Sets| value(words, &line.names(sets), |_| true).is_some();
    // The flags of some tools are longer words with one hyphen, such as `-cpus` of hey.
    let is_number = |text: &str| text.starts_with(|letter: char| letter.is_ascii_digit());
    let value = |sets: Sets| value(words, &line.names(sets), is_number);
    let number = |sets: Sets| value(sets).and_then(|text| count(&text, 0));
    let time = |text: String| match seconds(&text, 0) {
        Some(figure) => Some(figure),
        None => go_duration(&text, 0).or_else(|| rounded(&text, 0)),
    };
    // What is typed and not a number, such as `$CONNECTIONS`, is not the default either.
    let unless =
        |sets: Sets, default: f64| value(sets).is_none().then(|| Figure::exact(default, 0));
    let default = line.default("-c").and_then(|one| unless(Sets::Connections, one));
    let is_staged = value(Sets::Stages).is_some();
    if !is_staged {
        report.connections = report.connections.take().or(number(Sets::Connections)).or(default);
    }
    report.threads = report.threads.take().or(number(Sets::Threads));
    if !is_staged && value(Sets::Count).is_none() {
        report.asked_s = report.asked_s.take().or(value(Sets::Duration).and_then(time));
    }
    report.target_rate = report.target_rate.take().or(number(Sets::Rate));
    if !line.is_scripted && !has(Sets::Script) {
        let depth = number(Sets::Depth).or_else(|| unless(Sets::Depth, 1.0));
        report.depth = report.depth.take().or(depth);
    }
}

/// The value of a flag: `-c 50`, `-c50`, `--connections=50`. None if the flag is absent. What
/// directly follows a short flag is its value if `is_value` accepts it.
fn value(words: &[&str], names: &[&str], is_value: fn(&str) -> bool) -> Option<String> {
    words.iter().enumerate().rev().find_map(|(index, word)| {
        names.iter().find_map(|name| {
            let rest = word.strip_prefix(name)?;
            let is_short = name.len() == 2;
            match rest.strip_prefix('=') {
                Some(value) => Some(value.to_string()),
                None if rest.is_empty() => Some(words.get(index + 1).unwrap_or(&"").to_string()),
                None if is_short && is_value(rest) => Some(rest.to_string()),
                None => None,
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(tool: &str, typed: &str) -> Foreign {
        let mut report = Foreign { tool: tool.into(), ..Foreign::default() };
        let given = Given { command: Some(typed.into()), ..Given::default() };
        complete(&mut report, &given, Page(""));
        report
    }

    fn figures(report: &Foreign) -> [Option<f64>; 4] {
        let all = [&report.connections, &report.threads, &report.depth, &report.target_rate];
        all.map(|figure| figure.as_ref().map(|figure| figure.value))
    }

    #[test]
    fn flags_are_read_in_every_form() {
        let report = completed("wrk", "wrk -t1 -c 32 --duration=3s http://h/");
        assert_eq!(figures(&report), [Some(32.0), Some(1.0), Some(1.0), None]);
        assert_eq!(report.asked_s.unwrap().value, 3.0);
        let report = completed("wrk2", "wrk2 -c50 -R2k --latency http://h/");
        assert_eq!(figures(&report), [Some(50.0), None, Some(1.0), Some(2000.0)]);
        let report = completed("h2load", "h2load --h1 -m 16 -c8 http://h/");
        assert_eq!(figures(&report), [Some(8.0), None, Some(16.0), None]);
        let report = completed("h2load", "h2load --rps 10 -m 16 -c8 http://h/");
        assert_eq!(figures(&report)[3], Some(80.0), "the rate is that of each client");
        assert_eq!(report.meaning.load, Loop::Open);
        assert_eq!(figures(&completed("oha", "oha http://h/"))[0], Some(50.0));
        let report = completed("hey", "hey -c 200 -cpus 4 -z=30s http://h/");
        assert_eq!((figures(&report)[0], report.asked_s.unwrap().value), (Some(200.0), 30.0));
        assert_eq!(figures(&completed("wrk", "wrk -c 8 -spipeline.lua http://h/"))[2], None);
    }

    #[test]
    fn a_flag_whose_value_is_no_number_is_not_the_default() {
        let report = completed("autocannon", "autocannon -c $C -p \"$DEPTH\" -d 20 http://h/");
        assert_eq!(figures(&report), [None, None, None, None]);
        assert_eq!(
            figures(&completed("wrk", "wrk -c ${C} http://h/")),
            [None, None, Some(1.0), None]
        );
    }

    #[test]
    fn a_line_of_a_text_states_what_the_command_of_a_tool_sets() {
        let facts = |line: &str| {
            let of = typed(line, 7)?;
            Some(of.map(|fact| fact.flatten().map(|figure| (figure.value, figure.line))))
        };
        let line = "autocannon -m GET --connections 1000 --pipelining 100 -w 120 -d 30";
        let set = |value: f64| Some((value, 7));
        assert_eq!(facts(line), Some([1000.0, 100.0, 120.0, 30.0].map(set)));
        let wrk = facts("We ran wrk -t 16 -c 512 -d 30s http://h/, and it did well.");
        assert_eq!(wrk, Some([set(512.0), Some((1.0, 0)), set(16.0), set(30.0)]));
        let of = facts("  autocannon -c $CONN -w 30 -d 20 http://h/");
        assert_eq!(of, Some([None, Some((1.0, 0)), set(30.0), set(20.0)]));
        assert_eq!(facts("$ wrk -t2 -s pipeline.lua http://h/").map(|of| of[1]), Some(None));
        assert_eq!(facts("h2load -m $M -c 8 http://h/").map(|of| of[1]), Some(None));
        for line in ["We use autocannon with --workers 30.", "wrk is a tool", "", "-c 5"] {
            assert_eq!(facts(line), None, "{line}");
        }
    }

    #[test]
    fn options_in_a_sentence_are_those_of_the_tool_named_before() {
        let facts = |line: &str| {
            let of = last_named("Then we took autocannon, again.").unwrap();
            let facts = options_typed(line, 7, of);
            facts.map(|fact| fact.flatten().map(|figure| figure.value))
        };
        assert_eq!(facts("Now with `-c 1000 -w 120`:"), [Some(1e3), None, Some(120.0), None]);
        assert_eq!(
            facts("(--pipelining 100, --duration 30s)"),
            [None, Some(100.0), None, Some(30.0)]
        );
        for line in ["docker run -p 8080:80 -c 0-3", "its --pipelining does that", "-c $N"] {
            assert_eq!(facts(line), [None; 4], "{line}");
        }
        assert_eq!(last_named("We used vegeta and then `wrk`.").unwrap().tool, "wrk");
    }

    #[test]
    fn a_script_for_a_load_tells_nothing() {
        for line in ["./autocannon_bench.sh h 100 30", "$ sudo bash loadtest.sh", "locust -u 5"] {
            assert!(is_other_load(line), "{line}");
        }
        for line in ["nohup ./fiber_server > log &", "The bench ran.", "We load it with wrk -c 5"] {
            assert!(!is_other_load(line), "{line}");
        }
    }

    #[test]
    fn flags_of_programs_around_the_tool_are_not_its_own() {
        for typed in [
            "taskset -c 1 hey -z 9s http://h/",
            "sudo -u hey nice -n 5 numactl -C 3 -m 0 ./hey -z 9s http://h/",
            "env A=hey B=2 timeout 30s time -v /opt/hey_linux_amd64 -z 9s http://h/",
            "docker run --rm -c 512 --name hey -t me/hey:latest -z 9s http://h/hey",
            "perf stat -e cycles -c 4 hey -z 9s http://h/ | tee -c 7 hey.txt",
            "hey -z 9s -H 'X-Flags: -c 5 -z 1s' http://h/ && sleep -c 3",
        ] {
            let report = completed("hey", typed);
            let read = (figures(&report)[0], report.asked_s.unwrap().value);
            assert_eq!(read, (Some(50.0), 9.0), "{typed}");
        }
        let report = completed("h2load", "taskset -c 4-7 h2load -t2 -m 8 http://h/");
        assert_eq!(figures(&report), [Some(1.0), Some(2.0), Some(8.0), None]);
        assert_eq!(figures(&completed("hey", "./bench.sh -c 9"))[0], None, "of a script");
        assert_eq!(figures(&completed("hey", "cd hey && ./bench.sh -c 9"))[0], None, "a folder");
        assert_eq!(figures(&completed("hey", "-c 9 http://h/"))[0], Some(9.0), "flags alone");
        let report = completed("wrk2", "numactl -N 0 ./wrk -c 5 -R 100 http://h/");
        assert_eq!(figures(&report), [Some(5.0), None, Some(1.0), Some(100.0)]);
    }

    #[test]
    fn the_tool_is_where_words_follow_its_name_and_perhaps_in_one_word() {
        for typed in [
            "cd hey && ./hey -c 100 http://h/",
            "mkdir hey; which hey | cat && hey -c 100 http://h/ | tee -c 7",
            "ssh -c aes client 'hey -c 100 http://h/' -c 5",
            "bash -c \"cd hey && ./hey -c 100 -H 'X: -c 5' http://h/ | tee -c 7\" -c 5",
            "ssh client \"bash -c 'hey -c 100 http://h/'\"",
            "mkdir hey out && hey -c 100 http://h/",
            "mkdir hey out; hey -c 100 http://h/; sleep -c 3",
            "wget -O hey http://d/hey && ./hey -c 100 http://h/",
            "sudo cp -r hey /opt|cat; A=1 hey -c 100 http://h/|tee -c 7",
            "docker build -t hey . && docker run hey -c 100 http://h/",
            "echo 'hey -c 5 http://h/' && ssh client 'hey -c 100 http://h/'",
        ] {
            assert_eq!(figures(&completed("hey", typed))[0], Some(100.0), "{typed}");
            let mut report = Foreign { tool: "hey".into(), ..Foreign::default() };
            let head = format!("$ cd hey\n$ {typed}\n");
            complete(&mut report, &Given::default(), Page(&head));
            assert_eq!(report.command.as_deref(), Some(typed), "the folder is no command");
        }
        let mut report = Foreign { tool: "hey".into(), ..Foreign::default() };
        let head = "> Compare with \"hey -c 10 http://old/\" of last week\n";
        complete(&mut report, &Given::default(), Page(head));
        assert_eq!((report.command, report.connections.is_some()), (None, false), "a quote");
        let report = completed("hey", "./bench.sh --note 'after the hey results' -c 9");
        assert_eq!(figures(&report)[0], None, "a text about the tool");
    }

    #[test]
    fn a_line_above_the_output_is_a_command_only_if_it_begins_like_one() {
        let command = |line: &str| {
            let mut report = Foreign { tool: "hey".into(), ..Foreign::default() };
            complete(&mut report, &Given::default(), Page(line));
            report.command
        };
        for typed in [
            "./hey -c 100 http://h/",
            "bash -c 'hey -c 100 http://h/'",
            "cd hey && ./hey -c 100 http://h/",
            "A=1 taskset -c 1 hey -c 100 http://h/",
        ] {
            assert_eq!(command(&format!("# {typed}\n")).as_deref(), Some(typed));
        }
        for prose in [
            "# We ran hey -c 10 http://old/ a week ago",
            "> compare with hey -c 10 http://old/",
            "# hey with 10 connections; see http://old/",
            "$ mkdir hey out",
            "$ cargo install hey --locked",
        ] {
            assert_eq!(command(prose), None, "{prose}");
        }
    }

    #[test]
    fn what_changes_in_stages_or_ends_by_a_count_is_not_what_the_flags_say() {
        let report = completed("k6", "k6 run -u 1 -d 5s -s 30s:100 -s 10s:0 ramp.js");
        assert_eq!((figures(&report)[0], report.asked_s), (None, None));
        let report = completed("k6", "k6 run -u 4 -d 60s -i 100 few.js");
        assert_eq!((figures(&report)[0], report.asked_s), (Some(4.0), None));
        assert_eq!(completed("autocannon", "autocannon -d 9 -a 50 http://h/").asked_s, None);
    }

    #[test]
    fn a_script_hides_the_depth() {
        let report = completed("wrk", "wrk -c 32 -s pipeline.lua http://h/");
        assert_eq!(report.depth, None);
    }

    /// Users of k6 may send several requests at once.
    #[test]
    fn a_command_line_of_k6_does_not_tell_the_depth() {
        let report = completed("k6", "k6 run -u 8 -d 10s batch.js");
        assert_eq!(figures(&report), [Some(8.0), None, None, None]);
        let report = completed("k6", "k6 run --duration 1m30s batch.js");
        assert_eq!(report.asked_s.unwrap().value, 90.0);
    }

    #[test]
    fn a_command_line_above_the_output_is_read_and_the_output_goes_first() {
        let mut report = Foreign { tool: "wrk".into(), ..Foreign::default() };
        report.connections = Some(Figure::exact(64.0, 2));
        complete(
            &mut report,
            &Given::default(),
            Page("$ taskset -c 1 wrk -c 8 http://h/\nRunning\n"),
        );
        assert_eq!(figures(&report), [Some(64.0), None, Some(1.0), None]);
        for heading in ["# wrk with 64 connections\n", "> wrk - pipelined\n"] {
            let mut report = Foreign { tool: "wrk".into(), ..Foreign::default() };
            complete(
                &mut report,
                &Given { connections: Some(64), ..Given::default() },
                Page(heading),
            );
            assert_eq!(figures(&report), [Some(64.0), None, None, None], "{heading}");
        }
        let other = Page("$ curl http://wrk/ -c 5\n");
        let mut report = Foreign { tool: "wrk".into(), ..Foreign::default() };
        complete(&mut report, &Given { connections: Some(7), ..Given::default() }, other);
        assert_eq!(figures(&report), [Some(7.0), None, None, None]);
    }
}
