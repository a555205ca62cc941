//! Whatever an agent or a controller sends, neither end panics, and an accepted message has one
//! meaning. Whatever one of its agents sends, a controller continues and ends its job.

use engine::job::{Order, Pace};
use fleet::control::{From, Output, Session};
use fleet::frame::{Down, DownItem, Pong, Up, UpItem};
use fleet::key::ControllerKey;
use fleet::message::{Facts, Hello, Id, Offer, Report};
use fleet::order::Envelope;
use fleet::ticks::{self, SparseTick};
use fleet::{ITEM_BYTES_MAX, PROTOCOL};
use model::fleet::{Share, Shares};
use model::load::{Life, Trial};
use model::tick::ThreadKind;

const S: u64 = 1_000_000_000;
const CONTROLLER: Id = Id([1; 16]);
const CHALLENGE: Id = Id([2; 16]);

/// Panics if a property does not hold.
pub fn hold(bytes: &[u8]) {
    if let Ok(tick) = ticks::decode(bytes) {
        assert_eq!(ticks::encode(&tick), bytes);
        adds_up(&tick);
    }
    if let Ok(up) = Up::parse(bytes) {
        assert_eq!(up.to_bytes(), bytes);
    }
    if let Ok(down) = Down::parse(bytes) {
        assert_eq!(down.to_bytes(), bytes);
    }
    let _ = DownItem::parse(bytes);
    if let Ok((job, item)) = UpItem::parse(bytes) {
        assert_eq!(UpItem::parse(&item.to_bytes(job)), Ok((job, item)));
    }
    let _ = serde_json::from_slice::<Hello>(bytes);
    let _ = Envelope::open(bytes, &ControllerKey::of_seed(&[3; 32]).public());
    ends_whatever_an_agent_says(bytes);
}

/// An accepted tick can be added up a thousand times.
fn adds_up(tick: &SparseTick) {
    assert!(tick.largest() <= ticks::codec::COUNT_MAX);
    assert!(tick.begin_ns <= tick.end_ns);
}

/// A controller with one agent that sends these bytes as items, split where the bytes say.
fn ends_whatever_an_agent_says(bytes: &[u8]) {
    let key = ControllerKey::of_seed(&[3; 32]);
    let public = key.public();
    let mut session = Session::new("f", key, CONTROLLER);
    let hello = Hello {
        protocol: PROTOCOL,
        agent: "a".to_string(),
        challenge: CHALLENGE,
        now_ns: S,
        job: None,
        facts: Facts::default(),
    };
    session.receive(S, From::Hello("a"), &serde_json::to_vec(&hello).expect("it has a JSON form"));
    let shares = Shares { asking: Share::alone(1), listening: None };
    let offer = Offer { trial: Trial::blank(), shares };
    let job = session.offer(S, vec![("a".to_string(), offer)]).expect("the agent is there");
    let mut pong = None;
    while let Some(output) = session.poll_output() {
        let Output::Send { bytes, .. } = output else { continue };
        let Ok(envelope) = Envelope::open(&bytes, &public) else { continue };
        let down = Down::parse(&envelope.payload).expect("our own frame");
        let now_ns = S + 1;
        pong = down.ping.map(|id| Pong { id, received_ns: now_ns, answered_ns: now_ns }).or(pong);
    }
    let accepted = UpItem::Report(Report::Accepted { addresses: Vec::new() }).to_bytes(job);
    let mut said = |session: &mut Session, now_ns: u64, number: u64, item: Vec<u8>| {
        let (controller, challenge, pong) = (CONTROLLER, CHALLENGE, pong.take());
        let items = vec![(number, item)];
        let up = Up { controller, challenge, ack: 1, pong, items };
        session.receive(now_ns, From::Up("a"), &up.to_bytes());
    };
    said(&mut session, S + 2, 1, accepted);
    session.begin(S + 3);
    let (pace, life) = (Pace::Closed, Life::default());
    let connect =
        Order::Connect { load: 1, connections: 1, connections_max: 1, depth: 1, pace, life };
    session.order(S + 4, ThreadKind::Requesting, &connect);
    let measure = Order::Measure {
        begin_ns: 2 * S,
        end_ns: 3 * S,
        budget: None,
        drain_ns: S,
        skip_until_ns: 0,
    };
    session.order(S + 5, ThreadKind::Requesting, &measure);
    // Each item: its kind, then up to two hundred bytes; or all bytes as one item.
    let items = bytes.chunks(200).chain([bytes]).filter(|item| item.len() < ITEM_BYTES_MAX / 2);
    for (number, item) in items.enumerate() {
        let Some((kind, rest)) = item.split_first() else { continue };
        let item = [&[kind % 3], &job.0[..], rest].concat();
        said(&mut session, 2 * S, number as u64 + 2, item);
    }
    let mut last = 0;
    for now_ns in [3 * S, 20 * S] {
        session.tick(now_ns);
        session.ticks(now_ns, ThreadKind::Requesting, &mut |tick| {
            last += u32::from(tick.last);
            assert!(tick.end_ns <= 30 * S, "nothing is in the far future");
        });
    }
    assert_eq!(last, 1, "a load ends once");
    session.finish(20 * S);
    assert!(session.is_finished(200 * S), "and so does a job");
    assert_eq!(session.accounts().len(), 1);
}
