//! Published measurements as test cases: from what their authors recorded, the verdict must be the
//! one that later work showed to be right, or an honest "unknown".
//!
//! Each case is a small document in `replay/` that holds only the published figures; everything
//! else stays absent. `base.json` holds the fields of a record that no case sets. Mean latencies
//! follow from Little's law if only the rate was published.

#[path = "replay/audit.rs"]
mod audit;
#[path = "replay/loader.rs"]
mod loader;

use loader::{Case, load};
use model::verdict::Verdict;

/// Cases for which the engine does not give the right verdict yet: its current verdict, and why.
const NOT_YET: &[(&str, &str, &str)] = &[];

const CASES: &[(&str, &str)] = &[
    ("j1", include_str!("replay/j1.json")),
    ("j2", include_str!("replay/j2.json")),
    ("j3", include_str!("replay/j3.json")),
    ("j4", include_str!("replay/j4.json")),
    ("j6", include_str!("replay/j6.json")),
    ("j7", include_str!("replay/j7.json")),
    ("j8", include_str!("replay/j8.json")),
    ("j9", include_str!("replay/j9.json")),
    ("j10", include_str!("replay/j10.json")),
    ("j12", include_str!("replay/j12.json")),
    ("j13a", include_str!("replay/j13a.json")),
    ("j13b", include_str!("replay/j13b.json")),
    ("j14", include_str!("replay/j14.json")),
    ("p1", include_str!("replay/p1.json")),
    ("p3", include_str!("replay/p3.json")),
];

fn verdict_words(verdict: &Verdict) -> String {
    let side = format!("{:?}", verdict.side).to_lowercase();
    let also: Vec<_> = verdict.also.iter().map(|wall| wall.id()).collect();
    format!("{} {side} {} {}", verdict.wall.word(), verdict.confidence.word(), also.join(" "))
}

/// Why a verdict is not the expected one.
fn wrong(case: &Case, verdict: &Verdict) -> Option<String> {
    let expect = &case.expect;
    let wall = verdict.wall.word();
    let is_named = expect.walls.is_empty()
        || expect.walls.iter().any(|listed| listed == wall)
        || verdict.also.iter().any(|also| expect.walls.iter().any(|listed| listed == also.id()));
    let is_excluded = expect.never.iter().any(|listed| listed == wall);
    let is_too_sure = expect.confidence_never.iter().any(|word| word == verdict.confidence.word());
    let is_bound = !expect.is_lower_bound_only
        || verdict
            .ceiling
            .as_ref()
            .is_none_or(|one| one.kind != model::verdict::CeilingKind::Ceiling);
    let is_right = is_named && !is_excluded && !is_too_sure && is_bound;
    (!is_right).then(|| {
        format!("{} ({}): {}", case.about, verdict_words(verdict), serde_json::json!(verdict))
    })
}

#[test]
fn every_published_case_has_its_verdict() {
    let mut faults = Vec::new();
    for (id, text) in CASES {
        let case = load(text);
        let verdict = case.judge();
        println!("{id}: {}", verdict_words(&verdict));
        let listed = NOT_YET.iter().find(|(listed, ..)| listed == id);
        if let Some((_, now, why)) = listed {
            println!("    not yet, {now}: {why}");
        }
        match (wrong(&case, &verdict), listed.is_some()) {
            (Some(_), true) | (None, false) => {}
            (Some(what), false) => faults.push(format!("{id}: {what}")),
            (None, true) => faults.push(format!("{id} is right now: take it out of NOT_YET")),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The authors knew which link they had rented; no driver of their hosts reports it.
#[test]
fn a_full_link_is_named_only_where_its_speed_is_stated() {
    for (id, text) in CASES.iter().filter(|(id, _)| ["j6", "j7", "j9"].contains(id)) {
        let mut case = load(text);
        case.server.as_mut().unwrap().link_mbps = None;
        let without = case.judge();
        assert_ne!(without.wall.word(), "K8", "{id}: {}", verdict_words(&without));
        assert_eq!(load(text).judge().wall.word(), "K8", "{id}");
    }
}

/// With the client's or the server's evidence removed, the same published figures must not name a
/// wall that needs that evidence.
#[test]
fn a_verdict_goes_with_its_evidence() {
    for (id, text) in CASES.iter().filter(|(id, _)| ["j3", "j12", "j13a"].contains(id)) {
        let mut case = load(text);
        let with = case.judge();
        match *id {
            "j3" => case.client = None,
            _ => case.server = None,
        }
        let without = case.judge();
        assert_ne!(with.wall, without.wall, "{id}: {}", verdict_words(&without));
    }
}

/// Two receive settings 17 % apart, each the mean of thirty seconds that scatter by 210 000: noise.
/// The server was idle, so no change on it could have raised the rate.
#[test]
fn j3_the_difference_between_settings_is_noise() {
    let errors = audit::difference_in_errors((634_823.0, 210_113.0), (542_904.0, 210_113.0), 30.0);
    assert!(errors.is_some_and(|errors| errors < 2.0), "{errors:?}");
}

/// With compressed responses the server fell from 75 to 40 % busy, but its cost per request did not
/// move: only the rate fell, so the wall was the generator's.
#[test]
fn j6_the_cost_per_request_tells_the_rate_from_the_server() {
    let plain = audit::cpu_us_per_request(32.0, 0.754, 794_310.0).unwrap();
    let packed = audit::cpu_us_per_request(32.0, 0.397, 417_619.0).unwrap();
    assert!((plain - 30.4).abs() < 0.1, "{plain}");
    assert!((packed / plain - 1.0).abs() < 0.01, "{plain} {packed}");
}

/// Responses of 0.51 times the bytes gave 1.32 times the rate, not 1.97: the link was the wall, and
/// another wall came next.
#[test]
fn j8_the_rate_followed_the_bytes_until_the_next_wall() {
    let followed = audit::followed(1_731_000.0 / 1_311_710.0, 4520.0 / 2289.0).unwrap();
    assert!((0.25..0.75).contains(&followed), "{followed}");
}

/// 403.9 seconds of waiting in 60 seconds sound like seven CPUs. With 500 requests in flight they
/// are 1.35 % of the time, so removing them gains at most that; it gained 0.2 %.
#[test]
fn j11_a_wait_is_bounded_by_its_share_of_the_residence() {
    let share = audit::share_of_residence(403.9, 500.0, 60.0).unwrap();
    assert!((share - 0.0135).abs() < 0.0001, "{share}");
    let most = audit::gain_at_most(share).unwrap();
    let brought = 809_063.0 / 807_312.0 - 1.0;
    assert!(most < 0.014 && brought < most, "{most} {brought}");
}
