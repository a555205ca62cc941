//! What an agent accepts, and what it refuses.

use super::*;
use crate::message::OpenPace;
use model::fleet::{Part, Share, Shares};
use model::load::{Fanout, Hold, HttpChoice, Life, Spacing};
use model::route::Resolution;
use model::tls::{ProxyChoice, ProxyWay};
use proptest::prelude::*;

fn limits(rate_max: Option<f64>) -> Limits {
    Limits { allow: Allow::new(vec!["http://*.a.test:80".parse().unwrap()]), rate_max }
}

fn level(rate: f64) -> Level {
    let arrival = Arrival::Open { curve: Curve::constant(rate), arrivals: Spacing::Fixed };
    Level { connections: 10, spare: 5, depth: 2, arrival, life: Life::default() }
}

/// An offer of half a load.
fn half(change: impl Fn(&mut Trial)) -> Offer {
    let request = Request {
        method: "GET".to_string(),
        path: "/".to_string(),
        host: "x.a.test".to_string(),
        ..Request::default()
    };
    let mut trial = Trial {
        url: "http://x.a.test/".to_string(),
        requests: vec![request],
        levels: vec![level(1_000.0)],
        ..Trial::blank()
    };
    change(&mut trial);
    let part = Part { workers: 2, weight: 1 };
    let asking = Share::of(vec![part, part], 1).unwrap();
    Offer { trial, shares: Shares { asking, listening: None } }
}

fn refusal(change: impl Fn(&mut Trial)) -> String {
    offer(&half(change), &limits(None)).expect_err("it is refused")
}

#[test]
fn a_job_within_the_limits_is_taken() {
    let url = offer(&half(|_| {}), &limits(Some(500.0))).unwrap();
    assert_eq!((&*url.host, url.port), ("x.a.test", 80));
}

#[test]
fn a_share_above_the_rate_is_refused() {
    let refused = |rate_max, change: fn(&mut Trial)| {
        offer(&half(change), &limits(Some(rate_max))).expect_err("it is refused")
    };
    assert!(refused(499.0, |_| {}).contains("--max-rate of 499"));
    assert!(refused(500.0, |trial| trial.levels.push(level(1_001.0))).contains("500.5"));
    let closed = |trial: &mut Trial| trial.levels[0].arrival = Arrival::Closed;
    assert!(refused(1e9, closed).contains("closed loop"));
    assert!(offer(&half(closed), &limits(None)).is_ok());
}

#[test]
fn ways_around_the_list_are_refused() {
    assert!(refusal(|trial| trial.url = "http://evil.test/".to_string()).contains("--allow"));
    let at = refusal(|trial| trial.url = "http://x.a.test@evil.test/".to_string());
    assert!(at.contains("user name"), "{at}");
    let proxy = ProxyChoice {
        url: "http://evil.test".to_string(),
        way: ProxyWay::Tunnel,
        target: "x.a.test:80".to_string(),
        authorization: None,
    };
    assert!(refusal(|trial| trial.proxy = Some(proxy.clone())).contains("proxy"));
    let given = |how, name: &str| Resolution { name: name.to_string(), how, addresses: vec![] };
    let of = given(Lookup::Given, "x.a.test:80");
    assert!(refusal(|trial| trial.resolution = of.clone()).contains("given addresses"));
    let of = given(Lookup::Resolver, "evil.test:80");
    assert!(refusal(|trial| trial.resolution = of.clone()).contains("--allow"));
    let of = given(Lookup::Resolver, "y.a.test:80");
    assert!(refusal(|trial| trial.resolution = of.clone()).contains("no other"));
    let socket = || vec![Address::Unix("/run/x.sock".into())];
    assert!(refusal(|trial| trial.addresses = socket()).contains("unix sockets"));
    assert!(refusal(|trial| trial.requests[0].host = "evil.test".to_string()).contains("--allow"));
    let header = || vec![("hOST".to_string(), "evil.test".to_string())];
    assert!(refusal(|trial| trial.requests[0].headers = header()).contains("--allow"));
    let whole = refusal(|trial| trial.requests[0].path = "http://evil.test/".to_string());
    assert!(whole.contains("not a path"), "{whole}");
    let in_https = tls("evil.test", Trust::SystemRoots, None);
    assert!(refusal(|trial| trial.tls = Some(in_https.clone())).contains("has no TLS"));
}

/// A front end may route a connection by the name in its handshake, whatever address it has.
#[test]
fn handshakes_for_another_host_are_refused() {
    let limits = || {
        let allow = ["https://*.a.test:443", "https://192.0.2.1:443"];
        Limits {
            allow: Allow::new(allow.map(|text| text.parse().unwrap()).to_vec()),
            rate_max: None,
        }
    };
    let taken = |url: &str, name: Option<&str>| {
        let of = half(|trial| {
            trial.url = url.to_string();
            trial.requests[0].host.clear();
            trial.tls = name.map(|name| tls(name, Trust::SystemRoots, None));
        });
        offer(&of, &limits())
    };
    for (url, name) in [
        ("https://x.a.test/", "x.a.test"),
        ("https://x.a.test/", "y.A.test"),
        ("https://192.0.2.1/", "192.0.2.1"),
        ("https://192.0.2.1/", "x.a.test"),
    ] {
        assert!(taken(url, Some(name)).is_ok(), "{url} {name}");
    }
    for (url, name) in [
        ("https://x.a.test/", "internal.prod.test"),
        ("https://x.a.test/", "a.test"),
        ("https://x.a.test/", "192.0.2.2"),
        ("https://192.0.2.1/", "internal.prod.test"),
    ] {
        let why = taken(url, Some(name)).expect_err(name);
        assert!(why.contains("--sni") && why.contains("--allow"), "{url} {name}: {why}");
    }
    let plain = taken("https://x.a.test/", None).expect_err("secrets in plain text");
    assert!(plain.contains("without TLS"), "{plain}");
}

#[test]
fn a_port_that_is_for_connections_gets_no_request() {
    let allow = Allow::new(vec!["tcp://10.0.0.5:25".parse().unwrap()]);
    let limits = Limits { allow, rate_max: None };
    let of = |requests| {
        half(|trial| {
            trial.url = "tcp://10.0.0.5:25".to_string();
            trial.requests[0].host.clear();
            let life = &mut trial.levels[0].life;
            (life.requests, life.hold) = (requests, Some(Hold::Forever));
        })
    };
    let job = of(Some((0, 0)));
    assert!(offer(&job, &limits).is_ok());
    let order = |requests| {
        let mut order = connect(15, 2, None);
        let CrewOrder::Connect { life, .. } = &mut order else { panic!("another order") };
        life.requests = requests;
        order
    };
    assert_eq!(super::order(&order(Some((0, 0))), &job, &limits), Ok(()));
    for requests in [None, Some((1, 1)), Some((0, 1))] {
        let why = offer(&of(requests), &limits).expect_err("it is refused");
        assert!(why.contains("without requests"), "{why}");
        let why = super::order(&order(requests), &job, &limits).expect_err("it is refused");
        assert!(why.contains("without requests"), "{why}");
    }
    let mut subscribers = of(Some((0, 0)));
    let streams = subscribers.trial.requests.clone();
    subscribers.trial.fanout = Some(Fanout { streams, writers: 0 });
    assert!(offer(&subscribers, &limits).is_err(), "each asks for a stream");
    for http in [HttpChoice::Two, HttpChoice::Auto] {
        let mut greeting = of(Some((0, 0)));
        greeting.trial.manner.http = http;
        assert!(offer(&greeting, &limits).is_err(), "each greets");
    }
}

fn tls(name: &str, trust: Trust, identity: Option<(String, String)>) -> TlsChoice {
    TlsChoice {
        server_name: name.to_string(),
        trust,
        identity,
        resumption: model::tls::Resumption::On,
        versions: (model::tls::TlsVersion::V12, model::tls::TlsVersion::V13),
        kernel: model::tls::KernelTls::Off,
    }
}

#[test]
fn files_and_nothing_are_refused() {
    let tls = |trust, identity| tls("x.a.test", trust, identity);
    let file = || "/etc/shadow".to_string();
    assert!(refusal(|trial| trial.tls = Some(tls(Trust::File(file()), None))).contains("files"));
    let identity = Some((file(), file()));
    let of = tls(Trust::SystemRoots, identity);
    assert!(refusal(|trial| trial.tls = Some(of.clone())).contains("files"));
    assert!(refusal(|trial| trial.levels.clear()).contains("no load"));
    assert!(refusal(|trial| trial.requests.clear()).contains("no load"));
    assert!(refusal(|trial| trial.levels[0].depth = 0).contains("no load"));
    let nothing = Fanout { streams: Vec::new(), writers: 2 };
    assert!(refusal(|trial| trial.fanout = Some(nothing.clone())).contains("no load"));
    let backwards = refusal(|trial| trial.levels[0].life.requests = Some((5, 1)));
    assert!(backwards.contains("at most"), "{backwards}");
    let curve: Curve = serde_json::from_str("[]").unwrap();
    let of = Arrival::Open { curve, arrivals: Spacing::Fixed };
    assert!(refusal(|trial| trial.levels[0].arrival = of.clone()).contains("not a number"));
}

#[test]
fn an_agent_with_a_rate_holds_no_subscribers() {
    let fanout = |trial: &mut Trial| {
        trial.fanout = Some(Fanout { streams: trial.requests.clone(), writers: 2 });
    };
    let refused = offer(&half(fanout), &limits(Some(1e9))).expect_err("it is refused");
    assert!(refused.contains("fan-out"), "{refused}");
    assert!(offer(&half(fanout), &limits(None)).is_ok());
}

#[test]
fn devices_are_a_closed_loop_in_an_order_too() {
    let job = half(|_| {});
    let order = |hold| {
        let mut order = connect(15, 2, Some(Curve::constant(1.0)));
        let CrewOrder::Connect { life, .. } = &mut order else { panic!("another order") };
        life.hold = hold;
        order
    };
    let check = |hold, rate_max| super::order(&order(hold), &job, &limits(rate_max));
    assert_eq!(check(None, Some(500.0)), Ok(()));
    let refused = check(Some(Hold::Forever), Some(500.0)).expect_err("it is refused");
    assert!(refused.contains("closed loop"), "{refused}");
    assert_eq!(check(Some(Hold::Forever), None), Ok(()));
}

fn connect(connections_max: u32, depth: u32, curve: Option<Curve>) -> CrewOrder {
    let open = curve.map(|curve| OpenPace { curve, arrivals: Spacing::Fixed, seed: 1 });
    let life = Life::default();
    CrewOrder::Connect { load: 1, connections: 10, connections_max, depth, open, life }
}

#[test]
fn an_order_above_the_job_is_refused() {
    let job = half(|_| {});
    let check = |order: &CrewOrder, rate_max| super::order(order, &job, &limits(rate_max));
    let rate = |rate| Some(Curve::constant(rate));
    assert_eq!(check(&connect(15, 2, rate(1_000.0)), Some(500.0)), Ok(()));
    assert!(check(&connect(16, 2, rate(1_000.0)), None).is_err(), "connections");
    assert!(check(&connect(15, 3, rate(1_000.0)), None).is_err(), "depth");
    assert!(check(&connect(9, 2, rate(1.0)), None).is_err(), "more than the most");
    assert!(check(&connect(15, 2, rate(1_001.0)), Some(500.0)).is_err(), "rate");
    assert!(check(&connect(15, 2, None), Some(500.0)).is_err(), "closed loop");
    assert_eq!(check(&connect(15, 2, None), None), Ok(()));
    let empty: Curve = serde_json::from_str("[]").unwrap();
    assert!(check(&connect(15, 2, Some(empty)), None).is_err(), "no curve");
    let negative: Curve =
        serde_json::from_str(r#"[{"duration_ns": 1, "from": -5.0, "to": 1.0}]"#).unwrap();
    assert!(check(&connect(15, 2, Some(negative)), None).is_err(), "a negative rate");
}

#[test]
fn the_life_of_connections_in_an_order_makes_sense() {
    let mut order = connect(15, 2, None);
    let CrewOrder::Connect { life, .. } = &mut order else { panic!("another order") };
    life.requests = Some((5, 1));
    assert!(super::order(&order, &half(|_| {}), &limits(None)).is_err());
}

/// The queue of a worker holds eight orders.
#[test]
fn a_level_has_one_order_of_a_kind_for_a_crew() {
    let connect = connect(15, 2, None);
    let measure = CrewOrder::Measure { begin_ns: 0, end_ns: None, budget: None, drain_ns: 0 };
    let level = [connect.clone(), CrewOrder::Warm, measure, CrewOrder::Stop];
    let mut ordered = Ordered::default();
    for load in 0..3 {
        for order in &level {
            assert_eq!(ordered.note(ThreadKind::Requesting, order), Ok(()), "{load}: {order:?}");
            assert_eq!(ordered.note(ThreadKind::Listening, order), Ok(()), "{load}: {order:?}");
        }
        for order in &level[1..] {
            assert!(ordered.note(ThreadKind::Requesting, order).is_err(), "{load}: {order:?}");
        }
        for order in &level {
            assert!(ordered.note(ThreadKind::Listening, order).is_err(), "{load}: {order:?}");
        }
    }
}

proptest! {
    #[test]
    fn no_rate_above_the_limit_passes(rate in 0.0f64..1e7, rate_max in 0.0f64..1e7) {
        let job = half(|trial| trial.levels = vec![level(rate)]);
        let is_taken = offer(&job, &limits(Some(rate_max))).is_ok();
        prop_assert_eq!(is_taken, rate * 0.5 <= rate_max * (1.0 + ROUNDING));
    }
}
