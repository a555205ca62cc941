//! What a controller makes of an agent that sends nonsense.

use super::*;
use crate::frame::Down;
use crate::message::{Facts, Halt, Report};
use crate::order::Envelope;
use model::fleet::{Share, Shares};
use model::load::Trial;
use std::collections::BTreeSet;

const NOW_NS: u64 = 1_000_000_000;
const CONTROLLER: Id = Id([7; 16]);
const CHALLENGE: Id = Id([1; 16]);

/// A controller that knows one agent.
fn session(facts: Facts) -> Session {
    let mut session = Session::new("f", ControllerKey::of_seed(&[1; 32]), CONTROLLER);
    let hello = Hello {
        protocol: PROTOCOL,
        agent: "a1".to_string(),
        challenge: CHALLENGE,
        now_ns: NOW_NS,
        job: None,
        facts,
    };
    session.receive(NOW_NS, From::Hello("a1"), &serde_json::to_vec(&hello).unwrap());
    session
}

fn offer(session: &mut Session) -> Id {
    let shares = Shares { asking: Share::alone(1), listening: None };
    let offer = Offer { trial: Trial::blank(), shares };
    session.offer(NOW_NS, vec![("a1".to_string(), offer)]).unwrap()
}

fn say(session: &mut Session, number: u64, item: Vec<u8>) {
    let items = vec![(number, item)];
    let up = Up { controller: CONTROLLER, challenge: CHALLENGE, ack: 0, pong: None, items };
    session.receive(NOW_NS, From::Up("a1"), &up.to_bytes());
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
