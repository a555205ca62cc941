//! What each figure of the record means. The record carries this text, so that a number never
//! travels without its definition.

use std::collections::BTreeMap;

const DEFINITIONS: &[(&str, &str)] = &[
    (
        "points[].rate",
        "Completed good responses (status 2xx or 3xx, no failed check) to requests sent in the \
         measured window, divided by load.duration_s.",
    ),
    (
        "points[].load.duration_s",
        "Length of the measured window. Time-based: from its begin to the last instant at which \
         requests were sent. Count-based: from its begin to the last complete answer.",
    ),
    (
        "points[].requests",
        "Requests sent in the measured window and what became of them: sent = completed + failed \
         + unanswered. completed: whole answer with status 2xx or 3xx and no failed check. \
         failed: whole answer with another status or a failed check, or an error of class \
         timeout, reset, closed or parse. unanswered: no whole answer when the drain ended. \
         planned: the number asked for (-n), or in open loop those due in the window; else null. \
         unsent: planned ones that were never sent, so that planned = sent + unsent. waited: sent \
         ones that were due while every connection was in use.",
    ),
    (
        "points[].errors",
        "Classes timeout, reset, closed and parse count requests and are part of \
         requests.failed. Classes connect, tls, ports and fds count connection attempts since \
         the level was ordered and are not requests.",
    ),
    (
        "points[].status",
        "Whole answers by status class. Redirects are not followed: each is one answer of class \
         3xx, and a good one unless a check says otherwise.",
    ),
    (
        "points[].mismatched",
        "Answers with status 2xx or 3xx that failed a check (--check-status, --check-length, \
         --check-body, --check-sha256 or a target's own). They are part of requests.failed, their \
         status and bytes are counted, and their latency is in no distribution. Checks see the \
         body with transfer coding removed and content coding as sent.",
    ),
    (
        "points[].mismatches",
        "The same by check; an answer counts under the first that failed, in the order status, \
         length, body, sha256.",
    ),
    (
        "points[].targets",
        "The requests of the window by target of a mix (-i), in the order of the file; empty with \
         one target. A target with templates stands for all its expansions. At most 32 are told \
         apart: of more, the last entry holds all that follow the first 31. Sums over targets are \
         those of the point; unsent requests and failed attempts to connect belong to no target.",
    ),
    (
        "trial.requests",
        "The first 16 requests of the tape, in sending order. Each connection begins at its own \
         place of the tape, drawn from the seed, and goes round; with templates a value returns \
         when the tape does.",
    ),
    (
        "points[].latency_ns",
        "From the send in closed loop, from the planned instant in open loop, to the instant the \
         last byte of the answer was in user space; completed requests only. censored counts \
         requests that timed out, were unanswered or unsent: they take part in the ranks, so a percentile that falls \
         among them is null, and so is max. A percentile with fewer than ten values beyond it \
         is null.",
    ),
    (
        "points[].service_ns",
        "From the instant the request was handed to the kernel to the last byte of its answer. In \
         closed loop the same as latency_ns.",
    ),
    (
        "points[].release_lag_ns",
        "Open loop: from the planned instant to the send, of every request sent; null in closed \
         loop. Latency is release lag plus service.",
    ),
    (
        "points[].lateness_ns",
        "Open loop: the part of the release lag that is the generator's own: from the planned \
         instant, or from the instant a connection had room when that was later, to the send.",
    ),
    (
        "points[].latency_at_least_ns",
        "latency_ns and beside it, for every request without a latency, how long it had waited at \
         least: timed out until then, unanswered until the end of the drain, unsent until the end \
         of the window. Its percentiles are lower bounds of the true ones; null when every \
         request has a latency.",
    ),
    (
        "points[].offered_rate",
        "Open loop: planned requests divided by load.duration_s. load.rate is what was asked for, \
         its mean over the window when load.curve changes it.",
    ),
    (
        "points[].client_loop.spin_share",
        "Open loop: share of the workers' time spent asking the clock whether the next request is \
         due, because it was too near to sleep. It is part of the generator's CPU time, and is \
         what punctuality costs.",
    ),
    (
        "points[].connections",
        "asked: slots of the level. opened: slots that were open at least once. served: slots \
         that had at least one request of the window answered, with any status. failed: slots \
         whose every attempt failed. reopened: further successful attempts. connect_ns: time from \
         connect() to established, successful attempts since the level was ordered.",
    ),
    (
        "points[].bytes",
        "Whole requests sent in the window, and whole answers to them: head, framing and body. \
         No TCP, IP or Ethernet headers.",
    ),
    (
        "points[].cpu.client_us_per_request",
        "CPU time (user and kernel) of the generator's process in the window, its probe and \
         conductor included, per completed request. Kernel time includes network work done on \
         behalf of its calls. client_usr_us_per_request is the user part of the workers, which \
         the kernel samples: null when no sample fell into it.",
    ),
    (
        "points[].cpu.server_us_per_request",
        "On-CPU time (schedstat) of all threads of the server's process tree between two probe \
         readings inside the window, per completed request at the rate of the window. null when \
         the server is not watched.",
    ),
    (
        "points[].in_flight.mean",
        "Requests in flight, added up over time by the workers at every change and divided by \
         the window; independent of the latency histogram.",
    ),
    (
        "points[].client_loop.turn_max_ns",
        "Longest time between a wait returning and the next wait: the most by which a stamp can \
         be late.",
    ),
    (
        "points[].verdict.ceiling",
        "rate with the 95 % interval of its mean (batch means). kind ceiling: a wall was \
         reached; at-least: none was, so the true ceiling is this or more.",
    ),
];

/// All definitions by path.
pub fn all() -> BTreeMap<String, String> {
    DEFINITIONS.iter().map(|(path, text)| ((*path).to_string(), (*text).to_string())).collect()
}
