//! The whole worker against a server with arbitrary faults: requests are conserved.

use arbitrary::Unstructured;
use engine::driver::sim::Faults;
use engine::job::Job;
use engine::simulate::{Level, simulate};
use model::load::{Hold, Life, Manner, Request, Retry, Spacing};
use wire::tape::Tape;

const MS: u64 = 1_000_000;

fn drawn(bytes: &[u8]) -> arbitrary::Result<(u64, Level, Faults, Retry)> {
    let mut source = Unstructured::new(bytes);
    let seed = source.arbitrary()?;
    let mut fault = || source.int_in_range(0..=400u64);
    let faults = Faults {
        refused: fault()?,
        no_port: fault()?,
        unheard: fault()?,
        partial_send: fault()?,
        reset: fault()?,
        cut: fault()?,
        silent: fault()?,
        garbage: fault()?,
        error_status: fault()?,
        chunked: fault()?,
        until_close: fault()?,
        last_response: fault()?,
        pieces: fault()?,
        bytewise: fault()?,
        unsolicited: fault()?,
        service_ns: (10_000, 10_000 + fault()? * 10_000),
        ..Faults::default()
    };
    let spacing = *source.choose(&[Spacing::Fixed, Spacing::Poisson, Spacing::Uniform])?;
    let rate = source.arbitrary::<Option<u16>>()?;
    let connections = source.int_in_range(1..=6)?;
    let life = Life {
        requests: source.arbitrary::<Option<u8>>()?.map(|most| (1, 1 + u32::from(most))),
        hold: source
            .arbitrary::<Option<u8>>()?
            .map(|tenths| Hold::For { ns: u64::from(tenths) * MS / 10, jitter: 0.5 }),
        ramp_up_ns: source.int_in_range(0..=3 * MS)?,
        ramp_down_ns: source.int_in_range(0..=3 * MS)?,
    };
    let budget = source.arbitrary::<Option<u8>>()?;
    let level = Level {
        connections,
        connections_max: connections + source.int_in_range(0..=3)?,
        rate: rate.map(|rate| (f64::from(rate) * 10.0, spacing)),
        life,
        depth: source.int_in_range(1..=6)?,
        connect_ns: source.int_in_range(0..=2 * MS)?,
        warmup_ns: source.int_in_range(0..=3 * MS)?,
        window_ns: source.int_in_range(1..=10 * MS)?,
        // A budget that is never spent does not end: devices send as long as they live, a rate of 0
        // sends nothing.
        budget: budget
            .filter(|_| life.hold.is_none() && rate != Some(0))
            .map(|budget| u64::from(budget) + 1),
        drain_ns: source.int_in_range(0..=5 * MS)?,
    };
    let retry = *source.choose(&[Retry::Never, Retry::Idempotent, Retry::Any])?;
    Ok((seed, level, faults, retry))
}

/// Panics if a property does not hold.
pub fn hold(bytes: &[u8]) {
    let Ok((seed, level, faults, retry)) = drawn(bytes) else { return };
    let request = Request {
        method: "GET".to_string(),
        path: "/".to_string(),
        host: "sim".to_string(),
        ..Request::default()
    };
    let job = Job {
        connections_max: level.connections_max,
        depth_max: level.depth,
        timeout_ns: 4 * MS,
        connect_timeout_ns: 3 * MS,
        seed,
        manner: Manner { retry_unprocessed: retry, ..Manner::default() },
        ..Job::for_tests(Tape::new(&[request], level.depth).expect("a plain request"))
    };
    // With a budget the level lasts until it is spent, which never happens with a dead server.
    let faults = if level.budget.is_some() {
        Faults { refused: faults.refused / 2, no_port: 0, unheard: 0, ..faults }
    } else {
        faults
    };
    let account = simulate(&job, level, faults);
    for counters in [&account.measured, &account.unmeasured] {
        assert_eq!(counters.sent, counters.completed + counters.failed + counters.unanswered);
        let (status, errors) = (counters.status, counters.errors);
        assert_eq!(counters.completed, status[0] + status[1]);
        assert_eq!(counters.failed, status[2] + status[3] + errors.requests());
    }
    assert_eq!(account.latency.count, account.measured.completed);
    let completed = account.measured.completed + account.unmeasured.completed;
    assert!(completed <= account.witness.good_responses, "a response was invented");
    if let Some(budget) = level.budget {
        // What is left when no connection can be opened for two seconds is unsent.
        assert_eq!(account.measured.sent + account.measured.unsent, budget);
        assert!(account.measured.unsent == 0 || faults.refused > 0, "it can be spent");
    }
}
