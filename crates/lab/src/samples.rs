//! What a record keeps of responses that a user may want to read.
//!
//! For: the first redirect and failed response of each kind in a level.
//! In: the bytes that workers caught. Out: status lines, header lines and, if requested, the starts
//! of bodies.
//! Never: what the requests sent: a server may repeat it, and a record keeps no header values.

use model::load::Trial;
use model::order::OrderBy as _;
use model::sample::{Caught, ResponseSample};
use model::secret;

/// Headers of requests whose values are public.
const PUBLIC: &[&str] = &[
    "accept",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-type",
    "expect",
    "user-agent",
];
/// Shorter texts are not searched for: any response may contain them.
const SOUGHT_MIN_BYTES: usize = 4;

/// The samples of one level, in the order they arrived.
pub fn of(trial: &Trial, caught: &[Caught]) -> Vec<ResponseSample> {
    if caught.is_empty() {
        return Vec::new();
    }
    let private = private(trial);
    let mut caught: Vec<&Caught> = caught.iter().collect();
    caught.order_by_key(|caught| caught.at_ns);
    caught.into_iter().map(|caught| sample(trial, caught, &private)).collect()
}

fn sample(trial: &Trial, caught: &Caught, private: &[String]) -> ResponseSample {
    let mut sample = ResponseSample::of(caught, trial.sample_bodies);
    for text in sample.head.iter_mut().chain(&mut sample.body) {
        *text = secret::without(text, private);
    }
    sample
}

/// What the requests sent and a record does not keep, longest first.
fn private(trial: &Trial) -> Vec<String> {
    let mut private = Vec::new();
    for request in &trial.requests {
        private.push(String::from_utf8_lossy(&request.body).into_owned());
        for (name, value) in &request.headers {
            if !PUBLIC.contains(&name.to_ascii_lowercase().as_str()) {
                private.extend(value.split_whitespace().map(str::to_string));
            }
        }
    }
    private.retain(|text| text.len() >= SOUGHT_MIN_BYTES);
    private.order_by_key(|text| std::cmp::Reverse(text.len()));
    private.dedup();
    private
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::load::Request;
    use model::sample::Bodies;

    fn trial(sample_bodies: Bodies) -> Trial {
        let request = Request {
            method: "POST".to_string(),
            path: "/login".to_string(),
            host: "h".to_string(),
            headers: vec![("X-Tenant".to_string(), "acme-4711".to_string())],
            body: b"{\"pin\":4711}".to_vec(),
            target: 0,
            ..Request::default()
        };
        Trial { requests: vec![request], sample_bodies, ..Trial::blank() }
    }

    fn caught() -> Caught {
        let text = b"HTTP/1.1 401 Unauthorized\r\nSet-Cookie: id=77\r\nX-For: acme-4711\r\n\
            Location: http://h/?token=abcd&n=1\r\n\r\nno: {\"pin\":4711} of acme-4711";
        let mut caught = Caught::new((401, None, None), 5, text.len() as u64);
        caught.append(text);
        caught
    }

    #[test]
    fn a_sample_has_no_secret_and_nothing_that_the_request_sent() {
        let kept = of(&trial(Bodies::Kept), &[caught()]);
        let head = ["HTTP/1.1 401 Unauthorized", "Set-Cookie: ***", "X-For: ***"];
        assert_eq!(kept[0].head[..3], head);
        assert_eq!(kept[0].header("location"), Some("http://h/?token=***&n=1"));
        assert_eq!(kept[0].body.as_deref(), Some("no: *** of ***"));
    }

    #[test]
    fn a_body_is_kept_only_when_asked_for() {
        assert_eq!(of(&trial(Bodies::Dropped), &[caught()])[0].body, None);
    }
}
