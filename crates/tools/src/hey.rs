//! hey: a closed loop, or at most a rate for each of its workers (`-q`).

use crate::ask::Ask;
use crate::command_line::{Asks, COLD, COUNT, CommandLine, NO_LINE, Sets, ToolOption, option};
use crate::order::{Order, words};
use crate::{Peer, Threads};
use model::load::Stop;
use model::tool::Tool;

pub(crate) const PEER: Peer = Peer {
    tool: Tool::Hey,
    get: "go install github.com/rakyll/hey@latest, or make peers",
    version: &[],
    threads: Threads::EveryCpu,
    harmless: &[],
    order,
};

/// Its command line.
pub(crate) const LINE: CommandLine = CommandLine {
    tool: "hey",
    options: OPTIONS,
    // A body does not make it a POST.
    defaults: &[(&["-c"], "50"), (COUNT, "200"), (&["-T"], "20s"), (&["-X"], "GET"), COLD],
    ..NO_LINE
};

const OPTIONS: &[ToolOption] = &[
    option(&["-n"], Asks::Option("-n"), "how many requests, 200 when not given"),
    option(&["-c"], Asks::Option("-c"), "workers, 50 when not given").sets(Sets::Connections),
    option(&["-z"], Asks::Option("-d"), "how long, instead of -n").sets(Sets::Duration),
    option(&["-m"], Asks::Option("-X"), "method"),
    option(&["-H"], Asks::Option("-H"), "a header"),
    option(&["-d"], Asks::Option("-b"), "body"),
    option(&["-D"], Asks::Option("-f"), "file with the body"),
    option(&["-T"], Asks::Header("Content-Type"), "Content-Type"),
    option(&["-A"], Asks::Header("Accept"), "Accept"),
    option(&["-host"], Asks::Header("Host"), "Host header"),
    option(
        &["-t"],
        Asks::Time("-T"),
        "a response later than this is a failure, 20 s when not given",
    ),
    option(&["-cpus"], Asks::Option("-t"), "threads"),
    option(
        &["-q"],
        Asks::NoValue("its rate is per worker; ceiling load has -R for all together"),
        "requests per second of each worker",
    ),
    option(&["-h2"], Asks::No("requests are HTTP/1.1"), "HTTP/2"),
    option(
        &["-disable-keepalive"],
        Asks::Words(&["--requests-per-conn", "1"]),
        "a connection for each request",
    ),
    option(&["-disable-compression"], Asks::Words(&[]), "ask for no compressed bodies"),
    option(&["-disable-redirects"], Asks::Words(&[]), "follow none, as is always so here"),
    option(&["-x"], Asks::Option("-x"), "proxy"),
    option(&["-U"], Asks::Header("User-Agent"), "User-Agent"),
    option(
        &["-a"],
        Asks::NoValue("give the header; for example -H 'Authorization: Basic dTpw'"),
        "user and password",
    ),
    option(
        &["-o"],
        Asks::NoValue("the summary is printed; ceiling load has -o run.json and -o run.csv"),
        "an output other than the summary",
    ),
];

fn order(ask: &Ask) -> Result<Order, String> {
    ask.only_http1("hey")?;
    ask.one_deep("hey")?;
    ask.one_of_each_header("hey")?;
    let ends = match ask.stop {
        Stop::AfterNs(ns) => format!("-z {}", Ask::time(ns)),
        // It gives each worker the same number, and does not send the rest.
        Stop::AfterRequests(count) if !count.is_multiple_of(ask.connections.into()) => {
            return Err(format!(
                "hey sends a multiple of its connections; for example -n {}",
                count.next_multiple_of(ask.connections.into())
            ));
        }
        Stop::AfterRequests(count) => format!("-n {count}"),
    };
    // By itself it asks for compressed bodies and follows redirects.
    let first = format!(
        "-disable-compression -disable-redirects -c {} {ends} -t {}",
        ask.connections,
        ask.timeout_s("hey")?
    );
    let mut words = words(&first, &ask.folder);
    if let Some(rate) = ask.rate {
        words.extend(["-q".to_string(), format!("{}", rate / f64::from(ask.connections))]);
    }
    if ask.method != "GET" {
        words.extend(["-m".to_string(), ask.method.clone()]);
    }
    for (name, value) in &ask.headers {
        words.extend(match name.eq_ignore_ascii_case("host") {
            // With -H it would not be sent.
            true => ["-host".to_string(), value.clone()],
            false => ["-H".to_string(), format!("{name}: {value}")],
        });
    }
    if !ask.body.is_empty() {
        words.extend(["-d".to_string(), ask.body_text("hey")?]);
    }
    words.push(ask.url.clone());
    Ok(Order::of(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::tests::{ask, more};

    #[test]
    fn a_load_is_asked_like_this() {
        let expected = "-disable-compression -disable-redirects -c 16 -z 3s -t 10 \
                        http://127.0.0.1:8083/read";
        assert_eq!(order(&ask()).unwrap().shown(), expected);
        let all = Ask { rate: Some(500.0), stop: Stop::AfterRequests(96), ..more() };
        let expected = "-disable-compression -disable-redirects -c 16 -n 96 -t 10 -q 31.25 -m PUT \
                        -H Accept: text/plain; q=\"1\" -d a\"b http://127.0.0.1:8083/read";
        assert_eq!(order(&all).unwrap().shown(), expected);
    }

    #[test]
    fn a_number_that_it_would_not_send_is_refused() {
        let odd = Ask { stop: Stop::AfterRequests(99), ..ask() };
        assert!(order(&odd).unwrap_err().ends_with("-n 112"));
    }

    #[test]
    fn another_host_is_sent() {
        let other = Ask { headers: vec![("Host".into(), "shop.example".into())], ..ask() };
        let expected = "-disable-compression -disable-redirects -c 16 -z 3s -t 10 -host \
                        shop.example http://127.0.0.1:8083/read";
        assert_eq!(order(&other).unwrap().shown(), expected);
    }
}
