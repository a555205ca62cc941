//! The mix of a trial: what it checks, and the results of each target.

use model::check::Checks;
use model::load::{HttpVersion, MixTarget, Request, TARGETS_REPORTED_MAX, Trial};
use model::run::{TargetResult, count_target};
use model::secret;
use model::tick::TargetTally;
use wire::http2::Scheme;
use wire::tape::{EncodeError, Tape};

/// Requests of the tape that a record keeps.
const REQUESTS_KEPT: usize = 16;
/// Bytes of each of their bodies that it keeps.
const BODY_BYTES_KEPT: usize = 1024;

/// The checks of each target.
pub fn checks(trial: &Trial) -> Vec<Checks> {
    trial.targets.iter().map(|target| target.checks.clone()).collect()
}

/// The results of each reported target, by name.
pub fn results(trial: &Trial, tallies: &[TargetTally]) -> Vec<TargetResult> {
    let named = reported(&trial.targets);
    let results = named.into_iter().zip(tallies);
    results.map(|((name, weight), tally)| count_target(name, weight, tally)).collect()
}

/// Name and weight of each reported target; the last may stand for several.
fn reported(targets: &[MixTarget]) -> Vec<(String, u64)> {
    let places = TARGETS_REPORTED_MAX as usize;
    let alone = if targets.len() > places { places - 1 } else { targets.len() };
    let (alone, rest) = targets.split_at(alone);
    let mut named: Vec<_> =
        alone.iter().map(|target| (target.name.clone(), u64::from(target.weight))).collect();
    if !rest.is_empty() {
        let weight = rest.iter().map(|target| u64::from(target.weight)).sum();
        named.push((format!("{} others", rest.len()), weight));
    }
    named
}

/// What a record keeps of a trial: the tape of a mix can be as large as the memory that it was
/// allowed, and the same command, files and seed make it again. Of each request it keeps method,
/// path, the names of its headers, and the length of its body.
pub fn for_record(trial: &Trial) -> Trial {
    let targets = trial.targets.iter().take(TARGETS_REPORTED_MAX as usize).cloned().collect();
    let mut kept = Trial { targets, requests: bare(&trial.requests), ..trial.clone() };
    if let Some(fanout) = &mut kept.fanout {
        fanout.streams = bare(&fanout.streams);
    }
    kept
}

/// Puts the first requests of a trial into what a record keeps of it, as they were sent.
pub fn keep_requests(kept: &mut Trial, trial: &Trial) {
    let mut requests: Vec<_> = trial.requests.iter().take(REQUESTS_KEPT).cloned().collect();
    requests.iter_mut().for_each(|request| request.body.truncate(BODY_BYTES_KEPT));
    kept.requests = requests;
    if let (Some(kept), Some(fanout)) = (&mut kept.fanout, &trial.fanout) {
        kept.streams = fanout.streams.iter().take(REQUESTS_KEPT).cloned().collect();
    }
}

/// The tape of requests of a trial in a version of HTTP.
pub fn tape(
    trial: &Trial,
    http: HttpVersion,
    requests: &[Request],
    batch_max: u32,
) -> Result<Tape, EncodeError> {
    let scheme = if trial.tls.is_some() { Scheme::Https } else { Scheme::Http };
    match http {
        HttpVersion::One => tape_of(trial, requests, batch_max),
        HttpVersion::Two => Tape::http2(requests, scheme),
    }
}

/// The tape of requests in HTTP/1.1, as the first server on the way gets them: a proxy that reads
/// them gets whole URLs, and our name there.
fn tape_of(trial: &Trial, requests: &[Request], batch_max: u32) -> Result<Tape, EncodeError> {
    let Some(proxy) = trial.proxy.as_ref().filter(|proxy| !proxy.tunnels()) else {
        return Tape::new(requests, batch_max);
    };
    let forwarded = |request: &Request| {
        let mut request = request.clone();
        request.path = format!("http://{}{}", request.host, request.path);
        let name = |value: &String| ("Proxy-Authorization".to_string(), value.clone());
        request.headers.extend(proxy.authorization.as_ref().map(name));
        request
    };
    Tape::new(&requests.iter().map(forwarded).collect::<Vec<_>>(), batch_max)
}

/// The first requests without possible secrets.
fn bare(requests: &[Request]) -> Vec<Request> {
    let header = |(name, _): &(String, String)| (name.clone(), secret::MASK.to_string());
    let bare = |request: &Request| {
        let mut headers: Vec<_> = request.headers.iter().map(header).collect();
        if !request.body.is_empty() {
            headers.push(("Content-Length".to_string(), request.body.len().to_string()));
        }
        let path = secret::text(&request.path);
        Request { path, headers, body: Vec::new(), ..request.clone() }
    };
    requests.iter().take(REQUESTS_KEPT).map(bare).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_keeps_no_values_of_headers_and_no_bodies() {
        let request = Request {
            method: "POST".to_string(),
            path: "/login?token=s1&n=1".to_string(),
            host: "h".to_string(),
            headers: vec![("X-Plain".to_string(), "s2".to_string())],
            body: b"s3".to_vec(),
            target: 0,
            ..Request::default()
        };
        let bare = bare(&vec![request; 20]);
        assert_eq!(bare.len(), REQUESTS_KEPT);
        assert_eq!(bare[0].path, "/login?token=***&n=1");
        let header = |name: &str, value: &str| (name.to_string(), value.to_string());
        assert_eq!(bare[0].headers, [header("X-Plain", "***"), header("Content-Length", "2")]);
        assert_eq!((bare[0].method.as_str(), bare[0].body.as_slice()), ("POST", &b""[..]));
    }

    #[test]
    fn many_targets_share_the_last_place() {
        let target = |weight: u32| MixTarget {
            name: format!("GET /{weight}"),
            weight,
            ..MixTarget::default()
        };
        let exactly: Vec<_> = (1..=32).map(target).collect();
        assert_eq!(reported(&exactly)[31], ("GET /32".to_string(), 32));
        let many: Vec<_> = (1..=34).map(target).collect();
        let named = reported(&many);
        assert_eq!((named.len(), &named[30].0[..]), (32, "GET /31"));
        assert_eq!(named[31], ("3 others".to_string(), 32 + 33 + 34));
    }
}
