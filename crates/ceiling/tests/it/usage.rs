//! Wrong command lines: one line that says what is wrong, what is accepted and an example; exit
//! code 2.

use crate::harness::{Folder, ceiling, run, turn};
use std::fs::File;
use std::net::TcpListener;
use std::path::Path;

const URL: &str = "http://127.0.0.1:1/";

/// The command must refuse with one line that has all of `words`; returns the line.
fn refuses(arguments: &[&str], words: &[&str]) -> String {
    let said = run(arguments);
    assert_eq!(said.code, 2, "{arguments:?}: {}", said.stderr);
    assert_eq!(said.stdout, "", "{arguments:?}");
    assert_eq!(said.stderr.trim_end().lines().count(), 1, "{arguments:?}: {}", said.stderr);
    for word in words {
        assert!(said.stderr.contains(word), "{arguments:?}: '{word}' in {}", said.stderr);
    }
    said.stderr
}

/// A closed pipe or a terminal that is gone takes no line either.
#[test]
fn a_stderr_that_takes_no_line_does_not_change_the_exit_code() {
    for words in [&["laod"][..], &["show", "no-such-run"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ended = ceiling(words).stderr(full).status().unwrap();
        assert_eq!(ended.code(), Some(2), "{words:?}");
    }
}

#[test]
fn wrong_values_name_the_flag_what_is_accepted_and_an_example() {
    for value in ["abc", "0", "-5", "1.5", "9G"] {
        refuses(&["load", URL, &format!("-c={value}")], &["--connections", value, "for example"]);
    }
    refuses(&["load", URL, "-d", "5x"], &["--duration", "5x", "ms", "for example"]);
    refuses(&["load", URL, "-d", "0"], &["--duration", "for example"]);
    refuses(&["load", URL, "-p", "0"], &["--depth", "for example"]);
    refuses(&["load", URL, "-t", "many"], &["--threads", "auto", "for example"]);
    refuses(&["load", URL, "-n", "x"], &["--requests", "for example"]);
    refuses(&["load", URL, "--cpus", "1-"], &["--cpus", "for example"]);
    refuses(&["load", URL, "--driver", "iocp"], &["--driver", "uring", "epoll", "for example"]);
    refuses(&["load", URL, "--warmup", "soon"], &["--warmup", "auto", "for example"]);
    refuses(&["load", URL, "--http", "3"], &["--http", "auto", "for example"]);
    refuses(&["load", URL, "--http", "2", "-H", "Connection: close"], &["no header 'Connection'"]);
    let fleet = ["--fleet", "nats://127.0.0.1:1/a", "--fleet-keys", "/nonexistent"];
    let auto = ["load", "https://127.0.0.1:1", "--http", "auto"];
    refuses(&[&auto[..], &fleet].concat(), &["--http auto", "--http 1 or --http 2"]);
    refuses(&["churn", "tcp://127.0.0.1:1", "--http", "2"], &["--http 2", "bare connections"]);
    refuses(&["load", URL, "--window", "64k"], &["--window", "HTTP/1.1", "--http 2"]);
    refuses(&["load", URL, "--http", "2", "--window", "0"], &["--window", "from 1 to 2147483647"]);
    refuses(&["load", URL, "--coalesce", "1s"], &["--coalesce", "for example"]);
    refuses(&["load", URL, "--server-pid", "0"], &["--server-pid", "for example"]);
    refuses(&["load", URL, "-H", "no colon"], &["--header", "for example"]);
    refuses(&["find", URL], &["--slo", "missing", "for example --slo"]);
    refuses(&["find", URL, "--slo", "p99"], &["--slo", "no < or >", "for example"]);
    let find = ["find", URL, "--slo", "p99<2ms"];
    for (option, value) in [("--rate", "5k..1k"), ("--rate", "5k"), ("--precision", "2")] {
        refuses(&[&find[..], &[option, value]].concat(), &[option, value, "for example"]);
    }
    refuses(&["load", URL, "--expect", "p99"], &["--expect", "no < or >", "for example"]);
    refuses(&["ramp", URL, "--expect", "p98<2ms"], &["--expect", "p98", "p99_9", "for example"]);
    refuses(&["load", URL, "--expect", "errors<1"], &["--expect", "share", "for example"]);
    refuses(&["ramp", URL, "-c", "50..5"], &["--connections", "50..5", "for example"]);
    refuses(&["ramp", URL, "-c", "1..1M+1"], &["--connections", "for example"]);
    refuses(&["ramp", URL, "--repeats=-1"], &["--repeats", "for example"]);
}

#[test]
fn values_that_are_missing_or_too_many_are_told_with_an_example() {
    refuses(&["load", URL, "-o", ""], &["--out", "a file", "for example -o report.html"]);
    refuses(&["load", URL, "--expect"], &["--expect", "what must hold", "for example --expect"]);
    refuses(&["load", URL, "-c"], &["--connections", "a number", "for example -c 50"]);
    refuses(&["show", ""], &["<RUN>", "for example ceiling show"]);
    refuses(&["show"], &["<RUN>", "missing", "for example ceiling show"]);
    refuses(&["completions"], &["<SHELL>", "missing", "zsh", "for example ceiling completions"]);
    let twice = refuses(&["load", URL, "-c", "5", "-c", "6"], &["--connections", "given twice"]);
    assert!(!twice.contains("together"), "{twice}");
    refuses(&["load", URL, "--json", "--json"], &["--json was given twice"]);
}

#[test]
fn cpus_and_threads_that_the_machine_has_not_are_refused() {
    let cpus = std::fs::read_to_string("/proc/self/status").unwrap();
    let cpus = cpus.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    refuses(
        &["load", URL, "--cpus", "0-4000"],
        &["--cpus", "may not use", cpus.trim(), "for example"],
    );
    let one_too_many = 4 * std::thread::available_parallelism().unwrap().get() + 1;
    let threads = one_too_many.max(1000).to_string();
    refuses(&["load", URL, "-t", &threads], &["--threads", &threads, "CPUs", "for example"]);
}

#[test]
fn a_run_is_shown_by_its_id_and_a_lone_record_has_no_histograms() {
    let folder = Folder::new("show");
    let runs = folder.file("runs");
    let load = ["load", "http://null/", "--driver", "null", "-d", "200ms", "-t", "1", "--json"];
    let turn = turn();
    let said = run(&[&load[..], &["--warmup", "0", "--runs", &runs]].concat());
    drop(turn);
    let record = said.record();
    let id = record["id"].as_str().unwrap();
    let (lone, log) = (folder.file("lone.json"), folder.file("x.hlog"));
    std::fs::write(&lone, &said.stdout).unwrap();

    let words = ["lone.json", "whole distributions", "run directory", "for example"];
    refuses(&["show", &lone, "-o", &log], &words);
    assert!(!Path::new(&log).exists(), "no file without content");
    assert_eq!(run(&["show", &lone]).code, 0, "the rest of it can be drawn");
    let without = run(&["show", &lone, "--hosts"]);
    assert!(
        without.code == 0 && without.stdout.contains("There are no readings"),
        "{}",
        without.stdout
    );
    let hosts = run(&["show", id, "--runs", &runs, "--hosts"]);
    assert!(hosts.stdout.contains("Client's host"), "{}{}", hosts.stdout, hosts.stderr);
    refuses(&["show", &lone, &lone, "--hosts"], &["--hosts", "one by one", "for example"]);
    refuses(&["show", &lone, "--hosts", "--json"], &["--hosts", "--json"]);

    let shown = run(&["show", id, "--runs", &runs, "-o", &log, "--json"]);
    assert_eq!((shown.code, shown.stderr.as_str()), (0, ""));
    assert_eq!(shown.record()["id"], *id);
    assert!(std::fs::read_to_string(&log).unwrap().contains("Tag="));
    refuses(
        &["show", "20000101T000000-00000000", "--runs", &runs],
        &["<RUN>", &runs, "for example"],
    );
    refuses(&["show", "/nonexistent/run"], &["/nonexistent/run", "for example"]);
}

/// What can be shown of one run only is not left out in silence.
#[test]
fn options_of_one_run_are_refused_for_several() {
    for option in ["-L", "--latency", "--json", "--hosts", "--junit=x.xml", "--summary=x.md"] {
        let name = if option == "--latency" { "-L" } else { option };
        let name = name.split('=').next().unwrap();
        refuses(&["show", "a", "b", option], &[name, "for one run only", "for example"]);
    }
}

#[test]
fn a_scheme_may_be_in_any_case() {
    let said = run(&["load", "HTTP://127.0.0.1:1/"]);
    assert_eq!(said.code, 5, "{}", said.stderr);
}

#[test]
fn wrong_urls_and_requests_say_what_is_wrong() {
    refuses(&["load", "laod"], &["laod", "scheme", "for example http://"]);
    refuses(&["load", "ftp://127.0.0.1/"], &["neither an http", "https", "for example"]);
    refuses(&["load", "http://127.0.0.1:99999/"], &["port", "for example"]);
    let said = run(&["load", "http://nowhere.invalid/"]);
    assert_eq!(said.code, 5, "a name that nothing resolves: {}", said.stderr);
    assert!(said.stderr.contains("cannot find host 'nowhere.invalid'"), "{}", said.stderr);
    refuses(&["load", URL, "-X", "GE T"], &["GE T", "for example"]);
    refuses(&["load", URL, "-H", "Transfer-Encoding: chunked"], &["Transfer-Encoding"]);
    refuses(&["load", URL, "-f", "/nonexistent/body"], &["--body-file", "/nonexistent/body"]);
}

#[test]
fn wrong_mixes_templates_and_checks_say_what_is_wrong() {
    refuses(&["load", URL, "--check-status", "101"], &["--check-status", "101", "for example"]);
    refuses(&["load", URL, "--check-length", "9..1"], &["--check-length", "for example"]);
    refuses(&["load", URL, "--check-body", ""], &["--check-body", "for example"]);
    refuses(&["load", URL, "--check-sha256", "ab"], &["--check-sha256", "64", "for example"]);
    refuses(&["load", URL, "--expand", "9"], &["--expand", "no template", "for example"]);
    let typo = format!("{URL}{{{{sequence}}}}");
    refuses(&["load", &typo, "--expand", "9"], &["{{sequence}}", "{{uuid}}", "for example"]);
    refuses(&["load", "-i", "/nonexistent/t"], &["--targets", "/nonexistent/t"]);
    refuses(&["load", URL, "-i", "x", "-b", "y"], &["--targets", "--body"]);
    let folder = Folder::new("targets");
    let file = folder.file("t.jsonl");
    let written = |text: &str, arguments: &[&str], words: &[&str]| {
        std::fs::write(&file, text).unwrap();
        refuses(&[&["load", "-i", &file], arguments].concat(), words);
    };
    written("{\"url\":\"/a\"}", &[], &["--targets", "paths only", "for example"]);
    written("{\"url\":\"/a\"}\nGET /b", &[URL], &["t.jsonl line 2", "for example"]);
    let (one, other) = ("GET http://127.0.0.1:1/\n", "GET http://127.0.0.1:2/\n");
    written(&format!("{one}\n{other}"), &[], &["line 3", "another server", "for example"]);
    written(one, &["http://127.0.0.1:2/"], &["line 1", "another server", "for example"]);
    written("GET a/b\n", &[URL], &["line 1", "neither a URL nor a path", "for example"]);
    written("GET /a b\n", &[URL], &["line 1", "space", "for example"]);
}

#[test]
fn wrong_rates_and_shapes_say_what_is_wrong() {
    let example = "for example";
    for rate in ["0", "-1", "x", "nan", "1k/min"] {
        refuses(&["load", URL, &format!("-R={rate}")], &["--rate", rate, example]);
    }
    refuses(&["load", URL, "-R", "1k..2k"], &["1k..2k", "ceiling ramp", example]);
    let normal = ["load", URL, "-R", "1k", "--arrivals", "normal"];
    refuses(&normal, &["--arrivals", "normal", "fixed", "poisson", "uniform", example]);
    refuses(&["load", URL, "--steps", "1k,2k"], &["--steps", "1k,2k", example]);
    refuses(&["load", URL, "--steps", "0,0/1s"], &["--steps", example]);
    refuses(&["load", URL, "--ramp", "0..9/1s"], &["--ramp", "FROM:TO/TIME", example]);
    refuses(&["load", URL, "--spike", "1k:2k/1s"], &["--spike", "BASE:PEAK/TIME@BEGIN", example]);
    let late = ["load", URL, "--spike", "1k:2k/1s@9s", "-d", "5"];
    refuses(&late, &["--spike", "ends after 10", "window of 5", "for example -d"]);
    refuses(&["load", URL, "--sine", "5k:1k/1s"], &["--sine", "LOW:HIGH/PERIOD", example]);
    refuses(&["load", URL, "--replay", "/nonexistent/r"], &["--replay", "/nonexistent/r"]);
    let folder = Folder::new("recording");
    let file = folder.file("r.csv");
    std::fs::write(&file, "t,rate\n0,10\n0,20\n").unwrap();
    refuses(&["load", URL, "--replay", &file], &["--replay", "r.csv", "line 3", example]);
    refuses(&["load", URL, "--steps", "1k/1s", "-d", "5"], &["--steps", "an end of its own"]);
    refuses(&["load", URL, "--ramp", "0:9/1s", "-n", "5"], &["--ramp", "an end of its own"]);
    refuses(&["load", URL, "-R", "1k", "--sine", "1:2/1s"], &["--rate", "--sine"]);
    let closed = ["load", URL, "--max-connections", "99"];
    refuses(&closed, &["--max-connections", "open loop", example]);
    let fewer = ["load", URL, "-R", "1k", "-c", "50", "--max-connections", "40"];
    refuses(&fewer, &["--max-connections", "40", "50", example]);
}

#[test]
fn experiments_are_refused_where_they_say_nothing() {
    let example = "for example ceiling ramp";
    for option in ["--may-touch-server", "--confirm-route=/small"] {
        let name = option.split('=').next().unwrap();
        refuses(&["load", URL, option], &[name, "experiments of --confirm", example]);
    }
    refuses(&["load", URL, "--confirm", "--confirm-route", "x"], &["--confirm-route", "'x'"]);
    refuses(&["find", URL, "--slo", "p99<1s", "--confirm"], &["--confirm", "a search", example]);
    refuses(&["churn", URL, "--confirm"], &["--confirm", "connections that stay", example]);
    let shaped = ["load", URL, "--confirm", "--ramp", "0:9/1s"];
    refuses(&shaped, &["--confirm", "one that changes", example]);
}

#[test]
fn wrong_holds_and_devices_say_what_is_wrong() {
    let tcp = "tcp://127.0.0.1:1";
    for hold in ["long", "1s±500%", "1s±5", "-1s"] {
        let option = format!("--hold={hold}");
        refuses(&["churn", tcp, &option], &["--hold", hold, "forever", "for example --hold 1s±5%"]);
    }
    refuses(&["churn", tcp, "--hold", "0"], &["--hold", "for example --hold 100ms"]);
    refuses(&["churn", tcp, "--devices", "0"], &["--devices", "for example"]);
    for option in ["--ramp-up", "--ramp-down", "--duration"] {
        refuses(&["churn", tcp, option, "0"], &[option, "greater than zero", "for example"]);
        refuses(&["churn", tcp, option, "soon"], &[option, "soon", "for example"]);
    }
    for range in ["5:1", "x", "1:2:3"] {
        let words = ["--requests-per-conn", range, "for example"];
        refuses(&["churn", URL, "--requests-per-conn", range], &words);
        refuses(&["load", URL, "--requests-per-conn", range], &words);
    }
    let none = ["load", URL, "--requests-per-conn", "0"];
    refuses(&none, &["--requests-per-conn", "without a request", "for example"]);
    let asks = ["churn", tcp, "--requests-per-conn", "1"];
    refuses(&asks, &["--requests-per-conn", "tcp URL has no requests", "http URL"]);
    refuses(&["churn", "tcp://127.0.0.1"], &["tcp://127.0.0.1", "port", "for example"]);
    refuses(&["churn", tcp, "-c", "5,1"], &["--devices", "'5,1'", "rises", "100,500"]);
    let forever = ["churn", tcp, "-R", "1k", "--hold", "forever"];
    refuses(&forever, &["--rate", "held forever", "for example -R 1k --hold 100ms"]);
    let both = ["churn", tcp, "-R", "1k,2k", "-c", "5,10"];
    refuses(&both, &["--devices", "one number of devices", "for example -R"]);
    refuses(&["churn", tcp, "--arrivals", "poisson"], &["--rate"]);
    let find = ["find", tcp, "--slo", "connect.p99<5ms"];
    refuses(&find, &["is not HTTP", "find --hold"]);
    let held = [&find[..], &["--hold", "100ms"]].concat();
    for (option, value) in [("--header", "Accept: a/b"), ("--method", "PUT"), ("--body", "x")] {
        let words = [option, "is about requests", tcp, "http or https", "for example"];
        refuses(&["churn", tcp, option, value], &words);
        refuses(&[&held[..], &[option, value]].concat(), &words);
        for command in ["load", "ramp", "fanout"] {
            refuses(&[command, tcp, option, value], &["is not HTTP", "churn", "for example"]);
        }
    }
    refuses(&[&find[..], &["--hold", "forever"]].concat(), &["--hold", "for example --hold 100ms"]);
    refuses(&["find", URL, "--slo", "p99<1s", "--requests-per-conn", "5"], &["--hold"]);
    refuses(&["find", tcp, "--slo", "connects.p99<1s"], &["names no figure", "connect.p99"]);
}

#[test]
fn unknown_and_contradicting_words_are_told() {
    refuses(&["load", URL, "--conections", "5"], &["--conections", "did you mean --connections"]);
    refuses(&["lod", URL], &["lod", "did you mean load?"]);
    refuses(&["load"], &["URL", "missing", "for example"]);
    refuses(&["load", URL, "-n", "5", "-d", "5"], &["--requests", "--duration"]);
    refuses(&["load", URL, "-b", "x", "-f", "y"], &["--body", "--body-file"]);
}

/// What a tired person types who knows another tool, and what the answer has.
const SPELLINGS: &[(&[&str], &str)] = &[
    // hey, oha, bombardier, autocannon
    (&["-z", "5s"], "-z: how long is -d; for example -d 5s"),
    (&["-z5s"], "-d 5s"),
    (&["-q", "100"], "-R 100"),
    (&["--qps", "200"], "-R 200"),
    (&["--qps=200"], "-R 200"),
    (&["-r", "300"], "-R 300"),
    (&["--disable-keepalive"], "--requests-per-conn 1"),
    (&["-disable-keepalive"], "--requests-per-conn 1"),
    (&["-a", "user:pw"], "--auth-env"),
    (&["-a", "1000"], "-n 1000"),
    (&["-D", "body.json"], "-f body.json"),
    (&["-T", "text/plain"], "-H 'Content-Type:"),
    (&["--no-tui"], "-q"),
    // curl
    (&["-d", "{\"a\":1}"], "-b '"),
    (&["-d", "a=1&b=2"], "-b '"),
    (&["-d", "@body.json"], "-f for a file"),
    (&["--data", "{}"], "-b '"),
    (&["--data-binary", "@x"], "-b '"),
    (&["--json", "{\"a\":1}"], "-b '"),
    (&["-u", "user:pw"], "--auth-env"),
    (&["--user", "user"], "--auth-env"),
    (&["-A", "Mozilla/5.0"], "-H 'User-Agent:"),
    (&["-A", "text/html"], "-H 'Accept:"),
    (&["-I"], "-X HEAD"),
    (&["--request", "POST"], "-X POST"),
    (&["--http2"], "--http 2"),
    (&["--http3"], "HTTP/1.1 and HTTP/2"),
    (&["--http1.1"], "leave it out"),
    (&["--cookie", "a=1"], "-H 'Cookie:"),
    (&["--max-time", "3"], "-T 3"),
    (&["--location"], "redirects are not followed"),
    (&["-s"], "-q"),
    (&["--compressed"], "-H 'Accept-Encoding: gzip'"),
    (&["-F", "a=@b"], "multipart/form-data"),
    // wrk, ab, h2load, siege
    (&["-s", "post.lua"], "-i mix.jsonl"),
    (&["-t", "30s"], "-d 30s"),
    (&["--concurrency", "5"], "-c 5"),
    (&["-p", "post.txt"], "-f body.json"),
    (&["-A", "user:pw"], "--auth-env"),
    (&["-C", "a=1"], "-H 'Cookie:"),
    (&["-D", "10s"], "-d 10s"),
    (&["--clients", "7"], "-c 7"),
    (&["--time=30S"], "-d 30S"),
    // k6, vegeta, locust
    (&["--vus", "10"], "-c 10"),
    (&["-u", "10"], "-c 10"),
    (&["--iterations", "9"], "-n 9"),
    (&["--insecure-skip-tls-verify"], "-k"),
    (&["--rps", "50"], "-R 50"),
    (&["-rate=100"], "two dashes; for example --rate"),
    (&["-duration=5s"], "two dashes; for example --duration"),
    (&["-connections", "5"], "two dashes; for example --connections"),
    (&["-workers", "2"], "-t 2"),
    (&["--users", "5"], "-c 5"),
];

#[test]
fn spellings_of_other_tools_are_answered_with_ours() {
    for command in ["load", "ramp"] {
        for (words, told) in SPELLINGS {
            let all = [&[command, URL], *words].concat();
            let said = refuses(&all, &[told]);
            let name = words[0].split('=').next().unwrap();
            assert!(said.contains(name.get(..2).unwrap()), "{words:?}: {said}");
            assert!(!said.contains("user:pw"), "{words:?}: {said}");
        }
    }
    // Without `load`, and for a value that is only wrong.
    refuses(&[URL, "-z", "5s"], &["-d 5s"]);
    for (words, told) in [(["-d", "5x"], "5x"), (["-t", "many"], "auto"), (["-p", "0"], "--depth")]
    {
        let said = refuses(&[&["load", URL], &words[..]].concat(), &[told, "for example"]);
        assert!(!said.contains("is not for it"), "{said}");
    }
}

#[test]
fn schemes_of_other_protocols_say_what_can_be_measured() {
    for (url, words) in [
        ("ws://127.0.0.1:1/", ["WebSocket", "churn tcp://"]),
        ("WSS://h/x", ["WebSocket", "churn tcp://"]),
        ("h2c://127.0.0.1:1/", ["--http 2", "for example"]),
        ("h3://127.0.0.1:1", ["HTTP/1.1 and HTTP/2", "for example"]),
        ("unix:///run/x.sock", ["--unix-socket", "for example"]),
        ("ftp://h/", ["neither an http nor an https URL", "for example"]),
    ] {
        refuses(&["load", url], &words);
        refuses(&[url], &words);
    }
}

#[test]
fn outputs_that_cannot_be_written_are_refused_before_any_load() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    refuses(&["load", &url, "-o", "/nonexistent/x.json"], &["-o", "/nonexistent/x.json"]);
    refuses(&["load", &url, "-o", "x.docx"], &["x.docx", ".html", "for example"]);
    let folder = Folder::new("unwritable");
    refuses(&["load", &url, "-o", &folder.file("")], &["-o"]);
    for runs in ["/proc/nowhere", "/dev/null"] {
        refuses(&["load", &url, "--runs", runs], &["--runs", runs, "for example"]);
    }
    refuses(&["load", &url, "--runs", "/dev/null"], &["not a directory"]);
    let (plain, roundabout) = (folder.file("s.json"), folder.file("./s.json"));
    for again in [&plain, &roundabout] {
        let twice = ["load", &url, "-o", &plain, "-o", again];
        refuses(&twice, &["-o", again.as_str(), "twice", "for example"]);
    }
    assert!(folder.path.read_dir().unwrap().next().is_none(), "nothing is left behind");
    assert!(listener.accept().is_err(), "nobody connected");
}

#[test]
fn nobody_at_the_target_is_told_at_once_with_address_and_reason() {
    let said = run(&["load", "http://127.0.0.1:1/"]);
    assert_eq!(said.code, 5);
    assert!(said.stderr.contains("127.0.0.1:1: Connection refused"), "{}", said.stderr);
    assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
}

#[test]
fn help_and_completions_teach() {
    let said = run(&["load", "--help"]);
    assert_eq!(said.code, 0);
    for word in ["Examples:", "--connections", "--coalesce", "--server-pid"] {
        assert!(said.stdout.contains(word), "{word}");
    }
    for words in [&[][..], &["load"], &["ramp"], &["find"], &["show"], &["completions"]] {
        for help in ["-h", "--help"] {
            let said = run(&[words, &[help]].concat());
            assert_eq!(said.code, 0, "{words:?} {help}");
            for line in said.stdout.lines() {
                assert!(line.chars().count() <= 80, "{words:?} {help} fits a terminal: {line}");
            }
        }
    }
    for (shell, dashes) in [("bash", "--"), ("zsh", "--"), ("fish", "-l ")] {
        let script = run(&["completions", shell]).stdout;
        for command in ["load", "ramp", "find", "show", "completions"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
        for option in ["connections", "server-pid", "body-file", "repeats"] {
            assert!(script.contains(&format!("{dashes}{option}")), "{shell}: {option}");
        }
    }
}
