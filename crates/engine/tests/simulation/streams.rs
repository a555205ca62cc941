//! The same with HTTP/2: streams in any order, limits that change, connections that are left.

use super::{
    MS, assert_counted, assert_divided, assert_planned, assert_started, draws, hold, job_of, level,
    load, request, stalls,
};
use engine::driver::sim::streams::StreamFaults;
use engine::job::Job;
use engine::simulate::{Account, Level, simulate_streams, simulate_streams_seen};
use model::call::{CallStatus, Replies};
use model::check::{Check, Checks};
use model::load::{Hold, Life, Request, Spacing};
use model::sample::Caught;
use model::streams::{NO_LIMIT, StreamCode};
use model::tick::{Counters, ErrorClass, StatusCodes, Tick, Turnover};
use wire::http2::Scheme;
use wire::tape::Tape;

/// Large windows, no limit, and a millisecond for each part of a response.
fn steady() -> StreamFaults {
    let window = (1 << 20, 1 << 20);
    StreamFaults { window, service_ns: (MS / 3, MS / 3), ..StreamFaults::default() }
}

fn tape(bodies: &[usize]) -> Tape {
    let request = |(target, length): (usize, &usize)| Request {
        method: if *length > 0 { "POST" } else { "GET" }.to_string(),
        body: vec![b'b'; *length],
        ..request("/a/path", target as u32)
    };
    let requests: Vec<_> = bodies.iter().enumerate().map(request).collect();
    Tape::http2(&requests, Scheme::Http).unwrap()
}

fn calls(replies: Replies) -> Tape {
    calls_of(replies, &[2])
}

/// Calls with messages of these lengths.
fn calls_of(replies: Replies, lengths: &[u8]) -> Tape {
    let message = |length: &u8| [&[0, 0, 0, 0, *length], &*vec![b'm'; (*length).into()]].concat();
    let call = Request {
        replies,
        method: "POST".to_string(),
        headers: vec![("content-type".to_string(), "application/grpc".to_string())],
        body: lengths.iter().flat_map(message).collect(),
        ..request("/shop.Catalog/Read", 0)
    };
    Tape::http2(&[call], Scheme::Http).unwrap()
}

fn run(seed: u64, level: Level, faults: StreamFaults) -> Account {
    simulate_streams(&job(seed, &level, &[0]), level, faults)
}

fn job(seed: u64, level: &Level, bodies: &[usize]) -> Job {
    job_of(tape(bodies), seed, level)
}

/// The laws that always hold.
fn assert_conserved(account: &Account, level: &Level, context: &str) {
    for counters in [&account.measured, &account.unmeasured] {
        assert_counted(counters, context);
    }
    assert_eq!(account.latency.count, account.measured.completed, "{context}: latencies");
    let Turnover { begun, established, failed, closed_by_us, closed_by_peer, .. } =
        account.turnover;
    let connections = account.connections;
    assert_eq!(begun, established + failed + connections.opening, "{context}: attempts");
    let ended = closed_by_us + closed_by_peer;
    assert_eq!(established, ended + connections.open, "{context}: connections");
    let both = [&account.measured, &account.unmeasured];
    let sum = |of: fn(&Counters) -> u64| both.into_iter().map(of).sum::<u64>();
    let sent = sum(|of| of.sent);
    assert!(account.witness.requests <= sent, "{context}: the server saw more than was sent");
    let completed = sum(|of| of.completed);
    assert!(completed <= account.witness.good_responses, "{context}: a response was invented");
    // A response may cross the cancel of its request, or come after the end of the level.
    let crossed = sum(|of| of.errors.get(ErrorClass::Timeout) + of.unanswered);
    let accounted = completed + crossed + sum(|of| of.mismatches.sum());
    assert!(accounted >= account.witness.good_responses, "{context}: a response was lost");
    assert_eq!(account.settings.count, established, "{context}: settings");
    let resets = account.streams.resets;
    let refused = resets.get(StreamCode::Refused);
    assert!(sum(|of| of.errors.get(ErrorClass::Aborted)) <= resets.sum() - refused, "{context}");
    assert!(sum(|of| of.limited + of.renewed) <= sum(|of| of.waited), "{context}: waits");
    assert_eq!(account.begun_after, 0, "{context}: a device began after the end");
    if level.rate.is_some() && level.life.hold.is_some() {
        assert_started(account, context);
    } else if level.rate.is_some() {
        let Counters { sent, completed, unsent, unanswered, errors, .. } = account.measured;
        assert_eq!(account.service.count, completed, "{context}: service");
        assert_eq!(account.send_delay.count, sent, "{context}: send delay");
        let without = unsent + unanswered + errors.get(ErrorClass::Timeout);
        assert_eq!(account.at_least.count, without, "{context}: lower bounds");
    }
}

/// A server drawn from a seed: most are mildly bad, some are terrible.
fn drawn(seed: u64) -> (Level, StreamFaults) {
    let mut next = draws(seed);
    let mut fault = || if next(3) == 0 { next(200) } else { next(5) };
    let mut faults = StreamFaults {
        refused: fault(),
        mute: fault() / 4,
        other_protocol: fault() / 4,
        partial_send: fault() * 3,
        cut: fault() / 4,
        goaway: fault(),
        refuses: fault(),
        resets: fault(),
        silent: fault() / 4,
        error_status: fault(),
        early: fault() * 3,
        changes: fault() * 2,
        starved: fault() / 4,
        odd_forms: fault() * 4,
        chatter: fault() * 2,
        pieces: fault() * 4,
        bytewise: fault() / 2,
        garbage: fault() / 8,
        ..StreamFaults::default()
    };
    faults.service_ns = (10_000, 20_000 + next(2_000_000));
    faults.window = if next(2) == 0 { (1, 1 + next(3_000)) } else { (65_535, 1 << 30) };
    if next(2) == 0 {
        let least = next(4);
        faults.streams = (least, 1 + least + next(20));
    }
    faults.stalls = stalls(&mut next);
    let mut level = load(&mut next, 10, 40);
    if next(3) == 0 {
        level.warmup_ns = 0;
    }
    (level, faults)
}

/// Connections that come and go, each with some streams.
#[test]
fn bad_servers_lose_no_device_and_no_stream() {
    let (mut sum, mut turnover) = (Counters::default(), Turnover::default());
    let mut left = 0;
    for seed in 0..500 {
        let (mut level, faults) = drawn(seed);
        let mut next = draws(seed + 1);
        hold(&mut next, &mut level);
        let account = simulate_streams(&job(seed, &level, &[0, 300]), level, faults);
        assert_conserved(&account, &level, &format!("seed {seed}"));
        assert_planned(&account, &level, seed);
        sum += &account.measured;
        turnover += &account.turnover;
        left += account.streams.left.sum();
    }
    assert!(sum.completed > 30_000 && turnover.established > 5_000, "{sum:?} {turnover:?}");
    assert!(left > 200 && sum.errors.get(ErrorClass::Refused) > 100, "{left} {sum:?}");
}

/// Devices without a fault: each connection has as many streams as it should, and lasts as long.
#[test]
fn devices_open_streams_hold_and_close() {
    let life = Life {
        requests: Some((3, 3)),
        hold: Some(Hold::For { ns: 5 * MS, jitter: 0.0 }),
        ramp_up_ns: 0,
        ramp_down_ns: 0,
    };
    let level = Level { life, warmup_ns: 0, connect_ns: 0, ..level(4, 2) };
    let account = run(5, level, steady());
    assert_conserved(&account, &level, "devices");
    let (turnover, measured) = (account.turnover, account.measured);
    assert_eq!((turnover.closed_by_peer, measured.failed, measured.unanswered), (0, 0, 0));
    assert_eq!(account.witness.requests, 3 * turnover.established, "{turnover:?}");
    // Each holds for 5 of 5.2 ms or so.
    assert!((60..=80).contains(&turnover.established), "{turnover:?}");
    let short = Life { hold: Some(Hold::For { ns: 0, jitter: 0.0 }), ..life };
    let account = run(5, Level { life: short, ..level }, steady());
    // The end of the level ends the last four at once.
    let cut = 3 * account.turnover.established - account.witness.requests;
    assert!(account.turnover.established > 150 && cut <= 4 * 2, "{:?}", account.turnover);
}

#[test]
fn a_thousand_bad_servers_lose_no_stream() {
    let mut sum = Counters::default();
    for seed in 0..1000 {
        let (level, faults) = drawn(seed);
        let bodies: &[usize] = [&[0][..], &[0, 5_000, 70], &[40_000]][seed as usize % 3];
        let account = simulate_streams(&job(seed, &level, bodies), level, faults);
        assert_conserved(&account, &level, &format!("seed {seed}"));
        sum += &account.measured;
    }
    assert!(sum.completed > 100_000, "the servers did answer: {}", sum.completed);
    for class in [ErrorClass::Refused, ErrorClass::Aborted, ErrorClass::Timeout] {
        assert!(sum.errors.get(class) > 500, "{class:?}: {:?}", sum.errors);
    }
}

/// Messages are counted with their call, as the server delivered them.
fn assert_messages(account: &Account, context: &str) -> u64 {
    let Account { measured, unmeasured, first, gap, .. } = account;
    assert_eq!(first.count + gap.count, measured.messages, "{context}: times of messages");
    assert!(first.count <= measured.sent, "{context}: one first message for each call");
    let (heard, said) = (measured.messages + unmeasured.messages, account.witness.messages);
    assert!(heard <= said, "{context}: messages were invented: {heard} of {said}");
    let both = [measured, unmeasured];
    let crossed = |of: &Counters| of.unanswered + of.errors.get(ErrorClass::Timeout);
    // Those of a call that was given up, or whose level is over, belong to nothing.
    if both.into_iter().map(crossed).sum::<u64>() == 0 {
        assert_eq!(heard, said, "{context}: messages were lost");
    }
    heard
}

/// None to six messages on a stream, cut anywhere, and streams that end in the middle of one.
#[test]
fn messages_of_streams_are_conserved() {
    let (mut messages, mut exact) = (0, 0);
    for seed in 0..300 {
        let (level, faults) = drawn(seed);
        let faults = if seed % 3 == 0 { StreamFaults { silent: 0, ..faults } } else { faults };
        let level = Level { drain_ns: 200 * MS, ..level };
        let job = job_of(calls(Replies::Stream), seed, &level);
        let account = simulate_streams(&job, level, faults);
        let context = format!("seed {seed}");
        assert_conserved(&account, &level, &context);
        let heard = assert_messages(&account, &context);
        messages += heard;
        exact += u64::from(heard > 0 && heard == account.witness.messages);
    }
    assert!(messages > 100_000 && exact > 100, "{messages} messages, {exact} runs without a loss");
    let (level, faults) = (Level { warmup_ns: 0, ..level(3, 8) }, steady());
    let job = job_of(calls(Replies::Stream), 1, &level);
    let account = simulate_streams(&job, level, StreamFaults { resets: 300, ..faults });
    assert_messages(&account, "resets");
    let (first, sent) = (account.first.count, account.measured.sent);
    assert!(first > sent / 4 && account.measured.failed > sent / 4, "{:?}", account.measured);
    // A part of a response comes after a third of a millisecond, and its head is one.
    assert!(account.first.min >= Some(2 * MS / 3), "{:?}", account.first);
}

/// The messages of each conversation, bytes.
const TALK: [u8; 4] = [9, 0, 250, 3];

/// Every message of a conversation that was due was replied to, or its call has failed or is not
/// over; in a good one all were.
fn assert_conversed(account: &Account, context: &str) {
    let Account { measured, unmeasured, message, witness, .. } = account;
    let replied = message.count;
    let without = measured.messages_due - replied;
    assert!(replied <= measured.messages, "{context}: {measured:?}");
    assert!(without <= measured.failed + measured.unanswered, "{context}: {measured:?}");
    assert!(replied >= TALK.len() as u64 * measured.completed, "{context}: {measured:?}");
    let due = measured.messages_due + unmeasured.messages_due;
    assert!(witness.asked <= due, "{context}: messages that were not due: {witness:?}");
    assert!(measured.messages_due >= measured.sent, "{context}: the first is due with its call");
    assert!(measured.messages_due <= TALK.len() as u64 * measured.sent, "{context}");
}

/// Servers that reply twice, never, or end too early, with windows of a few bytes.
#[test]
fn messages_of_conversations_are_conserved() {
    let (mut sum, mut replied, mut exact) = (Counters::default(), 0, 0);
    for seed in 0..300 {
        let (level, mut faults) = drawn(seed);
        faults.doubled = [0, 0, 100][seed as usize % 3];
        let level = Level { drain_ns: 200 * MS, ..level };
        let job = job_of(calls_of(Replies::Each, &TALK), seed, &level);
        let account = simulate_streams(&job, level, faults);
        let context = format!("seed {seed}");
        assert_conversed(&account, &context);
        // A second reply that crosses the next message looks like the reply to that.
        if faults.doubled == 0 {
            assert_conserved(&account, &level, &context);
            exact += u64::from(assert_messages(&account, &context) > 0);
        }
        replied += account.message.count;
        sum += &account.measured;
    }
    assert!(replied > 50_000 && sum.completed > 10_000 && exact > 150, "{replied} {exact} {sum:?}");
    assert!(sum.messages_due - replied > 1_000, "some had no reply: {replied} of {sum:?}");
}

/// One message at a time: each waits for the reply to the one before it.
#[test]
fn a_message_is_sent_when_the_one_before_it_is_replied_to() {
    let level = Level { warmup_ns: 0, ..level(2, 4) };
    let job = job_of(calls_of(Replies::Each, &TALK), 1, &level);
    let account = simulate_streams(&job, level, steady());
    assert_conserved(&account, &level, "steady");
    assert_conversed(&account, "steady");
    let Account { measured, first, gap, message, latency, .. } = &account;
    assert!(measured.completed > 400 && measured.failed == 0, "{measured:?}");
    assert_eq!(message.count, measured.messages_due - measured.unanswered, "{measured:?}");
    assert_eq!(message.count, first.count + gap.count, "{first:?} {gap:?}");
    // Each reply takes a third of a millisecond, and a call has four of them.
    for (times, least) in [(message, 1), (first, 1), (gap, 1), (latency, 4)] {
        let (min, max) = (times.min.unwrap(), times.max.unwrap());
        assert!(min >= least * MS / 3 && max < (least + 1) * MS / 3, "{times:?}");
    }
    // A call is due every 5 ms, and takes 1.3 of them: its messages follow when they may.
    let level = Level { rate: Some((200.0, Spacing::Fixed)), window_ns: 500 * MS, ..level };
    let job = job_of(calls_of(Replies::Each, &TALK), 1, &level);
    let account = simulate_streams(&job, level, steady());
    assert_conserved(&account, &level, "open");
    assert_eq!((account.measured.sent, account.measured.messages_due), (100, 400));
    assert!(account.message.max < Some(MS / 2), "{:?}", account.message);
    // A message without a reply: the call times out, and the connection goes on.
    let faults = StreamFaults { silent: 100, ..steady() };
    let level = Level { rate: None, ..level };
    let job = job_of(calls_of(Replies::Each, &TALK), 1, &level);
    let account = simulate_streams(&job, level, faults);
    assert_conserved(&account, &level, "silent");
    assert_conversed(&account, "silent");
    let Account { measured, streams, .. } = &account;
    let late = measured.errors.get(ErrorClass::Timeout);
    assert!(late > 20 && measured.failed == late && streams.cancelled > 5, "{measured:?}");
}

/// A server that replies twice, or ends before the last message: the call has failed, at once.
#[test]
fn replies_that_do_not_fit_fail_a_conversation() {
    for faults in [StreamFaults { doubled: 50, ..steady() }, StreamFaults { early: 50, ..steady() }]
    {
        let level = Level { warmup_ns: 0, ..level(2, 4) };
        let job = job_of(calls_of(Replies::Each, &TALK), 1, &level);
        let account = simulate_streams(&job, level, faults);
        assert_conversed(&account, "odd");
        let Account { measured, codes, .. } = &account;
        let internal = CallStatus::Internal.number();
        let failed = codes.counted().find(|(code, _)| *code == internal).map_or(0, |one| one.1);
        assert!(failed > 30 && failed == measured.failed, "{codes:?} {measured:?}");
        assert!(account.latency.max < Some(2 * MS), "{:?}", account.latency);
    }
}

/// Every call ends with the status that the server said, wherever it said it.
#[test]
fn statuses_of_calls_are_conserved() {
    let mut sum = StatusCodes::default();
    for seed in 0..300 {
        let replies = if seed % 2 == 0 { Replies::One } else { Replies::Stream };
        let (level, faults) = drawn(seed);
        let level = Level { warmup_ns: 0, ..level };
        let faults = StreamFaults { error_status: 300, ..faults };
        let account = simulate_streams(&job_of(calls(replies), seed, &level), level, faults);
        let context = format!("seed {seed}");
        assert_conserved(&account, &level, &context);
        let (mut heard, said) = (account.codes, &account.witness.statuses);
        heard.complete(account.measured.status[0]);
        let of = |codes: &StatusCodes, status| {
            codes.counted().find(|(code, _)| *code == status).map_or(0, |(_, count)| count)
        };
        let mut lost = 0;
        for status in CallStatus::ALL.map(CallStatus::number) {
            let (heard, said) = (of(&heard, status), of(said, status));
            assert!(heard <= said, "{context}: status {status} was invented: {heard} of {said}");
            lost += said - heard;
        }
        let Counters { unanswered, errors, .. } = account.measured;
        let crossed = errors.get(ErrorClass::Timeout) + unanswered;
        assert!(lost <= crossed, "{context}: {lost} statuses were lost, {crossed} crossed");
        assert_eq!(
            heard.counted().map(|(_, count)| count).sum::<u64>(),
            account.measured.responses()
        );
        sum.merge(&heard);
    }
    for status in CallStatus::ALL {
        let seen = sum.counted().any(|(code, count)| code == status.number() && count > 100);
        assert!(seen, "{status:?} did occur");
    }
}

/// Two streams on one connection, each for at least a third of a millisecond: 8,000 requests per
/// second are more than the server allows.
#[test]
fn a_request_that_the_limit_holds_up_waits_in_the_schedule() {
    let faults = StreamFaults { streams: (2, 2), ..steady() };
    let level = Level { rate: Some((8_000.0, Spacing::Fixed)), warmup_ns: 0, ..level(1, 50) };
    let account = run(1, level, faults);
    assert_conserved(&account, &level, "limit");
    let Counters { sent, unsent, completed, waited, limited, .. } = account.measured;
    assert_eq!(sent + unsent, 800, "every planned request is one or the other");
    assert!(sent < 600 && completed == sent && waited > sent / 2, "{:?}", account.measured);
    assert_eq!(waited, limited, "it was the limit of the server");
    assert!(account.send_delay.max > Some(20 * MS), "{:?}", account.send_delay);
    assert!(account.generator_delay.max < Some(5_000), "{:?}", account.generator_delay);
    assert!(account.service.max < Some(3 * MS), "{:?}", account.service);
    assert!(account.latency.mean > Some(20 * MS), "from the plan: {:?}", account.latency);
    assert_eq!(account.streams.limits, (2, 2));
    // The only connection, all of the time but the first requests.
    assert!(account.streams.limited_ns > 95 * MS, "{:?}", account.streams);
    let free = run(1, level, steady());
    assert_eq!((free.measured.unsent, free.measured.limited), (0, 0), "{:?}", free.measured);
    assert_eq!((free.streams.limits, free.streams.limited_ns), ((NO_LIMIT, NO_LIMIT), 0));
}

/// A server that leaves its only connection: what is due meanwhile waits for the next one.
#[test]
fn a_request_that_waits_for_a_connection_to_be_opened_again_is_counted_so() {
    let faults = StreamFaults { goaway: 10, ..steady() };
    let level = Level { rate: Some((4_000.0, Spacing::Fixed)), ..level(1, 50) };
    let account = run(3, level, faults);
    assert_conserved(&account, &level, "renewed");
    let Counters { waited, renewed, limited, .. } = account.measured;
    assert!(renewed > 2 && waited == renewed && limited == 0, "{:?}", account.measured);
}

#[test]
fn what_a_server_ends_is_counted_by_code() {
    let faults = StreamFaults { goaway: 5, refuses: 20, resets: 20, ..steady() };
    let level = Level { warmup_ns: 0, ..level(3, 8) };
    let account = run(7, level, faults);
    assert_conserved(&account, &level, "codes");
    let (streams, errors) = (account.streams, account.measured.errors);
    let [refused, internal] =
        [StreamCode::Refused, StreamCode::Internal].map(|code| streams.resets.get(code));
    assert!(refused > 5 && streams.resets.sum() == refused + internal, "{streams:?}");
    assert_eq!(internal, errors.get(ErrorClass::Aborted), "{errors:?}");
    assert!(refused <= errors.get(ErrorClass::Refused), "those of GOAWAY are refused too");
    let left = streams.left.get(StreamCode::NoError);
    assert!(left > 3 && streams.left.sum() == left, "{streams:?}");
    assert!(left <= account.turnover.closed_by_us + account.turnover.closed_by_peer + 3);
    let (least, most) = streams.left_after;
    assert!(1 <= least && least < most && most < account.witness.requests, "{streams:?}");
}

#[test]
fn a_connection_that_is_left_is_finished_and_replaced() {
    let faults = StreamFaults { goaway: 20, ..steady() };
    let level = Level { drain_ns: 50 * MS, ..level(3, 8) };
    let account = run(2, level, faults);
    assert_conserved(&account, &level, "goaway");
    let Counters { sent, completed, failed, errors, .. } = account.measured;
    let refused = errors.get(ErrorClass::Refused);
    assert!(refused > 10 && failed == refused, "{errors:?}");
    assert_eq!(sent, completed + refused, "what was in flight is answered");
    assert!(account.connections.reopened > 10, "{:?}", account.connections);
}

#[test]
fn a_request_that_takes_too_long_is_cancelled_alone() {
    let faults = StreamFaults { silent: 3, ..steady() };
    let level = Level { warmup_ns: 0, drain_ns: 60 * MS, ..level(1, 8) };
    let account = run(3, level, faults);
    assert_conserved(&account, &level, "cancel");
    let Counters { sent, completed, failed, errors, .. } = account.measured;
    let late = errors.get(ErrorClass::Timeout);
    assert_eq!(account.streams.cancelled, late);
    assert!((1..=5).contains(&late) && failed == late && sent == completed + late, "{errors:?}");
    assert_eq!(account.turnover.established, 1, "the connection goes on");
    // More of them than a server bears: the connection is closed.
    let account = run(3, level, StreamFaults { silent: 100, ..steady() });
    assert_conserved(&account, &level, "cancels");
    assert!(account.turnover.established > 1, "{:?}", account.turnover);
}

#[test]
fn a_connection_without_a_sign_of_life_is_closed() {
    let faults = StreamFaults { silent: 1000, ..steady() };
    let level = Level { warmup_ns: 0, ..level(2, 3) };
    let account = run(4, level, faults);
    assert_conserved(&account, &level, "silence");
    assert_eq!(account.measured.completed, 0);
    // Closed at the first late request: none is cancelled to send others on the same connection.
    assert_eq!(account.connections.reopened, 2, "{:?}", account.connections);
    assert_eq!(account.measured.sent, 12, "of two connections, twice");
}

#[test]
fn a_body_larger_than_the_window_leaves_in_parts() {
    for window in [(1, 1), (700, 700), (1 << 20, 1 << 20)] {
        let faults = StreamFaults { window, ..steady() };
        let level = Level { budget: Some(40), warmup_ns: 0, drain_ns: 40 * MS, ..level(2, 4) };
        // Those of the last fit into the window of the connection, too.
        let bodies = match window.0 {
            1 => 30,
            700 => 40_000,
            _ => 5_000,
        };
        let patient = Job { timeout_ns: 500 * MS, ..job(5, &level, &[bodies]) };
        let account = simulate_streams(&patient, level, faults);
        assert_conserved(&account, &level, "windows");
        assert_eq!((account.measured.completed, account.measured.bytes_untaken), (40, 0));
        let streams = account.streams;
        let has_waited = window.0 < bodies as u64;
        let held = (streams.held > 0, streams.held_ns > 0);
        assert_eq!(held, (has_waited, has_waited), "{streams:?}");
        assert!(streams.held <= 40, "each once: {streams:?}");
    }
}

/// A window that never opens holds its body back until the request took too long, and nothing else.
#[test]
fn a_body_without_a_window_fails_when_it_took_too_long() {
    let faults = StreamFaults { window: (0, 0), ..steady() };
    let level = Level { budget: Some(40), warmup_ns: 0, drain_ns: 60 * MS, ..level(2, 4) };
    let account = simulate_streams(&job(8, &level, &[300]), level, faults);
    assert_conserved(&account, &level, "no window");
    let Counters { sent, failed, errors, bytes_untaken, .. } = account.measured;
    assert_eq!((sent, failed, errors.get(ErrorClass::Timeout)), (40, 40, 40), "{errors:?}");
    assert_eq!(bytes_untaken, 40 * 300, "no body left, also of those that were cancelled");
    assert_eq!(account.streams.held, 40, "{:?}", account.streams);
}

#[test]
fn a_server_that_does_not_greet_is_a_failed_attempt() {
    for faults in
        [StreamFaults { mute: 1000, ..steady() }, StreamFaults { other_protocol: 1000, ..steady() }]
    {
        let level = Level { warmup_ns: 0, ..level(2, 3) };
        let account = run(6, level, faults);
        assert_conserved(&account, &level, "greeting");
        assert_eq!((account.measured.sent, account.connections.opened), (0, 0));
        assert!(account.measured.errors.get(ErrorClass::Connect) > 2, "{:?}", account.measured);
    }
}

/// The generator says why it leaves a server that breaks a rule, is silent, or speaks HTTP/1.1,
/// once, where nothing is on its way to it.
#[test]
fn the_generator_says_why_it_leaves_a_server() {
    let of = |faults, code| {
        let level = Level { warmup_ns: 0, drain_ns: 60 * MS, ..level(3, 4) };
        let account = run(9, level, faults);
        assert_conserved(&account, &level, "farewell");
        let farewells = account.witness.farewells;
        assert_eq!(farewells.sum(), farewells.get(code), "{farewells:?}");
        (farewells.sum(), account)
    };
    let (told, account) = of(StreamFaults { garbage: 20, ..steady() }, StreamCode::Protocol);
    assert!(told > 10 && told == account.turnover.closed_by_us, "{told} {:?}", account.turnover);
    let (told, account) = of(StreamFaults { silent: 1000, ..steady() }, StreamCode::NoError);
    assert!(told > 3 && told == account.turnover.closed_by_us, "{told} {:?}", account.turnover);
    let (told, account) =
        of(StreamFaults { other_protocol: 1000, ..steady() }, StreamCode::Protocol);
    assert!(told > 3 && told == account.turnover.failed, "{told} {:?}", account.turnover);
    let (told, _) = of(StreamFaults { goaway: 20, resets: 20, ..steady() }, StreamCode::NoError);
    assert_eq!(told, 0, "a connection that ends in order says nothing");
}

#[test]
fn the_checks_of_a_mix_follow_each_stream() {
    let short = Checks { length: "0..150".parse().ok(), ..Checks::default() };
    let text = Checks { body: "xxxxxxxxxxxxxxxx".parse().ok(), ..Checks::default() };
    let faults = StreamFaults { odd_forms: 300, pieces: 300, resets: 20, ..steady() };
    let level = level(2, 10);
    let mut mismatches = 0;
    for seed in 0..50 {
        let tape = tape(&[0, 0, 0]).with_checks(&[Checks::default(), short.clone(), text.clone()]);
        let account = simulate_streams(&job_of(tape, seed, &level), level, faults);
        assert_conserved(&account, &level, &format!("seed {seed}"));
        assert_divided(&account, &format!("seed {seed}"));
        assert_eq!(account.targets[0].0.mismatches.sum(), 0, "the first target has no checks");
        mismatches += account.targets[1].0.mismatches.get(Check::Length);
    }
    assert!(mismatches > 1000, "checks did fail: {mismatches}");
}

/// The text of a failed response is its own, whatever frames came between its frames, and however
/// other streams ended meanwhile.
#[test]
fn failed_responses_are_kept_as_text() {
    let short = Checks { length: "0..150".parse().ok(), ..Checks::default() };
    let (mut statuses, mut lengths, mut sums) = (0, 0, 0);
    for seed in 0..300 {
        let (level, faults) = drawn(seed);
        let faults = StreamFaults { error_status: 200, ..faults };
        let tape = tape(&[0]).with_checks(std::slice::from_ref(&short));
        let job = job_of(tape, seed, &level);
        let mut caught = Vec::new();
        let see = |tick: &Tick| caught.extend(tick.caught.iter().cloned());
        simulate_streams_seen(&job, level, faults, see);
        for (nth, one) in caught.iter().enumerate().filter(|(_, one)| one.fault.is_none()) {
            assert!(caught[..nth].iter().all(|other: &Caught| other.kind() != one.kind()));
            let text = str::from_utf8(one.bytes()).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").expect("a head and its end");
            let first = format!("HTTP/2 {}\r\nserver: simulated\r\nx-any: ", one.status);
            assert!(head.starts_with(&first), "seed {seed}: {text}");
            sums += u32::from(head.ends_with("\r\nx-sum: 1"));
            assert!(body.bytes().all(|byte| byte == b'x'), "seed {seed}: {text}");
            match one.check {
                None => assert_eq!(one.status, 503, "seed {seed}"),
                Some(check) => {
                    assert!(check == Check::Length && body.len() >= 150, "seed {seed}: {text}");
                    lengths += 1;
                }
            }
            statuses += u32::from(one.check.is_none());
        }
    }
    assert!(statuses > 250 && lengths > 50 && sums > 0, "{statuses} {lengths} {sums}");
}

#[test]
fn the_same_seed_gives_the_same_streams() {
    for seed in 0..30 {
        let (level, faults) = drawn(seed);
        assert_eq!(run(seed, level, faults), run(seed, level, faults), "seed {seed}");
    }
}
