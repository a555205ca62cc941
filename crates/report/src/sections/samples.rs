//! The first response of each kind of failure, and the first redirect, verbatim.

use crate::page::{Block, List, ListKind};
use crate::wording::point_phrase;
use model::run::{Point, Run};
use model::sample::ResponseSample;

/// Each sample with what to do about it.
pub fn samples(run: &Run) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (point, sample) in first_of_each(run) {
        let failed = match &sample.check {
            Some(check) => format!("The first that failed the check '{check}'"),
            None => format!("The first with status {}", sample.status),
        };
        let hint = hint(sample).map_or(String::new(), |hint| format!(" {hint}"));
        let at = point_phrase(point);
        let lead = format!("{failed}, {at}, {} bytes.{hint}", sample.bytes);
        let mut items = sample.head.clone();
        items.extend(sample.body.iter().flat_map(|body| body.lines()).map(str::to_string));
        blocks.push(Block::List(List { lead, kind: ListKind::Sentences, items }));
    }
    blocks
}

/// The first sample of each kind over all points.
fn first_of_each(run: &Run) -> Vec<(&Point, &ResponseSample)> {
    let mut first: Vec<(&Point, &ResponseSample)> = Vec::new();
    for point in &run.record.points {
        for sample in &point.samples {
            let is_alike = |(_, other): &(&Point, &ResponseSample)| {
                (other.status, &other.check) == (sample.status, &sample.check)
            };
            if !first.iter().any(is_alike) {
                first.push((point, sample));
            }
        }
    }
    first
}

/// What the user can do about a status, where there is something to do.
pub(crate) fn hint(sample: &ResponseSample) -> Option<String> {
    if sample.check.is_some() {
        return None;
    }
    let header = |name| sample.header(name);
    let hint = match sample.status {
        300..=399 => {
            let to = header("location")?;
            format!("The server redirects to {to}. Redirects are not followed: measure that URL.")
        }
        400 => "The server does not understand the request: compare it with `curl -v`.".to_string(),
        401 => "The server requires credentials: -H 'Authorization: ...'.".to_string(),
        403 => {
            "The server forbids the request: check credentials, Host and User-Agent.".to_string()
        }
        404 => "The server has no such path.".to_string(),
        405 => match header("allow") {
            Some(allowed) => format!("The server allows {allowed}: choose one with -X."),
            None => "The server does not allow the method: choose one with -X.".to_string(),
        },
        411 => "The server requires a Content-Length: give a body with -b or -f.".to_string(),
        413 => "The server does not accept a body of this size.".to_string(),
        415 => "The server does not accept this type of body: -H 'Content-Type: application/json'."
            .to_string(),
        429 => match header("retry-after") {
            Some(after) => format!("The server limits the rate and asks to wait {after} s."),
            None => "The server limits the rate.".to_string(),
        },
        502 | 504 => "The server is a proxy, and the server behind it failed.".to_string(),
        503 => "The server refuses work: it is overloaded, or not ready.".to_string(),
        _ => return None,
    };
    Some(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn run() -> Run {
        let sample = |status: u16, line: &str, header: &str| ResponseSample {
            status,
            check: None,
            head: vec![line.to_string(), header.to_string()],
            body: Some("<b>moved</b>\nsee there".to_string()),
            bytes: 120,
        };
        let mut run = fixtures::load_mix();
        run.record.points[0].samples = vec![
            sample(301, "HTTP/1.1 301 Moved Permanently", "Location: /new"),
            sample(418, "HTTP/1.1 418 I'm a teapot", "Server: x"),
        ];
        run
    }

    #[test]
    fn a_redirect_says_where_to() {
        let run = run();
        let hint = hint(&run.record.points[0].samples[0]).unwrap();
        let expected =
            "The server redirects to /new. Redirects are not followed: measure that URL.";
        assert_eq!(hint, expected);
    }

    #[test]
    fn each_kind_is_drawn_once_with_its_lines() {
        let mut run = run();
        let again = run.record.points[0].clone();
        run.record.points.push(again);
        let blocks = samples(&run);
        assert_eq!(blocks.len(), 2, "{blocks:?}");
        let text = format!("{blocks:?}");
        assert!(text.contains("The first with status 418"), "{text}");
        assert!(text.contains("see there"), "{text}");
    }
}
