//! What a controller makes of an agent that sends nonsense.

use super::*;
use crate::frame::{Down, Pong};
use crate::message::{Ended, Facts, Halt, Report};
use crate::order::Envelope;
use crate::ticks::{SparseTick, encode};
use engine::job::Pace;
use model::fleet::{AgentEnd, Share, Shares};
use model::load::{Life, Trial};
use model::random::Random;
use model::tick::{Phase, Starts};
use std::collections::BTreeSet;

const NOW_NS: u64 = 1_000_000_000;
const CONTROLLER: Id = Id([7; 16]);
const CHALLENGE: Id = Id([1; 16]);

/// A controller that knows one agent.
fn session(facts: Facts) -> Session {
    let mut session = Session::new("f", ControllerKey::of_seed(&[1; 32]), CONTROLLER);
    greet(&mut session, CHALLENGE, PROTOCOL, facts);
    session
}

fn greet(session: &mut Session, challenge: Id, protocol: u32, facts: Facts) {
    let agent = "a1".to_string();
    let hello = Hello { protocol, agent, challenge, now_ns: NOW_NS, job: None, facts };
    session.receive(NOW_NS, From::Hello("a1"), &serde_json::to_vec(&hello).unwrap());
}

fn offer_of(session: &mut Session) -> Result<Id, OfferError> {
    let shares = Shares { asking: Share::alone(1), listening: None };
    let offer = Offer { trial: Trial::blank(), shares };
    session.offer(NOW_NS, vec![("a1".to_string(), offer)])
}

fn offer(session: &mut Session) -> Id {
    offer_of(session).unwrap()
}

fn say(session: &mut Session, number: u64, item: Vec<u8>) {
    say_at(session, NOW_NS, None, vec![(number, item)]);
}

fn say_at(session: &mut Session, now_ns: u64, pong: Option<Pong>, items: Vec<(u64, Vec<u8>)>) {
    let up = Up { controller: CONTROLLER, challenge: CHALLENGE, ack: 0, pong, items };
    session.receive(now_ns, From::Up("a1"), &up.to_bytes());
}

/// The latest ping to the agent.
fn ping(session: &mut Session) -> Option<u64> {
    let key = ControllerKey::of_seed(&[1; 32]).public();
    let mut ping = None;
    while let Some(output) = session.poll_output() {
        let Output::Send { to: To::Down(_), bytes } = output else { continue };
        let envelope = Envelope::open(&bytes, &key).unwrap();
        ping = Down::parse(&envelope.payload).unwrap().ping.or(ping);
    }
    ping
}

/// A controller whose agent makes load 1.
struct Running {
    session: Session,
    job: Id,
    items: u64,
}

impl Running {
    fn begin() -> Self {
        let mut session = session(Facts::default());
        let job = offer(&mut session);
        let mut running = Self { session, job, items: 0 };
        running.respond(NOW_NS, 0);
        running.report(NOW_NS, Report::Accepted { addresses: Vec::new() });
        running.session.begin(NOW_NS);
        let (pace, life) = (Pace::Closed, Life::default());
        let connect =
            Order::Connect { load: 1, connections: 1, connections_max: 1, depth: 1, pace, life };
        running.session.order(NOW_NS, ThreadKind::Requesting, &connect);
        running
    }

    fn say(&mut self, now_ns: u64, item: &UpItem) {
        self.items += 1;
        let items = vec![(self.items, item.to_bytes(self.job))];
        say_at(&mut self.session, now_ns, None, items);
    }

    fn report(&mut self, now_ns: u64, report: Report) {
        self.say(now_ns, &UpItem::Report(report));
    }

    fn tick(&mut self, now_ns: u64, bytes: u64, last: bool) {
        let mut tick = SparseTick::empty(1, Phase::Warmup, (now_ns, now_ns));
        (tick.counts.unmeasured.bytes_received, tick.last) = (bytes, last);
        self.say(now_ns, &UpItem::Tick(encode(&tick)));
    }

    /// Responds to the latest ping at once, with a clock that is this far ahead.
    fn respond(&mut self, now_ns: u64, ahead_ns: u64) {
        let Some(id) = ping(&mut self.session) else { return };
        let there_ns = now_ns + ahead_ns;
        let pong = Pong { id, received_ns: there_ns, answered_ns: there_ns };
        say_at(&mut self.session, now_ns, Some(pong), Vec::new());
    }

    /// Ends the agent's part, with the first pieces of its report.
    fn end(&mut self, now_ns: u64, report: Option<&[u8]>, pieces: usize) {
        let (head, all) = report.map(|whole| blob::cut(whole).unwrap()).unzip();
        self.report(now_ns, Report::Ended { ended: Ended::Complete, record: head });
        let all = all.into_iter().flatten().take(pieces);
        all.for_each(|piece| self.say(now_ns, &UpItem::Piece(piece)));
    }

    fn account(&mut self, now_ns: u64) -> Account {
        self.session.finish(now_ns);
        assert!(self.session.is_finished(now_ns + REPORT_MAX_NS));
        self.session.accounts().remove(0)
    }
}

/// Bytes that no compression makes shorter.
fn noise(bytes: usize) -> Vec<u8> {
    let mut random = Random::new(1, 2);
    (0..bytes).map(|_| random.draw() as u8).collect()
}

const S: u64 = 1_000_000_000;

#[test]
fn counts_may_grow_as_fast_as_a_core_can_for_as_long_as_it_takes() {
    // More than 10 GB/s for a day.
    let mut running = Running::begin();
    let day_ns = NOW_NS + 86_400 * S;
    (0..100).for_each(|_| running.tick(day_ns, 10_000_000_000_000, false));
    let lost = |running: &mut Running| {
        let (_, events) = outputs(&mut running.session);
        events.iter().any(|event| matches!(event, Event::Lost(_)))
    };
    assert!(!lost(&mut running));
    // A hundredth of one of those ticks is possible in one second.
    let mut running = Running::begin();
    running.tick(NOW_NS + S, 1_000_000_000_000, false);
    assert!(lost(&mut running));
}

#[test]
fn an_agent_ends_well_only_with_all_counts_and_its_whole_report() {
    let report = noise(200_000);
    let end = |last: bool, report: Option<&[u8]>, pieces: usize| {
        let mut running = Running::begin();
        running.tick(NOW_NS + S, 1, last);
        running.end(NOW_NS + S, report, pieces);
        let account = running.account(NOW_NS + S);
        assert_eq!(account.why.is_empty(), account.ended == Some(AgentEnd::Complete));
        account.ended
    };
    assert_eq!(end(true, Some(&report), usize::MAX), Some(AgentEnd::Complete));
    assert_eq!(end(true, Some(&report), 3), Some(AgentEnd::NoReport), "a part of its report");
    assert_eq!(end(false, Some(&report), 3), Some(AgentEnd::Lost), "a part of both");
    assert_eq!(end(false, Some(&report), usize::MAX), Some(AgentEnd::Lost), "no last tick");
    assert_eq!(end(true, None, 0), Some(AgentEnd::NoReport));
}

#[test]
fn a_report_that_still_arrives_is_awaited() {
    let mut running = Running::begin();
    running.tick(NOW_NS + S, 1, true);
    let report = noise(2_000_000);
    running.session.finish(NOW_NS + S);
    running.end(NOW_NS + S, Some(&report), 0);
    let (_, pieces) = blob::cut(&report).unwrap();
    let mut now_ns = NOW_NS + S;
    assert!(pieces.len() > 30);
    for piece in pieces {
        now_ns += 3 * S;
        assert!(!running.session.is_finished(now_ns), "after {} s", (now_ns - NOW_NS) / S);
        running.say(now_ns, &UpItem::Piece(piece));
    }
    assert!(running.session.is_finished(now_ns + LATE_NS), "no response to a ping");
    let account = running.session.accounts().remove(0);
    assert_eq!((account.ended, account.record), (Some(AgentEnd::Complete), Some(report)));
}

#[test]
fn an_agent_that_has_left_with_its_report_is_not_awaited() {
    let mut running = Running::begin();
    running.tick(NOW_NS + S, 1, true);
    running.end(NOW_NS + S, Some(b"{}"), usize::MAX);
    // Others go on for a while.
    running.session.finish(NOW_NS + 60 * S);
    assert!(running.session.is_finished(NOW_NS + 60 * S));
    assert_eq!(running.session.accounts()[0].ended, Some(AgentEnd::Complete));
}

#[test]
fn clocks_are_measured_again_at_the_end() {
    let mut running = Running::begin();
    running.tick(NOW_NS + S, 1, true);
    let mut now_ns = NOW_NS + 100 * S;
    running.session.tick(now_ns);
    running.respond(now_ns, 0);
    running.session.finish(now_ns);
    running.end(now_ns, Some(b"{}"), usize::MAX);
    for _ in 0..100 {
        assert!(!running.session.is_finished(now_ns) || now_ns > NOW_NS + 100 * S);
        now_ns += S / 20;
        running.session.tick(now_ns);
        running.respond(now_ns, 3_000_000);
    }
    assert!(running.session.is_finished(now_ns));
    let error_ns = running.session.accounts()[0].clock_error_ns();
    assert!(error_ns.is_some_and(|ns| ns >= 3_000_000), "{error_ns:?}");
}

#[test]
fn connections_that_a_lost_agent_was_opening_have_an_outcome() {
    let mut running = Running::begin();
    let mut tick = SparseTick::empty(1, Phase::Measure, (NOW_NS, NOW_NS));
    tick.counts.starts = Starts { begun: 9, established: 5, failed: 1, ..Starts::default() };
    running.say(NOW_NS + S, &UpItem::Tick(encode(&tick)));
    greet(&mut running.session, Id([2; 16]), PROTOCOL, Facts::default());
    let mut sum = Starts::default();
    running.session.ticks(NOW_NS + 9 * S, ThreadKind::Requesting, &mut |tick| sum += &tick.starts);
    assert_eq!((sum.begun, sum.pending), (9, 3));
    assert_eq!(running.account(NOW_NS + 9 * S).loads[&1].starts, sum);
}

#[test]
fn an_agent_of_another_version_is_refused_with_both() {
    let mut session = session(Facts::default());
    let facts = Facts { version: "9.8.5".to_string(), ..Facts::default() };
    greet(&mut session, CHALLENGE, PROTOCOL + 6, facts);
    let why = offer_of(&mut session).unwrap_err().to_string();
    for part in ["a1", "9.8.5", &(PROTOCOL + 6).to_string(), &format!("version {PROTOCOL}:")] {
        assert!(why.contains(part), "{why}");
    }
}

#[test]
fn two_processes_with_one_name_are_no_agent() {
    let mut session = session(Facts::default());
    let others = [2, 1, 2].map(|number| Id([number; 16]));
    others.iter().for_each(|id| greet(&mut session, *id, PROTOCOL, Facts::default()));
    assert!(offer_of(&mut session).is_ok(), "a restart and one late message");
    session.abandon(NOW_NS);
    greet(&mut session, CHALLENGE, PROTOCOL, Facts::default());
    assert_eq!(offer_of(&mut session), Err(OfferError::Doubled("a1".to_string())));
    assert!(outputs(&mut session).1.contains(&Event::Doubled));
}

#[test]
fn an_offer_to_a_process_that_was_replaced_is_not_awaited() {
    let mut session = session(Facts::default());
    offer(&mut session);
    greet(&mut session, Id([2; 16]), PROTOCOL, Facts::default());
    assert_eq!(session.answers(), Answers { refused: 1, ..Answers::default() });
    assert!(session.refusals().all(|(_, refusal)| refusal.why.contains("another process")));
}

/// How many orders to stop the agent was sent, and the events about it.
fn outputs(session: &mut Session) -> (usize, Vec<Event>) {
    let key = ControllerKey::of_seed(&[1; 32]).public();
    let (mut stops, mut events) = (BTreeSet::new(), Vec::new());
    while let Some(output) = session.poll_output() {
        match output {
            Output::Event { event, .. } => events.push(event),
            Output::Send { bytes, .. } => {
                let envelope = Envelope::open(&bytes, &key).unwrap();
                for (number, item) in Down::parse(&envelope.payload).unwrap().items {
                    if let (_, DownItem::Command(Command::Stop { .. })) =
                        DownItem::parse(&item).unwrap()
                    {
                        stops.insert(number);
                    }
                }
            }
        }
    }
    (stops.len(), events)
}

#[test]
fn an_agent_that_sends_nonsense_is_told_once() {
    let mut session = session(Facts::default());
    (1..=100).for_each(|number| say(&mut session, number, vec![0xff]));
    assert_eq!(session.undelivered().count(), 0, "nothing is kept outside of a job");
    assert_eq!(outputs(&mut session), (0, vec![Event::Appeared]));
    offer(&mut session);
    (101..=200).for_each(|number| say(&mut session, number, vec![0xff]));
    let (stops, events) = outputs(&mut session);
    assert_eq!(stops, 1);
    assert!(matches!(events[..], [Event::Lost(_)]), "{events:?}");
}

#[test]
fn an_order_to_stop_is_open_until_it_is_acknowledged() {
    let mut session = session(Facts::default());
    session.stop(NOW_NS, "why");
    assert_eq!(session.undelivered().collect::<Vec<_>>(), ["a1"]);
    let mut up =
        Up { controller: CONTROLLER, challenge: CHALLENGE, ack: 0, pong: None, items: vec![] };
    session.receive(NOW_NS, From::Up("a1"), &up.to_bytes());
    assert_eq!(session.undelivered().count(), 1, "it responds, but has not taken it");
    up.ack = 1;
    session.receive(NOW_NS, From::Up("a1"), &up.to_bytes());
    assert_eq!(session.undelivered().count(), 0);
}

#[test]
fn texts_of_an_agent_do_not_control_the_terminal() {
    let evil = || "\x1b[2J".to_string();
    let safe = "\\u{1b}[2J";
    let labels = BTreeMap::from([(evil(), evil())]);
    let facts = Facts { hostname: evil(), allow: vec![evil()], labels, ..Facts::default() };
    let mut session = session(facts);
    let known = &session.agents().next().unwrap().hello().facts;
    assert_eq!((&*known.hostname, &*known.allow[0]), (safe, safe));
    assert_eq!(known.labels, BTreeMap::from([(safe.to_string(), safe.to_string())]));

    let id = offer(&mut session);
    let halted = Report::Halted { why: Halt::Stopped(evil()), at_ns: NOW_NS };
    let refused = Report::Refused(evil().into());
    for (number, report) in [(1, halted), (2, refused)] {
        say(&mut session, number, UpItem::Report(report).to_bytes(id));
    }
    let mut unknown = UpItem::Tick(br#"{"report":"\u001b[2J"}"#.to_vec()).to_bytes(id);
    unknown[0] = 0;
    assert!(UpItem::parse(&unknown).unwrap_err().contains(safe));
    let texts = outputs(&mut session).1.into_iter().filter_map(|event| match event {
        Event::Halted(why) | Event::Refused(why) => Some(why),
        _ => None,
    });
    assert_eq!(texts.collect::<Vec<_>>(), [format!("it was stopped: {safe}"), safe.to_string()]);
    assert!(session.refusals().all(|(_, refusal)| refusal.why == safe));
}
