//! One pass of a flow: one user takes its steps, and everything is shown.
//!
//! For: trying a flow before it is load, and knowing in the first second what is wrong with it.
//! In: a flow and the way to its server. Out: each request as it was sent and each response as it
//! came, with what was captured and what held.
//! Never: load, or a figure that is kept.

use crate::line::{Cable, Line, LineError, Patience, Stamps};
use jiff::Timestamp;
use model::flow::{Assert, Flow, Skip, Text};
use model::load::{HttpChoice, Request};
use model::pass::{Answer, Captured, Examined, Sent, Taken};
use model::random::Random;
use plan::Reach;
use std::thread;
use std::time::Duration;
use wire::fill::{Fill, VALUES_BYTES, Values};
use wire::http1::Http1;
use wire::http2::{Http2, spell};
use wire::jar::Jar;
use wire::look::{Facts, Look, Miss, Sight, filler};
use wire::program::{Bench, Program, Redirect, redirects};
use wire::response::{Outcome, Response};
use wire::session::{Session, Witness};
use wire::tape::Tape;

/// Most of a body that is shown, bytes.
pub const SHOWN_BODY_MAX: usize = 64 << 10;
/// What random values of a flow are drawn for.
const PURPOSE: u64 = 0x666c_6f77;

/// What a pass needs besides the flow.
#[derive(Debug)]
pub struct Setting<'a> {
    /// The way to the server.
    pub reach: &'a Reach<'a>,
    /// Version of HTTP.
    pub http: HttpChoice,
    /// A response after this time failed, nanoseconds.
    pub timeout_ns: u64,
    /// Seed of what is drawn.
    pub seed: u64,
}

/// Why a pass could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PassError(pub String);

/// Takes the steps of a flow as one user; tells each when it is over. Returns whether all were
/// good; an error when the server cannot be reached at all.
pub fn pass(
    flow: &Flow,
    setting: &Setting<'_>,
    tell: &mut dyn FnMut(&Taken),
) -> Result<bool, PassError> {
    let date = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let program = Program::new(flow.clone(), date).map_err(PassError)?;
    // A server that is not there is no step that failed.
    let way = Some((Way::open(setting).map_err(PassError)?, Use::Fresh));
    let mut user = User {
        program: &program,
        setting,
        values: Values::new(flow.variables.len(), VALUES_BYTES),
        jar: Jar::default(),
        random: Random::new(setting.seed, PURPOSE),
        seq: 0,
        way,
    };
    for step in 0..program.steps() {
        let rounds = program.step(step).repeat;
        for round in 1..=rounds {
            if !user.step(step, (round, rounds), tell) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// A connection of either version.
enum Way {
    One(Box<Line<Http1>>),
    Two(Box<Line<Http2>>),
}

impl Way {
    fn open(setting: &Setting<'_>) -> Result<Self, String> {
        let reach = setting.reach;
        let failure = "its response was not complete";
        let patience = Patience { limit: Duration::from_nanos(setting.timeout_ns), failure };
        let alpn: &[&'static [u8]] = match setting.http {
            HttpChoice::One => &[Http1::ALPN],
            HttpChoice::Two => &[Http2::ALPN],
            HttpChoice::Auto => &[Http2::ALPN, Http1::ALPN],
        };
        let cable = Cable::open(reach, alpn, patience)?;
        let is_two = cable.agreed().is_some_and(|agreed| agreed.as_bytes() == Http2::ALPN);
        let asked = setting.http == HttpChoice::Two;
        if asked && reach.tls.is_some() && !is_two {
            let address = &cable.address;
            return Err(format!(
                "{address} does not agree on HTTP/2 by ALPN; for example --http auto"
            ));
        }
        let address = cable.address.clone();
        if is_two || asked {
            let line = Line::greet(cable, Http2::for_depth(1).without_table());
            let line = line.map_err(|why| {
                format!("{address} does not speak HTTP/2: {why}; for example --http 1")
            })?;
            return Ok(Self::Two(Box::new(line)));
        }
        Line::greet(cable, Http1::for_depth(1)).map(|line| Self::One(Box::new(line)))
    }

    fn version(&self) -> &'static str {
        match self {
            Self::One(_) => "1.1",
            Self::Two(_) => "2",
        }
    }
}

struct User<'a> {
    program: &'a Program,
    setting: &'a Setting<'a>,
    values: Values,
    jar: Jar,
    random: Random,
    seq: u64,
    /// The connection, if one is open.
    way: Option<(Way, Use)>,
}

/// Whether a connection has carried a request: the server may close one that did at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Fresh,
    Kept,
}

/// What a step sees of its response.
struct Watch<'a> {
    look: &'a Look,
    sight: Sight,
    body: Vec<u8>,
    body_bytes: u64,
    /// Header blocks of HTTP/2 as text.
    spelled: Vec<u8>,
}

impl Witness for Watch<'_> {
    fn block(&mut self, status: u16, block: &[u8]) {
        if status >= 200 {
            self.spelled.clear();
            spell(block, |byte| self.spelled.push(byte));
        }
    }

    fn body(&mut self, piece: &[u8]) {
        self.look.body(&mut self.sight, piece);
        self.body_bytes += piece.len() as u64;
        let room = SHOWN_BODY_MAX.saturating_sub(self.body.len());
        self.body.extend_from_slice(&piece[..piece.len().min(room)]);
    }
}

/// Where a redirect leads, and whether the next request is a GET.
struct Led {
    from: String,
    location: String,
    becomes_get: bool,
}

impl<'a> User<'a> {
    /// A text with its holes filled.
    fn text(&mut self, text: &Text) -> Vec<u8> {
        let (values, seq, random) = (&self.values, self.seq, &mut self.random);
        Fill { values, user: 1, seq, random, date: self.program.date() }.text(text)
    }

    /// Takes one step, and redirects that follow; whether the pass goes on.
    fn step(&mut self, number: u32, round: (u32, u32), tell: &mut dyn FnMut(&Taken)) -> bool {
        let step = self.program.step(number);
        let (name, line) = (step.name.clone(), step.line);
        let mut taken = Taken { step: name, line, round, ..Taken::default() };
        self.seq += 1;
        for (variable, text) in &step.sets {
            let value = self.text(text);
            if self.values.set(*variable, &value).is_err() {
                taken.failed = Some("its variables are longer than what a user carries".into());
                tell(&taken);
                return false;
            }
        }
        if let Skip::When(text) = &step.skip
            && self.text(text) == b"true"
        {
            tell(&taken);
            return true;
        }
        thread::sleep(Duration::from_nanos(step.delay_ns));
        let mut led: Option<Led> = None;
        for hop in 0.. {
            taken.is_redirect = hop > 0;
            let request = match self.request(number, led.as_ref()) {
                Ok(request) => request,
                Err(why) => {
                    taken.failed = Some(why);
                    tell(&taken);
                    return false;
                }
            };
            if hop > 0 {
                taken.step = format!("{} -> {}", step.name, request.path);
            }
            let follows = step.redirects_max > hop;
            let next = self.take(self.program.look(number), &request, &mut taken, follows);
            tell(&taken);
            if taken.failed.is_some() {
                return false;
            }
            let Some((location, becomes_get)) = next else { break };
            let becomes_get = becomes_get || led.is_some_and(|led| led.becomes_get);
            led = Some(Led { from: request.path, location, becomes_get });
            (taken.answer, taken.sent) = (None, None);
            self.seq += 1;
        }
        true
    }

    /// The request of a step, as a load makes it; why it cannot be sent otherwise.
    fn request(&mut self, step: u32, led: Option<&Led>) -> Result<Request, String> {
        let redirect = led.map(|led| Redirect {
            from: led.from.as_bytes(),
            location: led.location.as_bytes(),
            becomes_get: led.becomes_get,
        });
        let (values, seq, random) = (&self.values, self.seq, &mut self.random);
        let mut fill = Fill { values, user: 1, seq, random, date: self.program.date() };
        let (mut bench, mut bytes) = (Bench::default(), Vec::new());
        self.program
            .put((step, redirect), (&mut fill, &self.jar), &mut bench, &mut bytes)
            .map_err(|why| self.program.why(step, why, &bench))?;
        Ok(parsed(&bytes))
    }

    /// Sends one request and examines the response; returns where a redirect that is followed
    /// leads, and whether the next request is a GET.
    fn take(
        &mut self,
        look: &Look,
        request: &Request,
        taken: &mut Taken,
        follows: bool,
    ) -> Option<(String, bool)> {
        taken.sent = Some(sent(request));
        let mut watch = Watch {
            look,
            sight: look.sight(),
            body: Vec::new(),
            body_bytes: 0,
            spelled: Vec::new(),
        };
        let timeout_ns = look.step().timeout_ns.unwrap_or(self.setting.timeout_ns);
        let (response, stamps, version, raw) = match self.exchange(request, &mut watch) {
            Ok(came) => came,
            Err(why) => {
                taken.failed = Some(why);
                return None;
            }
        };
        let head = if version == "2" { &watch.spelled } else { &raw };
        let fields = fields_of(head);
        for (name, value) in &fields {
            look.field(&mut watch.sight, name.as_bytes(), value.as_bytes());
            if name.eq_ignore_ascii_case("set-cookie") {
                self.jar.take(value.as_bytes(), request.path.as_bytes());
            }
        }
        let last_ns = stamps.last.duration_since(stamps.sent).as_nanos() as u64;
        let first = stamps.first.unwrap_or(stamps.last);
        let answer = Answer {
            status: response.status,
            version: version.to_string(),
            headers: fields,
            body: String::from_utf8_lossy(&watch.body).into_owned(),
            is_cut: watch.body_bytes > watch.body.len() as u64,
            body_bytes: watch.body_bytes,
            first_ns: first.duration_since(stamps.sent).as_nanos() as u64,
            last_ns,
        };
        let becomes_get = redirects(response.status, &look.step().method).filter(|_| follows);
        let led = becomes_get.and_then(|becomes_get| Some((location(&answer)?, becomes_get)));
        taken.answer = Some(answer);
        if last_ns > timeout_ns {
            let limit = Duration::from_nanos(timeout_ns);
            taken.failed = Some(format!("its response was not complete within {limit:?}"));
            return None;
        }
        if led.is_some() {
            return led;
        }
        let facts = Facts { status: response.status, version, duration_ns: last_ns };
        self.judge(look, &mut watch.sight, &facts, taken);
        None
    }

    /// Examines a response that is no redirect which is followed.
    fn judge(&mut self, look: &Look, sight: &mut Sight, facts: &Facts, taken: &mut Taken) {
        let step = look.step();
        let mut random = Random::new(self.setting.seed, !PURPOSE);
        let mut fill = filler(&mut random, self.program.date(), 1);
        let judged = look.judge(sight, facts, &mut self.values, &mut fill);
        for capture in &step.captures {
            let variable = &self.program.flow().variables[usize::from(capture.variable)];
            if let Some(value) = self.values.get(capture.variable) {
                let value = String::from_utf8_lossy(value).into_owned();
                let (name, is_secret) = (variable.name.clone(), variable.is_secret);
                taken.captured.push(Captured { name, value, is_secret });
            }
        }
        let mut found = |found| match look.shown(sight, facts, &self.values, found) {
            Ok(text) => format!("it is {text}"),
            Err(why) => why.words().to_string(),
        };
        let examined = match judged {
            Ok(()) => step.asserts.len(),
            Err(Miss::Assert(place)) => place,
            Err(_) => 0,
        };
        for assert in &step.asserts[..examined] {
            taken.asserts.push(examined_as(assert, None));
        }
        let Err(miss) = judged else { return };
        taken.failed = Some(match miss {
            Miss::Status => match &step.statuses {
                Some(good) => {
                    format!("status {}, and {} is good", facts.status, String::from(good.clone()))
                }
                None => format!("status {}, which is an error", facts.status),
            },
            Miss::Capture(place, why) => {
                let capture = &step.captures[place];
                let name = &self.program.flow().variables[usize::from(capture.variable)].name;
                format!("line {}: nothing captured for {name}: {}", capture.line, why.words())
            }
            Miss::NoRoom(place) => {
                let capture = &step.captures[place];
                let name = &self.program.flow().variables[usize::from(capture.variable)].name;
                format!("line {}: {name} is longer than what a user carries", capture.line)
            }
            Miss::Assert(place) => {
                let assert = &step.asserts[place];
                let found = found(&assert.of);
                taken.asserts.push(examined_as(assert, Some(found.clone())));
                format!("line {}: {}: {found}", assert.line, assert.text)
            }
        });
    }

    /// One exchange, on the connection that is open or a new one.
    fn exchange(
        &mut self,
        request: &Request,
        watch: &mut Watch<'_>,
    ) -> Result<(Response, Stamps, &'static str, Vec<u8>), String> {
        let (way, its_use) = match self.way.take() {
            Some(way) => way,
            None => (Way::open(self.setting)?, Use::Fresh),
        };
        let version = way.version();
        let mut raw = Vec::new();
        let came = match way {
            Way::One(line) => {
                let tape = Tape::new(std::slice::from_ref(request), 1);
                let tape = tape.map_err(|error| error.to_string())?;
                self.on(line, &tape, watch, &mut raw, Way::One)
            }
            Way::Two(line) => {
                let scheme = wire::fill::scheme_of(&self.program.flow().base);
                let tape = Tape::http2(std::slice::from_ref(request), scheme);
                let tape = tape.map_err(|error| error.to_string())?;
                self.on(line, &tape, watch, &mut raw, Way::Two)
            }
        };
        match came {
            Ok((response, stamps)) => Ok((response, stamps, version, raw)),
            // It was closed before the request came: once more, on a new one.
            Err(LineError::Closed) if its_use == Use::Kept && raw.is_empty() => {
                self.exchange(request, watch)
            }
            Err(why) => Err(why.to_string()),
        }
    }

    fn on<S: Session>(
        &mut self,
        mut line: Box<Line<S>>,
        tape: &Tape,
        watch: &mut Watch<'_>,
        raw: &mut Vec<u8>,
        again: fn(Box<Line<S>>) -> Way,
    ) -> Result<(Response, Stamps), LineError> {
        line.cable.begin();
        let (outcome, stamps) = line.exchange(tape, watch, raw)?;
        match outcome {
            Outcome::Response(response) => {
                if response.reusable {
                    self.way = Some((again(line), Use::Kept));
                }
                Ok((response, stamps))
            }
            Outcome::Refused => {
                Err("the server refused it without processing it".to_string().into())
            }
            Outcome::Abandoned => Err("the server gave it up".to_string().into()),
        }
    }
}

fn examined_as(assert: &Assert, found: Option<String>) -> Examined {
    Examined { text: assert.text.clone(), line: assert.line, found }
}

/// A request for people.
fn sent(request: &Request) -> Sent {
    let shown = &request.body[..request.body.len().min(SHOWN_BODY_MAX)];
    let mut headers = request.headers.clone();
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        headers.insert(0, ("Host".to_string(), request.host.clone()));
    }
    Sent {
        method: request.method.clone(),
        path: request.path.clone(),
        headers,
        body: String::from_utf8_lossy(shown).into_owned(),
        body_bytes: request.body.len() as u64,
        is_cut: request.body.len() > shown.len(),
    }
}

/// The field Location of a response, if it has one with a value.
fn location(answer: &Answer) -> Option<String> {
    let field = answer.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("location"))?;
    Some(field.1.clone()).filter(|value| !value.is_empty())
}

/// A request from the bytes that a load would send. Its encoders add the length of the body.
fn parsed(bytes: &[u8]) -> Request {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
    let head = String::from_utf8_lossy(&bytes[..end]);
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let mut request = Request {
        method: words.next().unwrap_or_default().to_string(),
        path: words.next().unwrap_or_default().to_string(),
        body: bytes.get(end + 4..).unwrap_or_default().to_vec(),
        ..Request::default()
    };
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        match name.to_ascii_lowercase().as_str() {
            "host" => request.host = value.to_string(),
            "content-length" => {}
            _ => request.headers.push((name.to_string(), value.to_string())),
        }
    }
    request
}

/// The header fields of a final response, from its bytes.
fn fields_of(raw: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(raw);
    let mut fields = Vec::new();
    let mut is_interim = false;
    for line in text.split('\n').map(|line| line.trim_end_matches('\r')) {
        if line.starts_with("HTTP/") {
            is_interim = line.split(' ').nth(1).is_some_and(|status| status.starts_with('1'));
        } else if line.is_empty() && !is_interim {
            break;
        } else if let Some((name, value)) = line.split_once(':').filter(|_| !is_interim) {
            fields.push((name.to_string(), value.trim().to_string()));
        }
    }
    fields
}
