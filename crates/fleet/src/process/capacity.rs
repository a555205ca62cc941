//! The rate that this host can send, from which its share of a load follows.
//!
//! In: nothing. Out: requests per second of one worker, from the CPU time that one worker takes for
//! a request to a server in this process. CPU time, because the rate of two ends that share CPUs
//! says little, and because a neighbour disturbs CPU time least.

use lab::{Logs, Reporting, ThisHost, Verdicts};
use model::run::Run;
use rustix::time::{ClockId, clock_gettime};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use store::Readings;

/// The measured load: a closed loop of one worker, long enough for some thousand requests.
const LOAD: [&str; 12] = [
    "load",
    "",
    "--connections",
    "16",
    "--threads",
    "1",
    "--warmup",
    "100ms",
    "--duration",
    "400ms",
    "--quiet",
    "--no-color",
];
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Requests per second that one worker with its own CPU could send, or why that is not known. Takes
/// about a second.
///
/// # Errors
///
/// The reason, for people: for example no socket, or CPU time that could not be read.
pub fn of_a_worker(stop: &AtomicBool) -> Result<f64, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let server = scope.spawn(|| serve(&listener, &is_over));
        let run = run(&format!("http://{address}/"), stop);
        is_over.store(true, Ordering::Relaxed);
        // The server sees the flag only after one more connection.
        drop(TcpStream::connect(address));
        let served = server.join().map_err(|_| "its server died".to_string())?;
        rate(&run?, &served)
    })
}

fn run(url: &str, stop: &AtomicBool) -> Result<Run, String> {
    let mut words = LOAD.map(str::to_string);
    words[1] = url.to_string();
    let trial = plan::trial_of(&words, &ThisHost)?;
    let near = Readings::nameless().map_err(|error| error.to_string())?;
    let reporting = Reporting { notify: &mut |_| (), verdicts: Verdicts::OfLevels };
    lab::run(&trial, &words, &mut Logs { near, far: None }, stop, reporting)
        .map_err(|error| error.to_string())
}

/// The rate from the CPU time per request of this process, minus that of the server in it.
fn rate(run: &Run, served: &Served) -> Result<f64, String> {
    let both_us = run.record.points.first().and_then(|point| point.cpu.client_us_per_request);
    let both_us = both_us.ok_or("no CPU time of this process was read")?;
    let server_us = served.cpu_ns as f64 / 1e3 / served.requests.max(1) as f64;
    let worker_us = both_us - server_us;
    if served.requests == 0 || worker_us <= 0.0 {
        return Err(format!("{both_us:.1} us of both ends, {server_us:.1} us of the server"));
    }
    Ok(1e6 / worker_us)
}

/// How many requests a server handled, and their CPU time.
#[derive(Default)]
struct Served {
    requests: u64,
    cpu_ns: u64,
}

/// Serves each connection on its own thread, until the first connection after `is_over` is set.
fn serve(listener: &TcpListener, is_over: &AtomicBool) -> Served {
    thread::scope(|scope| {
        let mut connections = Vec::new();
        for stream in listener.incoming().flatten() {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            connections.push(scope.spawn(move || serve_one(stream)));
        }
        let each = connections.into_iter().filter_map(|one| one.join().ok());
        each.fold(Served::default(), |sum, one| Served {
            requests: sum.requests + one.requests,
            cpu_ns: sum.cpu_ns + one.cpu_ns,
        })
    })
}

/// Serves a connection whose requests have no body and come one at a time.
fn serve_one(mut stream: TcpStream) -> Served {
    let mut buffer = [0; 4096];
    let (mut held, mut requests) = (0, 0);
    while let Ok(read @ 1..) = stream.read(&mut buffer[held..]) {
        held += read;
        if buffer[..held].ends_with(b"\r\n\r\n") {
            if stream.write_all(RESPONSE).is_err() {
                break;
            }
            (held, requests) = (0, requests + 1);
        }
    }
    let cpu = clock_gettime(ClockId::ThreadCPUTime);
    Served { requests, cpu_ns: cpu.tv_sec as u64 * 1_000_000_000 + cpu.tv_nsec as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_of_this_host_can_send_something() {
        let rate = of_a_worker(&AtomicBool::new(false)).unwrap();
        assert!(rate.is_finite() && rate > 1.0, "{rate}");
    }
}
