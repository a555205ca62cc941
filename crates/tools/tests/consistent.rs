//! True accounts, printed as tools print them, are never refuted.
//!
//! A closed loop of connections is simulated in virtual time; what it did is counted exactly and
//! printed with the digits of each tool.

use model::audit::{Given, Outcome};
use proptest::prelude::*;
use tools::audit::{account, read};

/// What a load really did.
#[derive(Debug)]
struct Truth {
    connections: usize,
    duration_s: f64,
    /// Latencies of the responses, seconds, sorted.
    times: Vec<f64>,
}

impl Truth {
    /// Connections that each send one request after the other, with times from one kind of
    /// distribution.
    fn new(connections: usize, duration_s: f64, kind: usize, mean_s: f64, seed: u64) -> Self {
        let mut state = seed | 1;
        let mut draw = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut times = Vec::new();
        for _ in 0..connections {
            let mut now = 0.0;
            loop {
                let draw = draw().max(1e-9);
                let took = match kind {
                    0 => mean_s,
                    1 => -mean_s * draw.ln(),
                    2 => {
                        if draw < 0.9 {
                            mean_s
                        } else {
                            10.0 * mean_s
                        }
                    }
                    _ => (0.3 * mean_s * draw.powf(-0.66)).min(duration_s),
                };
                now += took.max(1e-6);
                if now > duration_s || times.len() > 50_000 {
                    break;
                }
                times.push(took.max(1e-6));
            }
        }
        times.sort_by(f64::total_cmp);
        Self { connections, duration_s, times }
    }

    fn count(&self) -> f64 {
        self.times.len() as f64
    }

    fn rate(&self) -> f64 {
        self.count() / self.duration_s
    }

    fn mean(&self) -> f64 {
        self.times.iter().sum::<f64>() / self.count()
    }

    fn stdev(&self) -> f64 {
        let mean = self.mean();
        (self.times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / self.count()).sqrt()
    }

    fn at(&self, share: f64) -> f64 {
        let rank = (share * self.count()).ceil() as usize;
        self.times[rank.clamp(1, self.times.len()) - 1]
    }

    fn min(&self) -> f64 {
        self.times[0]
    }

    fn max(&self) -> f64 {
        self.times[self.times.len() - 1]
    }
}

/// As wrk prints times.
fn short(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2}s"),
        s if s >= 1e-3 => format!("{:.2}ms", s * 1e3),
        s => format!("{:.2}us", s * 1e6),
    }
}

fn wrk(of: &Truth) -> String {
    let row = |share: f64| format!("    {:.0}%   {}\n", share * 100.0, short(of.at(share)));
    format!(
        "Running 3s test @ http://127.0.0.1:1/\n  1 threads and {} connections\n  Thread Stats   \
         Avg  \
         Stdev     Max   +/- Stdev\n    Latency  {}  {}  {}   80.00%\n    Req/Sec     1.61k   \
         1.52     \
         2.25k    60.00%\n  Latency Distribution\n{}{}{}{}  {} requests in {:.2}s, {:.2}KB \
         read\nRequests/sec: {:.2}\nTransfer/sec: {:.2}KB\n",
        of.connections,
        short(of.mean()),
        short(of.stdev()),
        short(of.max()),
        row(0.5),
        row(0.75),
        row(0.9),
        row(0.99),
        of.count(),
        of.duration_s,
        of.count() * 85.0 / 1024.0,
        of.rate(),
        of.rate() * 85.0 / 1024.0,
    )
}

fn hey(of: &Truth) -> String {
    let row = |share: f64| format!("  {:.0}%% in {:.4} secs\n", share * 100.0, of.at(share));
    format!(
        "\nSummary:\n  Total:\t{:.4} secs\n  Slowest:\t{:.4} secs\n  Fastest:\t{:.4} secs\n  \
         Average:\t{:.4} secs\n  Requests/sec:\t{:.4}\n\nLatency distribution:\n{}{}{}{}\nStatus \
         code \
         distribution:\n  [200]\t{} responses\n",
        of.duration_s,
        of.max(),
        of.min(),
        of.mean(),
        of.rate(),
        row(0.5),
        row(0.9),
        row(0.95),
        row(0.99),
        of.count(),
    )
}

fn ab(of: &Truth) -> String {
    let ms = |time: f64| (time * 1e3).round();
    let row = |share: f64| format!("  {:.0}%  {}\n", share * 100.0, ms(of.at(share)));
    format!(
        "Concurrency Level:      {}\nTime taken for tests:   {:.3} seconds\nComplete \
         requests:      \
         {}\nFailed requests:        0\nTotal transferred:      {} bytes\nRequests per \
         second:    {:.2} \
         [#/sec] (mean)\nTransfer rate:          {:.2} [Kbytes/sec] received\n\nConnection Times \
         (ms)\n              min  mean[+/-sd] median   max\nTotal:    {} {} {:.1} {} \
         {}\n\nPercentage of \
         the requests served within a certain time (ms)\n{}{}{}{} 100%  {} (longest request)\n",
        of.connections,
        of.duration_s,
        of.count(),
        of.count() * 85.0,
        of.rate(),
        of.rate() * 85.0 / 1024.0,
        ms(of.min()),
        ms(of.mean()),
        of.stdev() * 1e3,
        ms(of.at(0.5)),
        ms(of.max()),
        row(0.5),
        row(0.9),
        row(0.95),
        row(0.99),
        ms(of.max()),
    )
}

fn oha(of: &Truth) -> String {
    format!(
        r#"{{"summary":{{"successRate":1.0,"total":{},"slowest":{},"fastest":{},"average":{},
        "requestsPerSec":{},"totalData":{},"sizePerSec":{}}},
        "latencyPercentiles":{{"p50":{},"p90":{},"p99":{},"p99.9":{}}},
        "statusCodeDistribution":{{"200":{}}},"errorDistribution":{{}}}}"#,
        of.duration_s,
        of.max(),
        of.min(),
        of.mean(),
        of.rate(),
        of.count() * 16.0,
        of.rate() * 16.0,
        of.at(0.5),
        of.at(0.9),
        of.at(0.99),
        of.at(0.999),
        of.count(),
    )
}

fn vegeta(of: &Truth) -> String {
    let ns = |time: f64| (time * 1e9).round();
    format!(
        r#"{{"latencies":{{"mean":{},"50th":{},"90th":{},"95th":{},"99th":{},"max":{},"min":{}}},
        "bytes_in":{{"total":0}},"duration":{},"requests":{},"rate":{},"throughput":{},"success":1,
        "status_codes":{{"200":{}}},"errors":[]}}"#,
        ns(of.mean()),
        ns(of.at(0.5)),
        ns(of.at(0.9)),
        ns(of.at(0.95)),
        ns(of.at(0.99)),
        ns(of.max()),
        ns(of.min()),
        ns(of.duration_s),
        of.count(),
        of.rate(),
        of.rate(),
        of.count(),
    )
}

fn k6(of: &Truth) -> String {
    format!(
        "  http_req_duration..............: avg={} min={} med={} max={} p(90)={} p(95)={}\n  \
         http_req_failed................: 0.00%  0 out of {}\n  http_reqs......................: \
         {}  \
         {:.6}/s\n  vus_max........................: {}\n",
        short(of.mean()),
        short(of.min()),
        short(of.at(0.5)),
        short(of.max()),
        short(of.at(0.9)),
        short(of.at(0.95)),
        of.count(),
        of.count(),
        of.rate(),
        of.connections,
    )
}

fn h2load(of: &Truth) -> String {
    format!(
        "spawning thread #0: {} total client(s). Timing-based test with 0s of warm-up \
         time\n\nfinished \
         in {:.2}s, {:.2} req/s, 1.00MB/s\nrequests: {n} total, {n} started, {n} done, {n} \
         succeeded, 0 \
         failed, 0 errored, 0 timeout\nstatus codes: {n} 2xx, 0 3xx, 0 4xx, 0 5xx\ntraffic: \
         {:.2}MB \
         ({}) total\n           min         max         mean         sd        +/- sd\ntime for \
         request: {} {} {} {} 80.00%\n",
        of.connections,
        of.duration_s,
        of.rate(),
        of.duration_s,
        of.duration_s * 1_048_576.0,
        short(of.min()),
        short(of.max()),
        short(of.mean()),
        short(of.stdev()),
        n = of.count(),
    )
}

type Prints = (&'static str, fn(&Truth) -> String);

const PRINTS: [Prints; 7] = [
    ("wrk", wrk),
    ("hey", hey),
    ("ab", ab),
    ("oha", oha),
    ("vegeta", vegeta),
    ("k6", k6),
    ("h2load", h2load),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_true_account_is_never_refuted(
        connections in 1_usize..64,
        duration_s in 1.0_f64..20.0,
        kind in 0_usize..4,
        mean_s in 0.000_3_f64..0.2,
        seed in any::<u64>(),
    ) {
        let truth = Truth::new(connections, duration_s, kind, mean_s, seed);
        prop_assume!(truth.times.len() > 20);
        for (tool, print) in PRINTS {
            let printed = print(&truth);
            let given = Given {
                connections: Some(connections as u64),
                depth: Some(1),
                command: Some(format!("{tool} http://h/ -c {connections}")),
                link_bits_per_s: Some(1e12),
                client_cpus: Some(64),
                now_s: Some(1.8e9),
            };
            let told = read(&mut printed.as_bytes(), &given).unwrap();
            prop_assert_eq!(&told.tool, tool);
            let of = account("-".into(), String::new(), told, &given);
            let refuted: Vec<_> =
                of.claims.iter().filter(|claim| claim.outcome == Outcome::Impossible).collect();
            prop_assert!(refuted.is_empty(), "{}\n{:#?}", printed, refuted);
        }
    }

    /// A rate reported twice as high is refuted for every tool that prints time and count.
    #[test]
    fn a_rate_that_was_doubled_is_refuted(seed in any::<u64>(), connections in 2_usize..32) {
        let truth = Truth::new(connections, 5.0, 1, 0.01, seed);
        let true_rate = format!("{:.2}", truth.rate());
        let doubled = wrk(&truth).replace(&true_rate, &format!("{:.2}", truth.rate() * 2.0));
        let told = read(&mut doubled.as_bytes(), &Given::default()).unwrap();
        let of = account("-".into(), String::new(), told, &Given::default());
        let rate = of.claims.iter().find(|claim| claim.name == "rate").unwrap();
        prop_assert_eq!(rate.outcome, Outcome::Impossible);
    }
}
