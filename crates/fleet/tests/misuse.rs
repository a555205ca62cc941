//! Attempts to misuse an agent: by a client that reaches the broker, by a controller with another
//! key, by a broker that stores and replays messages, and by a controller that wants more than the
//! agent's user allows. Each time, the agent sends no forbidden load, and keeps working.

use engine::job::Order;
use fleet::admit::Limits;
use fleet::agent::{From, Output, Session, Settings, To};
use fleet::allow::Allow;
use fleet::blob;
use fleet::frame::{Down, DownItem, Up, UpItem};
use fleet::key::ControllerKey;
use fleet::message::{BlobHead, Command, CrewOrder, Facts, Hello, Id, Offer, OpenPace, Report};
use fleet::order::{Envelope, Header};
use fleet::{LEASE_NS, MESSAGE_BYTES_MAX, ORDER_VALID_NS};
use model::curve::Curve;
use model::facts::ClockOffset;
use model::fleet::{Share, Shares};
use model::load::{Arrival, Level, Life, Request, Spacing, Trial};
use model::tick::ThreadKind;
use std::net::SocketAddr;

const S: u64 = 1_000_000_000;
const JOB: Id = Id([9; 16]);
const CONTROLLER: Id = Id([7; 16]);
const CHALLENGE: Id = Id([1; 16]);

/// An agent, and a controller that sends it orders.
struct Rig {
    agent: Session,
    key: ControllerKey,
    now_ns: u64,
    sequence: u64,
    items: u64,
    /// The last message that was sent.
    sent: Vec<u8>,
}

fn rig() -> Rig {
    let key = ControllerKey::of_seed(&[1; 32]);
    let allow = ["http://*.a.test:80", "http://10.0.0.1:80"].map(|text| text.parse().unwrap());
    let settings = Settings {
        fleet: "f".to_string(),
        agent: "a1".to_string(),
        controller: key.public(),
        limits: Limits { allow: Allow::new(allow.to_vec()), rate_max: Some(1_000.0) },
        facts: Facts::default(),
    };
    let now_ns = 100 * S;
    let agent = Session::new(settings, CHALLENGE, now_ns);
    Rig { agent, key, now_ns, sequence: 0, items: 0, sent: Vec::new() }
}

fn offer(rate: f64) -> Offer {
    let request = Request {
        method: "GET".to_string(),
        path: "/".to_string(),
        host: "x.a.test".to_string(),
        ..Request::default()
    };
    let arrival = Arrival::Open { curve: Curve::constant(rate), arrivals: Spacing::Fixed };
    let level = Level { connections: 10, spare: 0, depth: 1, arrival, life: Life::default() };
    let trial = Trial {
        url: "http://x.a.test/".to_string(),
        requests: vec![request],
        levels: vec![level],
        ..Trial::blank()
    };
    Offer { trial, shares: Shares { asking: Share::alone(1), listening: None } }
}

fn connect(rate: f64) -> Command {
    let open = OpenPace { curve: Curve::constant(rate), arrivals: Spacing::Fixed, seed: 1 };
    let order = CrewOrder::Connect {
        load: 1,
        connections: 10,
        connections_max: 10,
        depth: 1,
        open: Some(open),
        life: Life::default(),
    };
    Command::Crew { crew: ThreadKind::Requesting, order }
}

fn begin() -> Command {
    Command::Begin { clock: ClockOffset { offset_ns: 0, error_ns: 1, round_trips: 1 } }
}

impl Rig {
    fn header(&mut self) -> Header {
        self.sequence += 1;
        Header {
            fleet: "f".to_string(),
            agent: "a1".to_string(),
            controller: CONTROLLER,
            challenge: CHALLENGE,
            job: JOB,
            sequence: self.sequence,
            issued_ns: self.now_ns,
            expires_ns: self.now_ns + ORDER_VALID_NS,
        }
    }

    fn down(&mut self, items: Vec<DownItem>) -> Down {
        let mut numbered = Vec::new();
        for item in items {
            self.items += 1;
            numbered.push((self.items, item.to_bytes(JOB)));
        }
        Down { lease_until_ns: Some(self.now_ns + LEASE_NS), items: numbered, ..Down::default() }
    }

    fn deliver(&mut self, bytes: Vec<u8>) -> Vec<Output> {
        self.agent.receive(self.now_ns, From::Down, &bytes);
        self.sent = bytes;
        self.outputs()
    }

    fn outputs(&mut self) -> Vec<Output> {
        std::iter::from_fn(|| self.agent.poll_output()).collect()
    }

    fn seal(&mut self, items: Vec<DownItem>) -> Vec<u8> {
        let (header, payload) = (self.header(), self.down(items).to_bytes());
        Envelope { header, payload }.seal(&self.key)
    }

    fn say(&mut self, items: Vec<DownItem>) -> Vec<Output> {
        let bytes = self.seal(items);
        self.deliver(bytes)
    }

    fn command(&mut self, command: Command) -> Vec<Output> {
        self.say(vec![DownItem::Command(command)])
    }

    fn offer(&mut self, offer: &Offer) -> Vec<Output> {
        self.offer_text(&serde_json::to_vec(offer).unwrap())
    }

    fn offer_text(&mut self, text: &[u8]) -> Vec<Output> {
        let (blob, pieces) = blob::cut(text).unwrap();
        let command = DownItem::Command(Command::Offer { blob });
        self.say([command].into_iter().chain(pieces.into_iter().map(DownItem::Piece)).collect())
    }

    /// A rig whose agent carries load.
    fn loading() -> Self {
        let mut rig = rig();
        assert!(is_prepared(&rig.offer(&offer(1_000.0))));
        rig.agent.prepared(rig.now_ns, &to("192.0.2.1:80")).unwrap();
        rig.command(begin());
        assert_eq!(orders(&rig.command(connect(1_000.0))), 1);
        rig
    }
}

fn to(address: &str) -> Vec<SocketAddr> {
    vec![address.parse().unwrap()]
}

fn is_prepared(outputs: &[Output]) -> bool {
    outputs.iter().any(|output| matches!(output, Output::Prepare { .. }))
}

fn orders(outputs: &[Output]) -> usize {
    outputs.iter().filter(|output| matches!(output, Output::Order { .. })).count()
}

fn has_halted(outputs: &[Output]) -> bool {
    outputs.iter().any(|output| matches!(output, Output::Halt(_)))
}

/// The reasons for which the agent refused a job, as reported to the controller.
fn refusals(outputs: &[Output]) -> Vec<String> {
    let frame = |output: &Output| match output {
        Output::Send { to: To::Up, bytes } => Up::parse(bytes).ok(),
        _ => None,
    };
    let items = outputs.iter().filter_map(frame).flat_map(|up| up.items);
    let refusal = |(_, bytes): (u64, Vec<u8>)| match UpItem::parse(&bytes) {
        Ok((_, UpItem::Report(Report::Refused(refusal)))) => Some(refusal.why),
        _ => None,
    };
    items.filter_map(refusal).collect()
}

/// Asserts that bytes have no effect at all, not even a response.
fn is_nothing(rig: &mut Rig, bytes: Vec<u8>) {
    let (refused, until_ns) = (rig.agent.refusals(), rig.agent.load_until_ns());
    let outputs = rig.deliver(bytes);
    assert!(outputs.iter().all(|output| matches!(output, Output::Notice(_))), "{outputs:?}");
    assert_eq!(rig.agent.refusals(), refused + 1);
    assert_eq!(rig.agent.load_until_ns(), until_ns);
}

#[test]
fn who_has_no_key_or_another_one_orders_nothing() {
    let mut rig = rig();
    let (header, payload) = (rig.header(), rig.down(Vec::new()).to_bytes());
    let envelope = Envelope { header, payload };
    let forged = envelope.seal(&ControllerKey::of_seed(&[2; 32]));
    is_nothing(&mut rig, forged);
    let mut unsigned = envelope.seal(&rig.key);
    unsigned.truncate(unsigned.len() - 64);
    is_nothing(&mut rig, unsigned.clone());
    unsigned.extend_from_slice(&[0; 64]);
    is_nothing(&mut rig, unsigned);
    is_nothing(&mut rig, Vec::new());
}

#[test]
fn an_order_that_was_changed_on_the_way_is_none() {
    let mut rig = rig();
    let sealed = rig.seal(vec![DownItem::Command(Command::Stop { why: "x".to_string() })]);
    for place in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[place] ^= 1;
        is_nothing(&mut rig, changed);
    }
}

#[test]
fn an_order_that_is_sent_again_by_somebody_does_nothing() {
    let mut rig = Rig::loading();
    let again = rig.sent.clone();
    is_nothing(&mut rig, again.clone());
    // A lease that a broker has stored has no effect either after the load has ended.
    rig.now_ns += LEASE_NS + 1;
    let until_ns = rig.agent.load_until_ns();
    rig.agent.receive(rig.now_ns, From::Down, &again);
    assert_eq!(rig.agent.load_until_ns(), until_ns);
    rig.agent.tick(rig.now_ns);
    assert!(has_halted(&rig.outputs()));
    assert_eq!(rig.agent.load_until_ns(), None);
}

#[test]
fn an_order_that_was_held_back_is_void() {
    let mut rig = rig();
    let held_back = rig.seal(vec![DownItem::Command(begin())]);
    rig.now_ns += ORDER_VALID_NS + 1;
    rig.agent.tick(rig.now_ns);
    rig.outputs();
    is_nothing(&mut rig, held_back);
    // A long validity does not help, and neither does an order from the future.
    let mut header = rig.header();
    (header.issued_ns, header.expires_ns) = (rig.now_ns - ORDER_VALID_NS - 1, u64::MAX);
    let payload = rig.down(Vec::new()).to_bytes();
    let long = Envelope { header, payload: payload.clone() }.seal(&rig.key);
    is_nothing(&mut rig, long);
    let mut header = rig.header();
    (header.issued_ns, header.expires_ns) = (u64::MAX, u64::MAX);
    let early = Envelope { header, payload }.seal(&rig.key);
    is_nothing(&mut rig, early);
}

#[test]
fn orders_for_others_are_not_taken() {
    let changes: [fn(&mut Header); 3] = [
        |header| header.agent = "a2".to_string(),
        |header| header.fleet = "g".to_string(),
        |header| header.challenge = Id([2; 16]),
    ];
    for change in changes {
        let mut rig = rig();
        let mut header = rig.header();
        change(&mut header);
        let payload = rig.down(vec![DownItem::Command(begin())]).to_bytes();
        let foreign = Envelope { header, payload }.seal(&rig.key);
        is_nothing(&mut rig, foreign);
    }
}

#[test]
fn load_to_a_url_outside_of_the_list_is_refused() {
    for url in [
        "http://evil.test/",
        "https://x.a.test/",
        "http://x.a.test:81/",
        "http://x.a.test@evil.test/",
        "http://evil.test#.a.test",
        "http://evil.test\\.a.test/",
        "http://10.0.0.2/",
        "http://[::ffff:10.0.0.1]/",
        "http://0x0a000001/",
        "file:///etc/passwd",
    ] {
        let mut rig = rig();
        let mut offer = offer(10.0);
        offer.trial.url = url.to_string();
        let outputs = rig.offer(&offer);
        assert!(!is_prepared(&outputs), "{url}");
        assert_eq!(refusals(&outputs).len(), 1, "{url}: the controller is told");
        assert_eq!((rig.agent.job(), rig.agent.load_until_ns()), (None, None));
    }
}

#[test]
fn a_name_that_leads_to_a_forbidden_address_is_refused() {
    for address in ["127.0.0.1:80", "169.254.169.254:80", "[::ffff:127.0.0.1]:80", "[fe80::1]:80"] {
        let mut rig = rig();
        assert!(is_prepared(&rig.offer(&offer(10.0))));
        let addresses = [to("192.0.2.1:80"), to(address)].concat();
        assert!(rig.agent.prepared(rig.now_ns, &addresses).is_err(), "{address}");
        assert_eq!(refusals(&rig.outputs()).len(), 1, "{address}");
        rig.command(begin());
        assert_eq!(orders(&rig.command(connect(10.0))), 0, "{address}");
    }
}

#[test]
fn a_rate_above_the_limit_is_refused_when_offered_and_when_ordered() {
    let mut rig = rig();
    let outputs = rig.offer(&offer(1_001.0));
    assert!(!is_prepared(&outputs));
    assert!(refusals(&outputs)[0].contains("--max-rate"));
    let mut rig = Rig::loading();
    let outputs = rig.command(connect(1_001.0));
    assert_eq!(orders(&outputs), 0);
    assert!(has_halted(&outputs), "an order beyond the job ends the load");
    assert_eq!(orders(&rig.command(connect(1.0))), 0);
}

#[test]
fn what_is_too_large_or_malformed_is_refused() {
    let mut rig = rig();
    is_nothing(&mut rig, vec![0; MESSAGE_BYTES_MAX + 1]);
    let header = rig.header();
    let noise = Envelope { header, payload: vec![0xff; 100] }.seal(&rig.key);
    is_nothing(&mut rig, noise);
    for text in ["", "{", "[]", "{\"trial\": 1}", "null"] {
        let outputs = rig.offer_text(text.as_bytes());
        assert!(!is_prepared(&outputs), "{text}");
    }
    let mut offer: serde_json::Value = serde_json::to_value(offer(10.0)).unwrap();
    offer["shares"]["asking"]["mine"] = 7.into();
    assert!(!is_prepared(&rig.offer_text(offer.to_string().as_bytes())), "no share");
    let blob = BlobHead { packed_bytes: u64::MAX, bytes: u64::MAX };
    let outputs = rig.command(Command::Offer { blob });
    assert!(refusals(&outputs)[0].contains("too large"));
    assert_eq!(rig.agent.job(), None);
}

#[test]
fn a_job_while_another_one_runs_is_refused() {
    let mut rig = Rig::loading();
    let outputs = rig.offer(&offer(10.0));
    assert!(!is_prepared(&outputs) && refusals(&outputs)[0].contains("another job"));
    // Another controller with the same key cannot take over.
    let (blob, _) = blob::cut(b"{}").unwrap();
    let mut header = rig.header();
    (header.controller, header.job, header.sequence) = (Id([8; 16]), Id([6; 16]), 1);
    let item = DownItem::Command(Command::Offer { blob }).to_bytes(header.job);
    let lease_until_ns = Some(u64::MAX);
    let payload = Down { items: vec![(1, item)], lease_until_ns, ..Down::default() }.to_bytes();
    let until_ns = rig.agent.load_until_ns();
    let second = Envelope { header, payload }.seal(&rig.key);
    let outputs = rig.deliver(second);
    assert!(!is_prepared(&outputs) && refusals(&outputs)[0].contains("another job"));
    assert_eq!(rig.agent.load_until_ns(), until_ns, "its lease is for its own job");
}

#[test]
fn an_agent_that_cannot_prepare_a_halted_job_is_free_again() {
    let withdrawn: fn(&mut Rig) = |rig| drop(rig.command(Command::Finish));
    let deserted: fn(&mut Rig) = |rig| rig.now_ns += LEASE_NS + 1;
    for halt in [withdrawn, deserted] {
        let mut rig = rig();
        assert!(is_prepared(&rig.offer(&offer(10.0))));
        halt(&mut rig);
        rig.agent.refuse(rig.now_ns, "connection refused".to_string().into());
        assert_eq!(refusals(&rig.outputs()), ["connection refused"]);
        assert_eq!(rig.agent.job(), None);
        assert!(is_prepared(&rig.offer(&offer(10.0))), "it takes the next job");
    }
}

#[test]
fn texts_of_a_controller_do_not_control_the_terminal() {
    let (evil, safe) = ("\x1b[2J", "\\u{1b}[2J");
    let mut offer = offer(10.0);
    offer.trial.url = format!("http://{evil}/");
    let outputs = rig().offer(&offer);
    let notice = outputs.iter().find_map(|output| match output {
        Output::Notice(text) => Some(text),
        _ => None,
    });
    let notice = notice.expect("a notice");
    assert!(notice.contains(safe) && !notice.contains(evil), "{notice:?}");

    let mut rig = Rig::loading();
    let outputs = rig.command(Command::Stop { why: evil.to_string() });
    let why = outputs.iter().find_map(|output| match output {
        Output::Halt(why) => Some(why.text()),
        _ => None,
    });
    assert_eq!(why, Some(format!("it was stopped: {safe}")));
}

#[test]
fn a_lease_without_a_job_starts_nothing_and_a_long_one_is_cut() {
    let mut without = rig();
    without.say(Vec::new());
    assert_eq!((without.agent.load_until_ns(), without.agent.refusals()), (None, 1));
    let mut rig = Rig::loading();
    let header = rig.header();
    let payload = Down { lease_until_ns: Some(u64::MAX), ..Down::default() }.to_bytes();
    let long = Envelope { header, payload }.seal(&rig.key);
    rig.deliver(long);
    assert_eq!(rig.agent.load_until_ns(), Some(rig.now_ns + LEASE_NS));
    rig.now_ns += LEASE_NS + 1;
    rig.agent.tick(rig.now_ns);
    assert!(has_halted(&rig.outputs()));
    rig.say(Vec::new());
    assert_eq!(rig.agent.load_until_ns(), None, "an ended load does not start again");
}

/// Nothing ran on the agent's host for a while; renewals waited in its socket.
#[test]
fn a_renewal_that_waited_counts_before_the_lease_is_judged() {
    let mut rig = Rig::loading();
    rig.now_ns += LEASE_NS - S / 10;
    let renewal = rig.seal(Vec::new());
    rig.now_ns += S / 2;
    rig.deliver(renewal);
    rig.agent.tick(rig.now_ns);
    assert!(!has_halted(&rig.outputs()));
    assert_eq!(rig.agent.load_until_ns(), Some(rig.now_ns - S / 2 + LEASE_NS));
    rig.now_ns += LEASE_NS;
    rig.agent.tick(rig.now_ns);
    assert!(has_halted(&rig.outputs()), "nothing renewed it again");
}

#[test]
fn orders_before_the_begin_and_for_another_job_do_nothing() {
    let mut rig = rig();
    assert_eq!(orders(&rig.command(connect(10.0))), 0, "without a job");
    assert!(is_prepared(&rig.offer(&offer(10.0))));
    rig.command(begin());
    assert_eq!(orders(&rig.command(connect(10.0))), 0, "not prepared");
    rig.agent.prepared(rig.now_ns, &to("192.0.2.1:80")).unwrap();
    assert_eq!(orders(&rig.command(connect(10.0))), 0, "not started");
    rig.items += 1;
    let item = DownItem::Command(connect(10.0)).to_bytes(Id([3; 16]));
    let payload = Down { items: vec![(rig.items, item)], ..Down::default() }.to_bytes();
    let header = rig.header();
    let other = Envelope { header, payload }.seal(&rig.key);
    assert_eq!(orders(&rig.deliver(other)), 0, "another job");
    rig.command(begin());
    assert_eq!(orders(&rig.command(connect(10.0))), 1);
}

#[test]
fn a_clock_that_goes_back_ends_the_load() {
    let mut rig = Rig::loading();
    rig.agent.tick(rig.now_ns - 60 * S);
    assert!(has_halted(&rig.outputs()));
}

#[test]
fn calls_are_answered_seldom() {
    let mut rig = rig();
    let mut hellos = 0;
    for _ in 0..1_000 {
        rig.now_ns += S / 1_000;
        rig.agent.receive(rig.now_ns, From::Call, &[0xff; 100]);
        for output in rig.outputs() {
            let Output::Send { to: To::Hello, bytes } = output else { continue };
            assert_eq!(serde_json::from_slice::<Hello>(&bytes).unwrap().agent, "a1");
            hellos += 1;
        }
    }
    assert_eq!(hellos, 5);
}

#[test]
fn an_agent_follows_what_its_controller_signed() {
    let mut rig = Rig::loading();
    let measure =
        CrewOrder::Measure { begin_ns: 101 * S, end_ns: Some(102 * S), budget: None, drain_ns: S };
    let command = Command::Crew { crew: ThreadKind::Requesting, order: measure };
    let outputs = rig.command(command);
    let is_it = |output: &Output| {
        matches!(output, Output::Order { order: Order::Measure { begin_ns, .. }, .. }
            if *begin_ns == 101 * S)
    };
    assert!(outputs.iter().any(is_it));
}

/// The controller names the start, but the agent's clock decides what is sent: what was due before
/// the order came is not.
#[test]
fn a_window_in_the_past_does_not_pass_the_rate_limit() {
    let now_ns = 111 * S;
    for (begin_ns, skipped) in [
        (now_ns, Some(0)),
        (now_ns - 1, Some(now_ns)),
        (now_ns - ORDER_VALID_NS, Some(now_ns)),
        (now_ns - ORDER_VALID_NS - 1, None),
    ] {
        let mut rig = Rig::loading();
        rig.now_ns = now_ns;
        let end_ns = Some(begin_ns + 60 * S);
        let measure = CrewOrder::Measure { begin_ns, end_ns, budget: None, drain_ns: S };
        let outputs = rig.command(Command::Crew { crew: ThreadKind::Requesting, order: measure });
        let skips = outputs.iter().find_map(|output| match output {
            Output::Order { order: Order::Measure { skip_until_ns, .. }, .. } => {
                Some(*skip_until_ns)
            }
            _ => None,
        });
        assert_eq!((skips, has_halted(&outputs)), (skipped, skipped.is_none()));
    }
}

#[test]
fn a_controller_of_another_version_is_noted_once() {
    let mut rig = rig();
    let mut notices = |text: &str| {
        rig.now_ns += S;
        rig.agent.receive(rig.now_ns, From::Call, text.as_bytes());
        let is_notice = |output: &Output| matches!(output, Output::Notice(_));
        rig.outputs().iter().filter(|output| is_notice(output)).count()
    };
    let ours = format!("call {}", fleet::PROTOCOL);
    let other = format!("call {}", fleet::PROTOCOL + 1);
    let told = [&*ours, "call", "call x", &*other, &*other].map(&mut notices);
    assert_eq!(told, [0, 0, 0, 1, 0]);
}

#[test]
fn many_controllers_in_a_row_are_all_heard() {
    let mut rig = rig();
    for number in 1..=100u8 {
        rig.now_ns += S / 10;
        let mut header = rig.header();
        (header.controller, header.sequence) = (Id([number; 16]), 1);
        let payload = Down::default().to_bytes();
        let order = Envelope { header, payload }.seal(&rig.key);
        let outputs = rig.deliver(order);
        let is_send = |output: &Output| matches!(output, Output::Send { .. });
        assert!(outputs.iter().all(is_send), "{number}");
        let is_answer = |output: &Output| {
            let Output::Send { to: To::Up, bytes } = output else { return false };
            Up::parse(bytes).is_ok_and(|up| up.controller == Id([number; 16]))
        };
        assert!(outputs.iter().any(is_answer), "{number}: {outputs:?}");
    }
}

/// The queue of a worker has room for the orders of a level, and for no flood.
#[test]
fn orders_that_are_repeated_in_a_level_end_the_load() {
    let mut rig = Rig::loading();
    let warm = Command::Crew { crew: ThreadKind::Requesting, order: CrewOrder::Warm };
    assert_eq!(orders(&rig.command(warm.clone())), 1);
    let outputs = rig.say(vec![DownItem::Command(warm); 20]);
    assert_eq!(orders(&outputs), 0);
    assert!(has_halted(&outputs));
}

/// A plan that began long ago has all its requests due at once.
#[test]
fn a_window_that_starts_before_the_job_ends_the_load() {
    let mut rig = Rig::loading();
    let measure = CrewOrder::Measure { begin_ns: 0, end_ns: None, budget: None, drain_ns: S };
    let command = Command::Crew { crew: ThreadKind::Requesting, order: measure };
    let outputs = rig.command(command);
    assert!(has_halted(&outputs));
    assert!(!outputs.iter().any(|output| matches!(output, Output::Order { .. })));
}
