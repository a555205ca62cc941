//! The first response of each kind of failure, the first redirect, and the first lines of what was
//! no response, verbatim; of calls their messages as JSON.

use crate::page::{Block, List};
use crate::wording::{plural, point_phrase};
use model::fault::Fault;
use model::run::{Point, Run};
use model::sample::{CallSample, ResponseSample};

/// Each sample with what to do about it.
pub fn samples(run: &Run) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (point, sample) in first_of_each(run) {
        let failed = match (&sample.check, sample.fault) {
            (Some(check), _) => format!("The first that failed the check '{check}'"),
            (_, Some(fault)) => {
                let connections = point.connections.faults.get(fault.name()).copied();
                let connections = plural(connections.unwrap_or(1), "connection");
                format!("{connections} given up: the server {}. The first", fault.words())
            }
            (None, None) => format!("The first with status {}", status(sample)),
        };
        let failed = match &sample.call {
            Some(call) => format!("{failed}: {}", call.method),
            None => failed,
        };
        let hint = hint(sample).map_or(String::new(), |hint| format!(" {hint}"));
        let at = point_phrase(point);
        let lead = match sample.fault {
            Some(_) => format!("{failed}: {at}.{hint}"),
            None => format!("{failed}, {at}, {} bytes.{hint}", sample.bytes),
        };
        let mut items = sample.head.clone();
        items.extend(sample.call.iter().flat_map(messages));
        items.extend(sample.body.iter().flat_map(|body| body.lines()).map(str::to_string));
        blocks.push(Block::List(List { lead, items }));
    }
    blocks
}

/// The first sample of each kind over all points.
fn first_of_each(run: &Run) -> Vec<(&Point, &ResponseSample)> {
    let mut first: Vec<(&Point, &ResponseSample)> = Vec::new();
    for point in &run.record.points {
        for sample in &point.samples {
            let is_alike = |(_, other): &(&Point, &ResponseSample)| {
                let kind = |one: &ResponseSample| (status(one), one.check.clone(), one.fault);
                kind(other) == kind(sample)
            };
            if !first.iter().any(is_alike) {
                first.push((point, sample));
            }
        }
    }
    first
}

/// Its status as tables have it.
pub(crate) fn status(sample: &ResponseSample) -> String {
    let of_call = sample.call.as_ref().map(|call| call.status.clone());
    of_call.unwrap_or_else(|| sample.status.to_string())
}

/// The messages of a call, as far as they were kept.
fn messages(call: &CallSample) -> Vec<String> {
    let all = [("Request", &call.request), ("Reply", &call.reply)];
    let lines = all.into_iter().flat_map(|(which, messages)| {
        let none = messages.as_ref().filter(|messages| messages.is_empty());
        let none = none.map(|_| format!("{which}: no message"));
        let some = messages.iter().flatten().map(move |message| format!("{which}: {message}"));
        none.into_iter().chain(some)
    });
    lines.collect()
}

/// What the user can do about a status, where there is something to do.
pub(crate) fn hint(sample: &ResponseSample) -> Option<String> {
    if sample.check.is_some() {
        return None;
    }
    if let Some(fault) = sample.fault {
        let came = came(sample).map_or(String::new(), |came| format!(": {came}"));
        let shown = sample.head.iter().map(|line| format!(": '{line}'"));
        let shown = shown.chain((!came.is_empty()).then_some(came)).next().unwrap_or_default();
        return Some(format!("The server {}{shown}; {}.", fault.words(), fault.advice()));
    }
    if let Some(call) = &sample.call {
        let said = call.message.as_ref().filter(|said| !said.is_empty())?;
        return Some(format!("With {} the server says: '{said}'.", call.status));
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

/// How much of a response had come that remained incomplete.
fn came(sample: &ResponseSample) -> Option<String> {
    let came = sample.bytes;
    match (sample.fault?, sample.body_bytes) {
        (Fault::Truncated | Fault::Stalled, Some(all)) => {
            Some(format!("{came} of {all} bytes of the body had come"))
        }
        (Fault::Truncated | Fault::Stalled, None) => {
            Some(format!("{} had come, and not the end", plural(came, "byte")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn run() -> Run {
        let sample = |status: u16, line: &str, header: &str| ResponseSample {
            status,
            call: None,
            check: None,
            fault: None,
            head: vec![line.to_string(), header.to_string()],
            body: Some("<b>moved</b>\nsee there".to_string()),
            bytes: 120,
            body_bytes: None,
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
    fn a_fault_says_its_line_or_how_much_had_come() {
        let mut run = run();
        let sample = &mut run.record.points[0].samples[0];
        (sample.fault, sample.head) = (Some(Fault::BadHeader), vec!["X-A b".to_string()]);
        assert_eq!(
            hint(sample).unwrap(),
            "The server sent a malformed header line: 'X-A b'; compare with `curl -v`."
        );
        (sample.fault, sample.head) = (Some(Fault::Stalled), Vec::new());
        (sample.bytes, sample.body_bytes) = (13, Some(15));
        let said = hint(sample).unwrap();
        assert!(said.contains("13 of 15 bytes of the body had come"), "{said}");
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
