//! What a record keeps of responses that a user may want to read.
//!
//! For: the first redirect and failed response of each kind in a level.
//! In: the bytes that workers caught. Out: status lines, header lines and, if requested, the starts
//! of bodies; of calls their methods and statuses and, if requested, messages as JSON.
//! Never: what the requests sent: a server may repeat it, and a record keeps no header values. Only
//! the messages of calls, where the user keeps requests.

use model::call::{self, CallStatus};
use model::load::{Request, Trial};
use model::order::OrderBy as _;
use model::sample::{BODY_BYTES_MAX, Bodies, CallSample, Caught, ResponseSample};
use model::secret;
use schema::{Method, Schema};

/// Headers of requests whose values are public.
const PUBLIC: &[&str] = &[
    "accept",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-type",
    "expect",
    "grpc-timeout",
    "te",
    "user-agent",
];
/// The header with what a server says about the status of a call.
const MESSAGE: &str = "grpc-message";
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
    let called = caught.asked.and_then(|place| trial.requests.get(place as usize));
    if let Some(request) = called.filter(|request| request.is_call()) {
        sample.call = Some(call(trial, request, (caught, &sample)));
        // Its body is messages, which are no text.
        sample.body = None;
        sample.head.retain(|line| !line.starts_with(MESSAGE));
    }
    let of_call = sample.call.iter_mut().flat_map(said);
    for text in sample.head.iter_mut().chain(&mut sample.body).chain(of_call) {
        *text = secret::without(text, private);
    }
    sample
}

/// The texts of the server.
fn said(call: &mut CallSample) -> impl Iterator<Item = &mut String> {
    call.message.iter_mut().chain(call.reply.iter_mut().flatten())
}

/// What is kept of a call.
fn call(
    trial: &Trial,
    request: &Request,
    (caught, sample): (&Caught, &ResponseSample),
) -> CallSample {
    let method = match trial.sample_bodies {
        Bodies::Dropped => None,
        Bodies::Kept | Bodies::KeptWithRequests => method(trial, request),
    };
    let masked = |messages: Vec<String>| messages.iter().map(|one| secret::text(one)).collect();
    // Where the text does not begin with a status, only the trailers were kept.
    let body = caught.parts().1.filter(|_| sample.status != 0);
    let reply = method.as_ref().zip(body).map(|(of, body)| of.show_reply(body, BODY_BYTES_MAX));
    let is_asked = trial.sample_bodies == Bodies::KeptWithRequests;
    let request_of = |of: Method| of.show_request(&request.body, BODY_BYTES_MAX);
    CallSample {
        method: request.path.trim_start_matches('/').to_string(),
        status: CallStatus::of_number(caught.status).unwrap_or(CallStatus::Ok).name().to_string(),
        message: sample.header(MESSAGE).map(|text| secret::text(&call::message(text))),
        request: method.filter(|_| is_asked).map(request_of).map(masked),
        reply: reply.map(masked),
    }
}

fn method(trial: &Trial, request: &Request) -> Option<Method> {
    Schema::of_set(&trial.descriptors).ok()?.method(&request.path).ok()
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

    fn failed_call(sample_bodies: Bodies) -> ResponseSample {
        let set = concat!(env!("CARGO_MANIFEST_DIR"), "/../schema/fixtures/shop.proto");
        let descriptors = schema::compile(&[set.into()], &[]).unwrap();
        let method = Schema::of_set(&descriptors).unwrap().method("shop.Catalog/Echo").unwrap();
        let field = |name: &str, value: &str| (name.to_string(), value.to_string());
        let call = Request {
            path: "/shop.Catalog/Echo".to_string(),
            headers: vec![field("content-type", "application/grpc"), field("x-for", "acme-4711")],
            body: method.messages(b"{\"name\":\"password: hunter2\"}").unwrap(),
            ..Request::default()
        };
        let requests = vec![Request::default(), call];
        let trial = Trial { requests, sample_bodies, descriptors, ..Trial::blank() };
        let mut caught = Caught::new((CallStatus::NotFound.number(), None, None), 5, 90);
        caught.asked = Some(1);
        let head = "HTTP/2 200\r\nset-cookie: id=77\r\ngrpc-status: 5\r\n\
             grpc-message: no %C3%A9 of acme-4711, token=abcd\r\n\r\n";
        caught.append(head.as_bytes());
        caught.append(&method.messages(b"{\"id\":7,\"name\":\"acme-4711\"}").unwrap());
        of(&trial, &[caught]).remove(0)
    }

    #[test]
    fn a_call_has_its_messages_only_as_far_as_asked_for() {
        let mut expected = CallSample {
            method: "shop.Catalog/Echo".to_string(),
            status: "NOT_FOUND".to_string(),
            message: Some("no \u{e9} of ***, token=***".to_string()),
            request: None,
            reply: None,
        };
        let kept = failed_call(Bodies::Dropped);
        assert_eq!((kept.status, &kept.body, &kept.call), (200, &None, &Some(expected.clone())));
        assert_eq!(kept.head, ["HTTP/2 200", "set-cookie: ***", "grpc-status: 5"]);
        expected.reply = Some(vec!["{\"id\":\"7\",\"name\":\"***\"}".to_string()]);
        assert_eq!(failed_call(Bodies::Kept).call.as_ref(), Some(&expected));
        expected.request = Some(vec!["{\"name\":\"password: ***\"}".to_string()]);
        assert_eq!(failed_call(Bodies::KeptWithRequests).call, Some(expected));
    }

    #[test]
    fn a_body_is_kept_only_when_asked_for() {
        assert_eq!(of(&trial(Bodies::Dropped), &[caught()])[0].body, None);
    }
}
