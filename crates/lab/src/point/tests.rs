//! Points of a visit whose ticks are known.

use super::*;
use crate::gather::WindowEnds;
use crate::record::held_back;
use crate::streams::notices;
use model::dist::Dist;
use model::load::{FlowLoad, Spacing};
use model::run::Outcome;
use model::streams::StreamCode;
use model::tick::{Phase, Tick};

const SECOND_NS: u64 = 1_000_000_000;

/// Two seconds of one worker: 100 responses in each tenth, three requests failed, two unsent.
fn visit() -> Visit {
    let mut gathered = Gathered::new(1);
    gathered.begin_window(SECOND_NS, WindowEnds::WithSends);
    for tenth in 0..20 {
        let begin_ns = SECOND_NS + tenth * SECOND_NS / 10;
        let mut tick = Tick { phase: Phase::Measure, begin_ns, ..Tick::default() };
        tick.end_ns = begin_ns + SECOND_NS / 10;
        tick.measured.completed = 100;
        tick.measured.status = [100, 0, 0, 0];
        tick.histograms[Dist::Latency].record_n(1_000_000, 100);
        tick.histograms[Dist::Service].record_n(500_000, 100);
        tick.accounting.cpu_user_ns = 10_000_000;
        tick.accounting.in_flight_ns = 4 * u128::from(SECOND_NS / 10);
        if tenth == 19 {
            (tick.measured.failed, tick.measured.unsent) = (3, 2);
        }
        tick.measured.sent = tick.measured.completed + tick.measured.failed;
        gathered.add(&tick);
    }
    Visit {
        load: 1,
        begin_ns: 0,
        gathered,
        audience: None,
        ending: Outcome::Complete,
        stopped: None,
        planned: None,
        window_begin_ns: SECOND_NS,
        warmup_ns: SECOND_NS / 2,
        visit_ns: 3 * SECOND_NS,
        process_cpu_ns: 500_000_000,
        profiled: false,
    }
}

fn trial() -> Trial {
    let stop = Stop::AfterNs(2 * SECOND_NS);
    Trial { levels: vec![closed()], stop, threads: 4, ..Trial::blank() }
}

fn closed() -> Level {
    let (arrival, life) = (Arrival::Closed, Life::default());
    Level { connections: 3, spare: 0, depth: 2, arrival, life }
}

fn open() -> Level {
    let arrival = Arrival::Open { curve: Curve::constant(1002.5), arrivals: Spacing::Fixed };
    Level { spare: 5, arrival, ..closed() }
}

fn nothing_seen() -> Observed {
    Observed::of(std::iter::empty(), 1)
}

#[test]
fn a_closed_loop_has_a_rate_and_no_plan() {
    let point = make(&trial(), &closed(), 1, &visit(), &nothing_seen());
    assert_eq!((point.rate, point.load.duration_s), (1000.0, 2.0));
    assert_eq!((point.requests.sent, point.requests.completed), (2003, 2000));
    assert_eq!((point.requests.planned, point.offered_rate), (None, None));
    assert_eq!((point.load.threads, point.load.connections_max), (3, 3), "no idle thread");
    assert_eq!(point.service_ns, point.latency_ns);
    assert_eq!((point.send_delay_ns, point.generator_delay_ns), (None, None));
    assert_eq!((point.in_flight.mean, point.in_flight.limit), (Some(4.0), 6));
    assert_eq!(point.unmeasured.duration_s, 0.5);
}

#[test]
fn an_open_loop_counts_what_was_due() {
    let point = make(&trial(), &open(), 1, &visit(), &nothing_seen());
    assert_eq!(point.requests.planned, Some(2005));
    assert_eq!(point.offered_rate, Some(1002.5));
    assert_eq!((point.load.model.name(), point.load.connections_max), ("open", 8));
    assert!(point.service_ns.p50 < point.latency_ns.p50);
    assert_eq!(point.send_delay_ns.map(|lag| lag.count), Some(0));
    assert_eq!(point.series.len(), 2);
    assert_eq!(point.series[1].asked_rate, Some(1002.5));
}

#[test]
fn users_who_are_due_are_counted_by_the_schedule_and_their_requests_are_not() {
    let load = FlowLoad { name: "shop".to_string(), flow: None };
    let trial = Trial { flow: Some(load), ..trial() };
    let mut visit = Visit { planned: Some(70), ..visit() };
    let users = &mut visit.gathered.users;
    (users.begun, users.completed, users.unfinished, users.unstarted) = (60, 50, 2, 10);
    users.failed[0] = 8;
    visit.gathered.histograms[Dist::Flow].record_n(9_000_000, 50);
    let point = make(&trial, &open(), 1, &visit, &nothing_seen());
    assert_eq!(point.requests.planned, Some(2005), "what was sent, and two who never began");
    assert!(point.series.iter().all(|second| second.asked_rate.is_none()), "of users");
    assert_eq!(point.connections.asked, point.connections.opened, "as many as were needed");
    let users = point.users.unwrap();
    assert_eq!((users.due, users.flow_ns.count, users.flow_ns.censored), (Some(70), 50, 20));
    let closed = make(&trial, &closed(), 1, &visit, &nothing_seen());
    assert_eq!(closed.users.unwrap().due, None);
    assert_eq!(closed.connections.asked, 3);
}

/// What a run says about the streams of a point.
fn said(level: &Level, change: impl Fn(&mut Gathered)) -> Vec<String> {
    let mut visit = visit();
    change(&mut visit.gathered);
    notices(&make(&trial(), level, 1, &visit, &nothing_seen())).collect()
}

#[test]
fn a_limit_of_streams_below_the_depth_is_said_where_it_holds_requests_up() {
    let limited = |connections: u64| {
        move |gathered: &mut Gathered| {
            gathered.streams.allow(1, 65_535);
            gathered.streams.limited_ns = connections * 2 * SECOND_NS;
        }
    };
    let text = said(&closed(), limited(3)).join("");
    assert!(text.starts_with("3 connections: 3.0 of them had as many streams as"), "{text}");
    assert!(text.contains("fewer streams at once than -p 2: 1 on each; -c adds"), "{text}");
    assert_eq!(said(&closed(), limited(0)), [""; 0], "never at it");
    assert_eq!(said(&Level { depth: 1, ..closed() }, limited(3)), [""; 0], "-p is no more");
    assert_eq!(said(&open(), limited(3)), [""; 0], "none waited for it");
    let waited = |gathered: &mut Gathered| {
        limited(3)(gathered);
        gathered.measured.limited = 7;
    };
    assert!(said(&open(), waited)[0].contains(": 7 requests waited"));
    assert_eq!(said(&closed(), |_| {}), [""; 0], "HTTP/1.1");
}

#[test]
fn what_a_server_ends_is_said_by_code() {
    let texts = said(&closed(), |gathered| {
        let streams = &mut gathered.streams;
        streams.allow(100, 65_535);
        streams.leave(StreamCode::NoError, 1000);
        streams.leave(StreamCode::NoError, 998);
        streams.leave(StreamCode::EnhanceYourCalm, 5);
        streams.resets.add(StreamCode::Refused, 3);
        streams.held_ns = 3 * SECOND_NS;
        gathered.measured.renewed = 4;
    });
    let windows = "3 connections: 1.5 requests waited to send the rest of their body, because the \
                   windows of the server were full";
    let left = "3 connections: the server left connections (GOAWAY: ENHANCE_YOUR_CALM 1, NO_ERROR \
                2), after 998 to 1000 requests, and reset streams (RST_STREAM: REFUSED_STREAM 3); \
                4 requests waited for such a connection to be opened again";
    assert_eq!(texts, [windows, left]);
}

#[test]
fn a_closed_loop_that_waits_before_it_connects_again_says_so() {
    let mut visit = visit();
    let point = |level: &Level, visit: &Visit| make(&trial(), level, 1, visit, &nothing_seen());
    assert_eq!(held_back(&point(&closed(), &visit)), None, "4 of 6, but no connection failed");
    visit.gathered.measured.errors.add(ErrorClass::Reset, 1);
    let text = held_back(&point(&closed(), &visit)).unwrap();
    assert!(text.starts_with("3 connections: 4.0 of 6 requests were in flight"), "{text}");
    assert_eq!(held_back(&point(&open(), &visit)), None, "its rate is planned");
    let narrow = Level { depth: 1, ..closed() };
    assert_eq!(held_back(&point(&narrow, &visit)), None, "full");
}

#[test]
fn a_number_of_requests_is_the_plan_of_its_window() {
    let trial = Trial { stop: Stop::AfterRequests(3000), ..trial() };
    let point = make(&trial, &closed(), 1, &visit(), &nothing_seen());
    assert_eq!((point.requests.planned, point.requests.unsent), (Some(3000), 997));
    // Also those that an agent of a fleet, which was cut off, did not send.
    for summary in [&point.latency_ns, &point.service_ns] {
        assert_eq!((summary.count, summary.censored), (2000, 3 + 997));
    }
    let cut = Visit { ending: Outcome::Interrupted, ..visit() };
    let point = make(&trial, &closed(), 1, &cut, &nothing_seen());
    let counted = cut.gathered.measured.unsent;
    assert_eq!((point.requests.planned, point.requests.unsent), (None, counted), "not due yet");
}

#[test]
fn the_process_shares_its_time_out_over_the_visit() {
    let cpu = make(&trial(), &closed(), 1, &visit(), &nothing_seen()).cpu;
    // 0.2 s of workers, and two thirds of 0.3 s of conductor and probe, over 2000 responses.
    assert_eq!(cpu.responses, Some(2000));
    assert!((cpu.client_us_per_request.unwrap() - 200.0).abs() < 1e-6, "{cpu:?}");
    assert!((cpu.client_usr_us_per_request.unwrap() - 100.0).abs() < 1e-6, "{cpu:?}");
    assert_eq!((cpu.server_us_per_request, cpu.server_cpus), (None, None));
}

#[test]
fn without_tls_there_are_no_handshakes() {
    let connections = make(&trial(), &closed(), 1, &visit(), &nothing_seen()).connections;
    assert_eq!(connections.handshakes, Handshakes::default());
    assert_eq!((connections.asked, connections.served), (3, 0));
}
