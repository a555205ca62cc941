//! What an agent accepts, and what it refuses.

use super::*;
use crate::message::OpenPace;
use model::fleet::{Part, Share, Shares};
use model::load::{Fanout, Hold, Life, Spacing};
use model::route::Resolution;
use model::tls::ProxyChoice;
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
}

#[test]
fn files_and_nothing_are_refused() {
    let tls = |trust, identity| TlsChoice {
        server_name: "x.a.test".to_string(),
        trust,
        identity,
        resumption: model::tls::Resumption::On,
        versions: (model::tls::TlsVersion::V12, model::tls::TlsVersion::V13),
        kernel: model::tls::KernelTls::Off,
    };
    let file = || "/etc/shadow".to_string();
    assert!(refusal(|trial| trial.tls = Some(tls(Trust::File(file()), None))).contains("files"));
    let identity = Some((file(), file()));
    let of = tls(Trust::SystemRoots, identity);
    assert!(refusal(|trial| trial.tls = Some(of.clone())).contains("files"));
    assert!(refusal(|trial| trial.levels.clear()).contains("no load"));
    assert!(refusal(|trial| trial.requests.clear()).contains("no load"));
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

proptest! {
    #[test]
    fn no_rate_above_the_limit_passes(rate in 0.0f64..1e7, rate_max in 0.0f64..1e7) {
        let job = half(|trial| trial.levels = vec![level(rate)]);
        let is_taken = offer(&job, &limits(Some(rate_max))).is_ok();
        prop_assert_eq!(is_taken, rate * 0.5 <= rate_max * (1.0 + ROUNDING));
    }
}
