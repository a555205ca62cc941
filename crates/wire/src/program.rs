//! A flow, prepared: its steps as bytes of HTTP/1.1 with holes, and what they look for.
//!
//! For: users who take its steps as load. Each step becomes a request when it is sent.
//! In: a flow; then a user's values, cookies and draws. Out: requests; judgements of responses.
//! Never: which user is where, or when a step is due.
//!
//! Hot: runs for every request of a flow.

use crate::fill::Fill;
use crate::http2::Scheme;
use crate::jar::Jar;
use crate::look::Look;
use crate::tape::{EncodeError, Tape};
use model::flow::{Flow, Step};
use model::load::Request;

/// See the module.
#[derive(Debug)]
pub struct Program {
    flow: Flow,
    looks: Vec<Look>,
    host: Vec<u8>,
    scheme: Scheme,
    date: Box<str>,
    /// For each request that is counted by itself its step, and whether it follows a redirect.
    places: Vec<(u32, Hop)>,
    /// For each step which of these is its own.
    place_of: Vec<u32>,
}

/// Whether a request is the one that a step says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hop {
    /// It is.
    Own,
    /// It follows a redirect of it.
    Redirect,
}

/// Where a redirect leads.
#[derive(Debug, Clone, Copy)]
pub struct Redirect<'a> {
    /// The path of the request that was redirected.
    pub from: &'a [u8],
    /// The field Location.
    pub location: &'a [u8],
    /// The request becomes a GET without a body.
    pub becomes_get: bool,
}

/// Why a step cannot be sent with what its holes are filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotSendable {
    /// It leads to another server, or is no path.
    Path,
    /// The value of a header, by its place, would end its line.
    Header(usize),
    /// The same of cookies.
    Cookie,
}

/// Memory in which requests are made, one at a time.
#[derive(Debug, Default)]
pub struct Bench {
    body: Vec<u8>,
    head: Vec<u8>,
    /// For texts of any kind.
    pub text: Vec<u8>,
}

impl Program {
    // Cold: once for each worker.
    /// Prepares a flow whose run begins at `date` (RFC 3339); why that is impossible otherwise.
    pub fn new(flow: Flow, date: String) -> Result<Self, String> {
        let looks: Result<Vec<Look>, String> = flow.steps.iter().map(Look::new).collect();
        let (_, host) = flow.base.split_once("://").unwrap_or(("http", &flow.base));
        let (host, scheme) = (host.as_bytes().to_vec(), crate::fill::scheme_of(&flow.base));
        let (mut places, mut place_of) = (Vec::new(), Vec::new());
        for (step, number) in flow.steps.iter().zip(0..) {
            place_of.push(places.len() as u32);
            places.push((number, Hop::Own));
            if step.redirects_max > 0 {
                places.push((number, Hop::Redirect));
            }
        }
        let date = date.into();
        Ok(Self { looks: looks?, host, scheme, date, places, place_of, flow })
    }

    /// The same for another thread. Regular expressions keep memory for each thread that uses them,
    /// and one that is shared takes a lock for it.
    // Cold: once for each worker.
    pub fn apart(&self) -> Self {
        Self::new(self.flow.clone(), self.date.to_string()).expect("it was prepared before")
    }

    /// The flow.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// When the run began.
    pub fn date(&self) -> &str {
        &self.date
    }

    /// How many steps there are.
    pub fn steps(&self) -> u32 {
        self.looks.len() as u32
    }

    /// Names of the requests that are counted by themselves, in order.
    // Cold: once for each run.
    pub fn names(&self) -> Vec<String> {
        let name = |(step, hop): &(u32, Hop)| {
            let name = &self.step(*step).name;
            if *hop == Hop::Own { name.clone() } else { format!("{name} -> redirect") }
        };
        self.places.iter().map(name).collect()
    }

    /// Which of these a request is; the first one for a step that is none.
    #[inline]
    pub fn place(&self, step: u32, hop: Hop) -> u32 {
        let own = self.place_of.get(step as usize).copied().unwrap_or(0);
        own + u32::from(hop == Hop::Redirect)
    }

    /// What a step looks for.
    #[inline]
    pub fn look(&self, step: u32) -> &Look {
        &self.looks[step as usize]
    }

    /// A step.
    #[inline]
    pub fn step(&self, step: u32) -> &Step {
        self.looks[step as usize].step()
    }

    /// A request for each step, without what its holes are filled with.
    // Cold: once for each run.
    pub fn requests(&self) -> Vec<Request> {
        let steps = self.places.iter().map(|(step, _)| self.step(*step));
        let requests = steps.zip(0..).map(|(step, target)| Request {
            method: step.method.clone(),
            path: shown_path(step),
            host: String::from_utf8_lossy(&self.host).into_owned(),
            // So that their names are checked.
            headers: step.headers.iter().map(|(name, _)| (name.clone(), String::new())).collect(),
            target,
            ..Request::default()
        });
        requests.collect()
    }

    /// A tape that says of each step what its response looks like. Its bytes are not sent.
    // Cold: once for each run.
    pub fn tape(&self) -> Result<Tape, EncodeError> {
        Tape::new(&self.requests(), 1)
    }

    /// Appends the request of a step for one user.
    pub fn put(
        &self,
        (step, redirect): (u32, Option<Redirect<'_>>),
        (fill, jar): (&mut Fill<'_>, &Jar),
        bench: &mut Bench,
        output: &mut Vec<u8>,
    ) -> Result<(), NotSendable> {
        let step = self.step(step);
        let is_get = redirect.is_some_and(|redirect| redirect.becomes_get);
        bench.body.clear();
        if !is_get {
            fill.put(&step.body, &mut bench.body);
        }
        let method = if is_get { "GET" } else { step.method.as_str() };
        output.extend_from_slice(method.as_bytes());
        output.push(b' ');
        bench.head.clear();
        match redirect {
            Some(redirect) => put_location(redirect, &mut bench.head),
            None => fill.put(&step.path, &mut bench.head),
        }
        let path = self.put_path(&bench.head, output)?;
        output.extend_from_slice(b" HTTP/1.1\r\n");
        let given =
            |name: &str| step.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        if !given("host") {
            output.extend_from_slice(b"Host: ");
            output.extend_from_slice(&self.host);
            output.extend_from_slice(b"\r\n");
        }
        let is_sent = |name: &str| {
            !is_get || !name.get(..8).is_some_and(|begin| begin.eq_ignore_ascii_case("content-"))
        };
        let headers = step.headers.iter().enumerate();
        for (place, (name, value)) in headers.filter(|(_, (name, _))| is_sent(name)) {
            output.extend_from_slice(name.as_bytes());
            output.extend_from_slice(b": ");
            let begin = output.len();
            fill.put(value, output);
            if !is_value(&output[begin..]) {
                return Err(NotSendable::Header(place));
            }
            output.extend_from_slice(b"\r\n");
        }
        if !given("cookie") {
            let before = output.len();
            output.extend_from_slice(b"Cookie: ");
            let begin = output.len();
            // The path has been written, and lies in the same bytes.
            let (path_begin, path_end) = path;
            bench.head.clear();
            bench.head.extend_from_slice(&output[path_begin..path_end]);
            jar.put_into(&bench.head, self.scheme, output);
            for (name, value) in &step.cookies {
                if output.len() > begin {
                    output.extend_from_slice(b"; ");
                }
                output.extend_from_slice(name.as_bytes());
                output.push(b'=');
                fill.put(value, output);
            }
            match output.len() > begin {
                true if !is_value(&output[begin..]) => return Err(NotSendable::Cookie),
                true => output.extend_from_slice(b"\r\n"),
                false => output.truncate(before),
            }
        }
        let has_meaning = ["POST", "PUT", "PATCH"].contains(&method);
        if !bench.body.is_empty() || has_meaning {
            output.extend_from_slice(b"Content-Length: ");
            crate::fill::put_number(bench.body.len() as u64, output);
            output.extend_from_slice(b"\r\n");
        }
        output.extend_from_slice(b"\r\n");
        output.extend_from_slice(&bench.body);
        Ok(())
    }

    /// Why a step was not sendable, in words; `bench` is as [`Program::put`] left it.
    // Cold: one pass that fails.
    pub fn why(&self, step: u32, why: NotSendable, bench: &Bench) -> String {
        let (filled, base) = (String::from_utf8_lossy(&bench.head), &self.flow.base);
        match why {
            NotSendable::Path if filled.contains("//") => {
                format!("'{filled}' is on another server than {base}; a flow goes to one server")
            }
            NotSendable::Path if !is_plain(&bench.head) => {
                format!("the path '{filled}' has a space or another character that ends it")
            }
            NotSendable::Path => {
                format!("'{filled}' is no path of {base}: it does not begin with /")
            }
            NotSendable::Header(place) => {
                let name = self.step(step).headers.get(place).map_or("", |(name, _)| name);
                EncodeError::HeaderValue(name.to_string()).to_string()
            }
            NotSendable::Cookie => EncodeError::HeaderValue("Cookie".to_string()).to_string(),
        }
    }

    /// Appends a path; returns where it lies.
    fn put_path(&self, filled: &[u8], output: &mut Vec<u8>) -> Result<(usize, usize), NotSendable> {
        let (lead, path) = below(self.flow.base.as_bytes(), filled);
        let path = path.filter(|path| is_plain(path)).ok_or(NotSendable::Path)?;
        let begin = output.len();
        output.extend_from_slice(lead);
        output.extend_from_slice(path);
        Ok((begin, output.len()))
    }
}

/// The path of a step for a record: what its holes are filled with is not known, and a space would
/// end it.
// Cold: once for each run.
fn shown_path(step: &Step) -> String {
    let shown = step.path.shown().to_string();
    if shown.starts_with('/') { shown } else { format!("/{shown}") }
}

/// Whether a response redirects (RFC 9110, 15.4), and then whether the next request is a GET: after
/// 303 any but HEAD, and after 301 and 302 a POST, as clients do.
pub fn redirects(status: u16, method: &str) -> Option<bool> {
    match status {
        303 => Some(method != "HEAD"),
        301 | 302 => Some(method == "POST"),
        307 | 308 => Some(false),
        _ => None,
    }
}

/// What a path or a URL of the same server is there, in two parts, one after the other; nothing for
/// what is neither.
fn below<'a>(base: &[u8], filled: &'a [u8]) -> (&'static [u8], Option<&'a [u8]>) {
    let end = filled.iter().position(|byte| *byte == b'#').unwrap_or(filled.len());
    let filled = &filled[..end];
    let is_whole = filled.get(..base.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(base));
    let path = if is_whole { &filled[base.len()..] } else { filled };
    match path {
        [b'/', b'/', ..] => (b"", None),
        [b'/', ..] => (b"", Some(path)),
        [b'?', ..] => (b"/", Some(path)),
        [] if is_whole => (b"/", Some(path)),
        _ => (b"", None),
    }
}

/// Appends where a redirect leads: what is no path from the root is beside the present one
/// (RFC 3986, 5.3).
fn put_location(redirect: Redirect<'_>, output: &mut Vec<u8>) {
    let Redirect { from, location, .. } = redirect;
    let is_relative = !location.starts_with(b"/") && !location.windows(3).any(|w| w == b"://");
    if is_relative {
        let path = from.split(|byte| *byte == b'?').next().unwrap_or_default();
        let folder = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        output.extend_from_slice(&path[..folder]);
    }
    output.extend_from_slice(location);
}

/// Whether a path can have these bytes.
fn is_plain(path: &[u8]) -> bool {
    path.iter().all(|byte| *byte > b' ' && *byte != 0x7f)
}

/// Whether a header can have this value.
fn is_value(value: &[u8]) -> bool {
    value.iter().all(|byte| *byte == b'\t' || *byte >= b' ' && *byte != 0x7f)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fill::Values;
    use model::flow::{Escape, Piece, Source, Text, Variable};
    use model::random::Random;

    /// The request of a step whose one variable has this value, or why there is none.
    fn made(step: Step, value: &str, redirect: Option<Redirect<'_>>) -> Result<String, String> {
        let variables = vec![Variable { name: "v".into(), is_secret: false }];
        let flow =
            Flow { name: "f".into(), steps: vec![step], variables, base: "http://a.b:1".into() };
        let program = Program::new(flow, "now".into()).unwrap();
        let mut values = Values::new(1, 1000);
        values.set(0, value.as_bytes()).unwrap();
        let mut jar = Jar::default();
        jar.take(b"sid=1; Path=/", b"/");
        let mut random = Random::new(1, 1);
        let mut fill = Fill { values: &values, user: 1, seq: 1, random: &mut random, date: "now" };
        let (mut bench, mut bytes) = (Bench::default(), Vec::new());
        match program.put((0, redirect), (&mut fill, &jar), &mut bench, &mut bytes) {
            Ok(()) => Ok(String::from_utf8(bytes).unwrap()),
            Err(why) => Err(program.why(0, why, &bench)),
        }
    }

    fn hole(escape: Escape) -> Text {
        Text(vec![Piece::Hole(Source::Variable(0), escape)])
    }

    #[test]
    fn a_step_becomes_a_request_with_cookies_and_its_length() {
        let step = Step {
            headers: vec![("X-A".into(), hole(Escape::Raw))],
            cookies: vec![("c".into(), hole(Escape::Raw))],
            body: hole(Escape::Json),
            ..Step::new("PUT", Text::plain("/x"))
        };
        let expected = "PUT /x HTTP/1.1\r\nHost: a.b:1\r\nX-A: \"\r\nCookie: sid=1; c=\"\r\n\
                        Content-Length: 2\r\n\r\n\\\"";
        assert_eq!(made(step, "\"", None).as_deref(), Ok(expected));
        let own = vec![("cookie".into(), Text::plain("own=1"))];
        let step = Step { headers: own, ..Step::new("GET", Text::plain("/x")) };
        let expected = "GET /x HTTP/1.1\r\nHost: a.b:1\r\ncookie: own=1\r\n\r\n";
        assert_eq!(made(step, "", None).as_deref(), Ok(expected));
    }

    #[test]
    fn a_path_is_one_of_the_same_server() {
        let line = |filled: &str| {
            let request = made(Step::new("GET", hole(Escape::Url)), filled, None)?;
            Ok(request.split(' ').nth(1).unwrap().to_string())
        };
        for (filled, is) in [
            ("/x?y#z", "/x?y"),
            ("HTTP://A.b:1/x", "/x"),
            ("http://a.b:1", "/"),
            ("http://a.b:1?q", "/?q"),
            ("/a b", "/a%20b"),
        ] {
            assert_eq!(line(filled), Ok::<_, String>(is.to_string()), "{filled}");
        }
        for (filled, words) in [
            ("http://other/x", "is on another server than http://a.b:1"),
            ("//other/x", "is on another server"),
            ("http://a.b:12/x", "is on another server"),
            ("x", "'x' is no path of http://a.b:1: it does not begin with /"),
            ("", "'' is no path"),
        ] {
            let why: Result<String, String> = line(filled);
            assert!(why.as_ref().unwrap_err().contains(words), "{filled}: {why:?}");
        }
    }

    #[test]
    fn a_value_cannot_end_a_line() {
        let header = |name: &str| Step {
            headers: vec![("X-B".into(), Text::plain("b")), (name.into(), hole(Escape::Raw))],
            ..Step::new("GET", Text::plain("/"))
        };
        let why = made(header("X-A"), "a\r\nX: y", None).unwrap_err();
        assert!(why.contains("header 'X-A' has a line break"), "{why}");
        let cookies = vec![("c".into(), hole(Escape::Raw))];
        let cookie = Step { cookies, ..Step::new("GET", Text::plain("/")) };
        assert!(made(cookie, "a\nb", None).unwrap_err().contains("header 'Cookie'"));
    }

    #[test]
    fn a_redirect_is_followed_as_clients_do() {
        let step = || Step {
            headers: vec![
                ("Content-Type".into(), Text::plain("a/b")),
                ("X-A".into(), Text::plain("a")),
            ],
            body: Text::plain("body"),
            ..Step::new("POST", Text::plain("/a/b?c"))
        };
        let to = |location: &'static str, becomes_get| {
            let redirect =
                Redirect { from: b"/a/b?c/d", location: location.as_bytes(), becomes_get };
            made(step(), "", Some(redirect)).map(|request| {
                let parts: Vec<&str> = request.split(' ').collect();
                let has = |text| request.contains(text);
                let kept = (has("Content-Type"), has("\r\n\r\nbody"), has("X-A: a"));
                (format!("{} {}", parts[0], parts[1]), kept)
            })
        };
        let (all, without) = ((true, true, true), (false, false, true));
        assert_eq!(to("/c", false), Ok(("POST /c".into(), all)));
        assert_eq!(to("c?d", true), Ok(("GET /a/c?d".into(), without)));
        assert_eq!(to("http://a.b:1/e", true), Ok(("GET /e".into(), without)));
        assert!(to("/a b", true).unwrap_err().contains("'/a b' has a space"));
        assert!(to("http://evil/e", true).unwrap_err().contains("is on another server"));
        let gets = [301, 302, 303, 307, 308, 200, 304].map(|status| redirects(status, "POST"));
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(gets, [yes, yes, yes, no, no, None, None]);
        assert_eq!(
            (redirects(303, "HEAD"), redirects(303, "PUT"), redirects(301, "PUT")),
            (no, yes, no)
        );
    }
}
