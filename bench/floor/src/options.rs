//! The command line.

use std::net::SocketAddr;
use std::time::Duration;

pub const USAGE: &str = "\
usage: floor [--driver uring|epoll] [-c N] [-p N] [-d SECONDS] URL
       floor --serve IP:PORT

  --driver uring|epoll   how bytes are sent and received [default: uring]
  -c, --connections N    connections, kept open [default: 50]
  -p, --depth N          requests in flight per connection [default: 1]
  -d, --duration T       seconds of load [default: 3]
  URL                    http://IP:PORT/PATH
  --serve IP:PORT        run the server instead, with the cheapest possible response

Prints one line of JSON: requests, seconds, bytes, cpu_user_ns, cpu_system_ns, turns, sends.
";

/// How bytes are sent and received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    Epoll,
    Uring,
}

impl Driver {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Epoll => "epoll",
            Self::Uring => "uring",
        }
    }
}

/// A checked command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub driver: Driver,
    pub connections: u32,
    pub depth: u32,
    pub duration: Duration,
    pub address: SocketAddr,
    pub path: String,
}

impl Options {
    /// The bytes of one request.
    pub fn request(&self) -> Vec<u8> {
        format!("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", self.path, self.address).into_bytes()
    }
}

/// What a command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum Invocation {
    Run(Options),
    Serve(SocketAddr),
    Help,
}

/// Reads the arguments after the name of the program.
pub fn parse(arguments: &[String]) -> Result<Invocation, String> {
    let mut driver = Driver::Uring;
    let (mut connections, mut depth, mut seconds) = (50, 1, 3.0);
    let mut url = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "-h" | "--help" => return Ok(Invocation::Help),
            "--serve" => return Ok(Invocation::Serve(listen_address(value()?)?)),
            "--driver" => driver = driver_of(value()?)?,
            "-c" | "--connections" => connections = count(argument, value()?)?,
            "-p" | "--depth" => depth = count(argument, value()?)?,
            "-d" | "--duration" => seconds = seconds_of(value()?)?,
            other if other.starts_with('-') => return Err(format!("there is no flag {other}")),
            other => url = Some(target(other)?),
        }
    }
    let (address, path) = url.ok_or("a URL is missing, such as http://127.0.0.1:8083/simple")?;
    let duration = Duration::from_secs_f64(seconds);
    Ok(Invocation::Run(Options { driver, connections, depth, duration, address, path }))
}

fn driver_of(value: &str) -> Result<Driver, String> {
    [Driver::Epoll, Driver::Uring]
        .into_iter()
        .find(|driver| driver.name() == value)
        .ok_or(format!("--driver takes uring or epoll, not {value}"))
}

fn listen_address(value: &str) -> Result<SocketAddr, String> {
    let wrong = |_| format!("--serve takes IP:PORT, such as 127.0.0.1:8083, not {value}");
    value.parse().map_err(wrong)
}

fn count(flag: &str, value: &str) -> Result<u32, String> {
    let count = value.parse().ok().filter(|count| (1..=1_000_000).contains(count));
    count.ok_or(format!("{flag} takes a number from 1 to 1000000, not {value}"))
}

fn seconds_of(value: &str) -> Result<f64, String> {
    let seconds = value.parse().ok().filter(|seconds| (0.01..=86400.0).contains(seconds));
    seconds.ok_or(format!("--duration takes seconds, such as 3 or 0.5, not {value}"))
}

fn target(url: &str) -> Result<(SocketAddr, String), String> {
    let wrong = || format!("{url} is not of the form http://IP:PORT/PATH");
    let rest = url.strip_prefix("http://").ok_or_else(wrong)?;
    let (address, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let path = if path.is_empty() { "/" } else { path };
    Ok((address.parse().map_err(|_| wrong())?, path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Invocation, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn flags_have_defaults_and_values() {
        let Ok(Invocation::Run(options)) = parsed("http://127.0.0.1:80/a?b=/c") else { panic!() };
        assert_eq!((options.connections, options.depth), (50, 1));
        assert_eq!((options.driver, options.path.as_str()), (Driver::Uring, "/a?b=/c"));
        let line = "--driver epoll -c 7 -p 9 -d 0.5 http://[::1]:81";
        let Ok(Invocation::Run(options)) = parsed(line) else { panic!() };
        assert_eq!((options.driver, options.connections, options.depth), (Driver::Epoll, 7, 9));
        assert_eq!(options.duration, Duration::from_millis(500));
        assert_eq!(options.request(), b"GET / HTTP/1.1\r\nHost: [::1]:81\r\n\r\n");
    }

    #[test]
    fn wrong_lines_say_what_is_wrong() {
        let cases = [
            ("", "a URL is missing"),
            ("-c 0 http://127.0.0.1:80/", "-c takes"),
            ("-c", "-c needs a value"),
            ("--serve localhost", "--serve takes IP:PORT"),
            ("--driver xdp http://127.0.0.1:80/", "uring or epoll"),
            ("-d soon http://127.0.0.1:80/", "seconds"),
            ("--fast http://127.0.0.1:80/", "no flag --fast"),
            ("https://127.0.0.1:80/", "not of the form"),
            ("http://localhost/", "not of the form"),
        ];
        for (line, part) in cases {
            let reason = parsed(line).unwrap_err();
            assert!(reason.contains(part), "{line}: {reason}");
        }
    }
}
