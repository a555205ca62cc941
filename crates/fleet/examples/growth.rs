//! The cost of a fleet for its controller: `cargo run --release -p fleet --example growth -- 1000
//! 10000` simulates 1000 agents that each send 10000 requests per second, and prints bytes and CPU
//! time for one tenth of a second. The agents are frames of bytes, made beforehand; nothing is
//! sent.

use engine::job::{Order, Pace};
use fleet::control::{From, Output, Session};
use fleet::frame::{Down, Pong, Up, UpItem};
use fleet::key::{ControllerKey, PublicKey};
use fleet::message::{Facts, Hello, Id, Offer, Report};
use fleet::order::Envelope;
use fleet::ticks::{SparseTick, TickSum, decode, encode};
use model::dist::Dist;
use model::fleet::{Part, Share, Shares};
use model::load::{Life, Trial};
use model::random::Random;
use model::tick::{Connections, Phase, ThreadKind, Tick};
use std::time::{Duration, Instant};

const S: u64 = 1_000_000_000;
const TENTH_NS: u64 = S / 10;
const TENTHS: u64 = 30;
const CONTROLLER: Id = Id([1; 16]);

fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse().expect("a number"));
    let agents = numbers.next().unwrap_or(1_000);
    let rate = numbers.next().unwrap_or(10_000);
    let ticks: Vec<Tick> = (0..16).map(|seed| tick(seed, rate / 10)).collect();
    codec(&ticks, agents);
    session(&ticks, agents as usize);
}

/// A tenth of a second of an open loop, with delays of microseconds and latencies around two
/// milliseconds with a long tail.
fn tick(seed: u64, requests: u64) -> Tick {
    let mut random = Random::new(seed, 1);
    let mut tick = Tick { load: 1, phase: Phase::Measure, ..Tick::default() };
    for _ in 0..requests {
        let delay_ns = (20_000.0 * (0.7 * random.normal()).exp()) as u64;
        let service_ns = (2_000_000.0 * (0.5 * random.normal()).exp()) as u64;
        tick.histograms[Dist::Latency].record_n(service_ns + delay_ns, 1);
        tick.histograms[Dist::Service].record_n(service_ns, 1);
        tick.histograms[Dist::SendDelay].record_n(delay_ns, 1);
        tick.histograms[Dist::GeneratorDelay].record_n(delay_ns, 1);
    }
    (tick.measured.sent, tick.measured.completed) = (requests, requests);
    tick.measured.status[0] = requests;
    tick.measured.bytes_received = requests * 300;
    tick.accounting.turns = requests / 2;
    tick
}

fn codec(ticks: &[Tick], agents: u64) {
    let begin = Instant::now();
    let sparse: Vec<_> =
        ticks.iter().map(|tick| SparseTick::of(ThreadKind::Requesting, tick)).collect();
    let bytes: Vec<_> = sparse.iter().map(encode).collect();
    let encoded = begin.elapsed() / ticks.len() as u32;
    let buckets: usize = sparse
        .iter()
        .map(|tick| tick.histograms.iter().map(|one| one.buckets().len()).sum::<usize>())
        .sum();
    let mean = bytes.iter().map(Vec::len).sum::<usize>() / bytes.len();
    println!("one tick: {mean} bytes, {} buckets, {encoded:.0?} to make", buckets / ticks.len());
    let mut sum = TickSum::default();
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..10 {
        let begin = Instant::now();
        let came: Vec<_> =
            (0..agents as usize).map(|index| decode(&bytes[index % bytes.len()])).collect();
        let decoded = begin.elapsed();
        let begin = Instant::now();
        came.iter().flatten().for_each(|tick| sum.add(tick));
        let merged = sum.tick(1, Phase::Measure, Connections::default());
        assert_eq!(merged.histograms[Dist::Latency].count() % agents, 0);
        sum.clear();
        best = (best.0.min(decoded), best.1.min(begin.elapsed()));
    }
    println!("{agents} ticks: {:.2?} to read, {:.2?} to add up", best.0, best.1);
}

/// A frame of an agent with one item.
fn up(job: Id, pong: Option<u64>, now_ns: u64, (number, item): (u64, UpItem)) -> Vec<u8> {
    let pong = pong.map(|id| Pong { id, received_ns: now_ns, answered_ns: now_ns });
    let items = vec![(number, item.to_bytes(job))];
    Up { controller: CONTROLLER, challenge: Id([2; 16]), ack: 9_999, pong, items }.to_bytes()
}

/// The agents that got a ping, with the id of the ping.
fn pings(session: &mut Session, public: &PublicKey) -> Vec<(usize, u64)> {
    let mut pings = Vec::new();
    while let Some(output) = session.poll_output() {
        let Output::Send { bytes, .. } = output else { continue };
        let Ok(envelope) = Envelope::open(&bytes, public) else { continue };
        let index = envelope.header.agent[1..].parse().expect("an index");
        let ping = Down::parse(&envelope.payload).ok().and_then(|down| down.ping);
        pings.extend(ping.map(|ping| (index, ping)));
    }
    pings
}

/// A controller whose agents have started a job.
fn begun(names: &[String]) -> (Session, Id) {
    let key = ControllerKey::generate();
    let public = key.public();
    let mut session = Session::new("f", key, CONTROLLER);
    for name in names {
        let hello = Hello {
            protocol: fleet::PROTOCOL,
            agent: name.clone(),
            challenge: Id([2; 16]),
            now_ns: S,
            job: None,
            facts: Facts::default(),
        };
        session.receive(S, From::Hello(name), &serde_json::to_vec(&hello).expect("JSON"));
    }
    let shares = Share::all(&vec![Part { workers: 4, weight: 1 }; names.len()]).expect("shares");
    let offer = |(name, asking): (&String, Share)| {
        (name.clone(), Offer { trial: Trial::blank(), shares: Shares { asking, listening: None } })
    };
    let job = session.offer(S, names.iter().zip(shares).map(offer).collect()).expect("agents");
    // Pings continue until the clocks are known well.
    let mut now_ns = S;
    for round in 0..25 {
        now_ns += S / 20;
        session.tick(now_ns);
        for (index, ping) in pings(&mut session, &public) {
            let item = match round {
                0 => UpItem::Report(Report::Accepted { addresses: Vec::new() }),
                _ => UpItem::Piece(Vec::new()),
            };
            let frame = up(job, Some(ping), now_ns, (u64::from(round == 0), item));
            session.receive(now_ns, From::Up(&names[index]), &frame);
        }
    }
    assert_eq!(session.answers().accepted, names.len());
    session.begin(now_ns);
    let (load, pace, life) = (1, Pace::Closed, Life::default());
    let connect = Order::Connect { load, connections: 1, connections_max: 1, depth: 1, pace, life };
    session.order(now_ns, ThreadKind::Requesting, &connect);
    (session, job)
}

fn session(ticks: &[Tick], agents: usize) {
    let names: Vec<String> = (0..agents).map(|index| format!("a{index}")).collect();
    let (mut session, job) = begun(&names);
    let (begin_ns, end_ns) = (4 * S, 4 * S + TENTHS * TENTH_NS);
    let measure = Order::Measure { begin_ns, end_ns, budget: None, drain_ns: S, skip_until_ns: 0 };
    session.order(3 * S, ThreadKind::Requesting, &measure);
    let (mut took, mut worst) = (Duration::ZERO, Duration::ZERO);
    let (mut down_bytes, mut up_bytes, mut shown) = (0, 0, 0);
    for tenth in 0..TENTHS {
        let now_ns = begin_ns + (tenth + 1) * TENTH_NS;
        let frame = |index: usize| {
            let mut tick = SparseTick::of(ThreadKind::Requesting, &ticks[index % ticks.len()]);
            (tick.begin_ns, tick.end_ns) = (now_ns - TENTH_NS, now_ns);
            up(job, None, now_ns, (tenth + 2, UpItem::Tick(encode(&tick))))
        };
        let frames: Vec<_> = (0..agents).map(frame).collect();
        up_bytes += frames.iter().map(Vec::len).sum::<usize>();
        let begin = Instant::now();
        for (name, frame) in names.iter().zip(&frames) {
            session.receive(now_ns, From::Up(name), frame);
        }
        session.tick(now_ns);
        session.ticks(now_ns, ThreadKind::Requesting, &mut |_| shown += 1);
        let passed = begin.elapsed();
        (took, worst) = (took + passed, worst.max(passed));
        while let Some(output) = session.poll_output() {
            let Output::Send { bytes, .. } = output else { continue };
            down_bytes += bytes.len();
        }
    }
    let each = |bytes: usize| bytes / agents / TENTHS as usize;
    println!(
        "{agents} agents, per tenth: {:.1?} (at most {worst:.1?}) of one core, {} bytes up and {} \
         down for each agent; {shown} merged ticks",
        took / TENTHS as u32,
        each(up_bytes),
        each(down_bytes),
    );
}
