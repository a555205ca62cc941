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

/// A step cannot be sent with what its holes are filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotSendable;

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
            path: "/".to_string(),
            host: String::from_utf8_lossy(&self.host).into_owned(),
            // So that their names are checked.
            headers: step.headers.iter().map(|(name, _)| (name.clone(), String::new())).collect(),
            target,
            ..Request::default()
        });
        requests.collect()
    }

    /// A tape that says of each step what its response looks like. Its bytes are sent by nobody.
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
        for (name, value) in step.headers.iter().filter(|(name, _)| is_sent(name)) {
            output.extend_from_slice(name.as_bytes());
            output.extend_from_slice(b": ");
            put_value(output, |output| fill.put(value, output))?;
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
                true if !is_value(&output[begin..]) => return Err(NotSendable),
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

    /// Appends a path; returns where it lies.
    fn put_path(&self, filled: &[u8], output: &mut Vec<u8>) -> Result<(usize, usize), NotSendable> {
        let (lead, path) = crate::fill::below(self.flow.base.as_bytes(), filled);
        let path = path.ok_or(NotSendable)?;
        if path.iter().any(|byte| *byte <= b' ' || *byte == 0x7f) {
            return Err(NotSendable);
        }
        let begin = output.len();
        output.extend_from_slice(lead);
        output.extend_from_slice(path);
        Ok((begin, output.len()))
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

/// Appends the value of a header and the end of its line.
fn put_value(output: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) -> Result<(), NotSendable> {
    let begin = output.len();
    put(output);
    if !is_value(&output[begin..]) {
        return Err(NotSendable);
    }
    output.extend_from_slice(b"\r\n");
    Ok(())
}

/// Whether a header can have this value.
fn is_value(value: &[u8]) -> bool {
    value.iter().all(|byte| *byte == b'\t' || *byte >= b' ' && *byte != 0x7f)
}
