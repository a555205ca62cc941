//! Connections without sockets: the order, the times and the counts of responses.

use super::*;
use crate::delay::Delay;
use crate::fault::Faults;
use crate::plan::CloseAfter;
use crate::sys::allocations;
use proptest::prelude::*;

const GET: &str = "GET /simple HTTP/1.1\r\nHost: a\r\n\r\n";

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")
}

fn service() -> Service {
    Service {
        delay: Delay::None,
        start_ns: 0,
        faults: Faults::default(),
        seed: 1,
        burn_ns: 0,
        close: CloseAfter { responses: u64::MAX, notice: Notice::Said, ending: Ending::Orderly },
        pace: None,
    }
}

/// A connection with everything around it.
struct Bench {
    connection: Connection,
    clerk: Clerk,
    record: Record,
    out: Vec<u8>,
}

impl Bench {
    fn new(service: Service) -> Self {
        let random = Random::new(service.seed, 0);
        let clerk =
            Clerk { service, memo: Memo::default(), random, arrivals: None, capacity: None };
        let out = Vec::with_capacity(OUT_BYTES + 1024);
        Self { connection: Connection::default(), clerk, record: Record::default(), out }
    }

    fn receive(&mut self, text: &str, arrival_ns: u64) {
        let (clerk, record) = (&mut self.clerk, &mut self.record);
        self.connection.receive(text.as_bytes(), arrival_ns, clerk, record);
    }

    /// Everything that goes out at `now_ns`, in sends of at most `most` bytes.
    fn send(&mut self, now_ns: u64, most: usize) -> String {
        let mut wire = Vec::new();
        loop {
            self.out.clear();
            let span = self.connection.write_due(now_ns, &mut self.out);
            if let Some(span) = span {
                for index in span.from..span.until.min(span.from + most as u64) {
                    self.out.push(crate::response::PATTERN[index as usize % 64]);
                }
            }
            let count = self.out.len().min(most);
            if count == 0 {
                return String::from_utf8(wire).unwrap();
            }
            wire.extend_from_slice(&self.out[..count]);
            self.connection.advance(count as u64, now_ns, &mut self.record);
        }
    }
}

fn statuses(wire: &str) -> Vec<&str> {
    wire.match_indices("HTTP/1.1 ").map(|(at, _)| &wire[at + 9..at + 12]).collect()
}

#[test]
fn a_pipeline_is_answered_with_one_send_and_one_entry() {
    let mut bench = Bench::new(service());
    bench.receive(&GET.repeat(1_000), 5);
    assert_eq!(bench.connection.queue.len(), 1);
    assert_eq!(bench.connection.unanswered(), 1_000);
    bench.connection.write_due(5, &mut bench.out);
    assert_eq!(bench.out, crate::prebuilt::simple(Persistence::Keep).repeat(1_000));
    let bytes = bench.out.len() as u64;
    bench.connection.advance(bytes, 9, &mut bench.record);
    assert_eq!((bench.record.requests_served, bench.record.responses_bytes), (1_000, bytes));
    assert_eq!(bench.connection.next(), Next::Input);
}

#[test]
fn responses_keep_the_order_of_their_requests() {
    let mut bench = Bench::new(service());
    let codes = ["201", "500", "200", "404", "200", "503"];
    let wanted: Vec<String> = codes.iter().map(|code| get(&format!("/status/{code}"))).collect();
    bench.receive(&wanted.concat(), 1);
    let wire = bench.send(1, 7);
    assert_eq!(statuses(&wire), codes);
}

#[test]
fn nothing_goes_out_before_it_is_due_and_the_front_holds_up_the_rest() {
    let mut bench = Bench::new(Service { delay: Delay::Fixed { ns: 100 }, ..service() });
    bench.receive(GET, 10);
    bench.receive(&get("/healthz"), 20);
    assert_eq!(bench.connection.next(), Next::At(110));
    assert_eq!(bench.send(109, 4096), "");
    let wire = bench.send(110, 4096);
    assert!(wire.ends_with("ok"), "health is not delayed, but it waits for its turn");
    assert_eq!(bench.record.requests_served, 2);
}

#[test]
fn a_send_counts_only_responses_that_are_out_whole() {
    let mut bench = Bench::new(service());
    bench.receive(&GET.repeat(3), 1);
    let bytes = crate::prebuilt::simple(Persistence::Keep).len() as u64;
    bench.connection.advance(2 * bytes - 1, 2, &mut bench.record);
    assert_eq!((bench.record.requests_served, bench.connection.unanswered()), (1, 2));
    bench.connection.advance(1, 3, &mut bench.record);
    assert_eq!((bench.record.requests_served, bench.connection.unanswered()), (2, 1));
    assert_eq!(bench.send(4, 4096).len() as u64, bytes);
}

#[test]
fn the_last_response_has_close_and_later_requests_are_dropped() {
    let close = |notice| CloseAfter { responses: 2, notice, ending: Ending::Orderly };
    for (notice, said) in [(Notice::Said, 1), (Notice::Silent, 0)] {
        let mut bench = Bench::new(Service { close: close(notice), ..service() });
        bench.receive(&GET.repeat(3), 1);
        let wire = bench.send(1, 4096);
        assert_eq!(statuses(&wire).len(), 2);
        assert_eq!(wire.matches("Connection: close").count(), said);
        assert_eq!(bench.connection.next(), Next::End(Ending::Orderly, Leftover::Likely));
    }
}

#[test]
fn refusals_follow_the_responses_before_them() {
    let mut bench = Bench::new(service());
    bench.receive(&format!("{GET}nonsense\r\n\r\n{GET}"), 1);
    assert_eq!(statuses(&bench.send(1, 4096)), ["200", "400"]);
    assert_eq!((bench.record.requests_served, bench.record.requests_refused), (1, 1));
    assert!(!bench.connection.wants_input());
}

#[test]
fn interim_responses_are_not_counted() {
    let mut bench = Bench::new(service());
    let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    bench.receive(&format!("{GET}{head}"), 1);
    assert_eq!(statuses(&bench.send(1, 4096)), ["200", "100"]);
    bench.receive("ab", 2);
    assert_eq!(statuses(&bench.send(2, 4096)), ["200"]);
    assert_eq!(bench.record.requests_served, 2);
}

#[test]
fn errands_wait_for_what_is_before_them_and_leave_no_trace() {
    let mut bench = Bench::new(service());
    bench.receive(&format!("{GET}{}{GET}", get("/stats")), 1);
    assert_eq!(statuses(&bench.send(1, 4096)), ["200"]);
    assert_eq!(bench.connection.next(), Next::Text(Errand::Read));
    bench.connection.give_text("{}".to_owned());
    assert_eq!(statuses(&bench.send(2, 4096)), ["200", "200"]);
    assert_eq!(bench.record.requests_served, 2);
    assert_eq!(bench.record.bytes_received, 2 * GET.len() as u64);
    let simple = crate::prebuilt::simple(Persistence::Keep).len() as u64;
    assert_eq!(bench.record.responses_bytes, 2 * simple);
}

#[test]
fn pieces_keep_their_distance() {
    let pace = Pace { piece_bytes: 50, interval_ns: 100 };
    let mut bench = Bench::new(Service { pace: Some(pace), ..service() });
    bench.receive(GET, 1_000);
    let mut now_ns = 1_000;
    let mut pieces = Vec::new();
    while let Next::At(time_ns) = bench.connection.next() {
        now_ns = now_ns.max(time_ns);
        bench.out.clear();
        bench.connection.write_piece(now_ns, pace, &mut bench.out);
        pieces.push((now_ns, bench.out.len()));
        bench.connection.advance(bench.out.len() as u64, now_ns, &mut bench.record);
        bench.connection.piece_sent(now_ns, pace);
    }
    let whole = crate::prebuilt::simple(Persistence::Keep).len();
    assert_eq!(pieces, [(1_000, 50), (1_100, whole - 50)]);
}

#[test]
fn a_long_queue_stops_the_reading() {
    let mut bench = Bench::new(Service { delay: Delay::Fixed { ns: 100 }, ..service() });
    for arrival_ns in 0..QUEUE_MAX as u64 {
        assert!(bench.connection.wants_input());
        bench.receive(GET, arrival_ns);
    }
    assert!(!bench.connection.wants_input());
    bench.send(100, 4096);
    assert!(bench.connection.wants_input());
}

#[test]
fn no_request_allocates() {
    let mut bench = Bench::new(Service { delay: Delay::Fixed { ns: 10 }, ..service() });
    let requests = [GET.repeat(50), get("/bytes/1000"), get("/chunked/9000"), get("/status/500")];
    let mut turn = |now_ns: u64| {
        for request in &requests {
            bench.receive(request, now_ns);
        }
        bench.out.clear();
        bench.connection.write_due(now_ns + 10, &mut bench.out);
        let bytes = bench.out.len() as u64;
        bench.connection.advance(bytes, now_ns + 10, &mut bench.record);
        assert_eq!(bench.connection.next(), Next::Input);
    };
    turn(1);
    assert_eq!(allocations::during(|| (2..1_000).for_each(&mut turn)), 0);
}

proptest! {
    #[test]
    fn any_way_of_receiving_and_sending_gives_the_same_bytes(
        paths in prop::collection::vec(
            prop::sample::select(vec![
                "/simple", "/simple", "/bytes/5", "/bytes/20000", "/chunked/5000", "/status/404",
            ]),
            1..20,
        ),
        cut in any::<prop::sample::Index>(),
        most in 1_usize..30_000,
    ) {
        let requests: String = paths.iter().map(|path| get(path)).collect();
        let mut whole = Bench::new(service());
        whole.receive(&requests, 1);
        let wire = whole.send(1, usize::MAX >> 1);
        let mut parts = Bench::new(service());
        let (first, second) = requests.split_at(cut.index(requests.len() + 1));
        parts.receive(first, 1);
        let mut pieces = parts.send(1, most);
        parts.receive(second, 2);
        pieces += &parts.send(2, most);
        prop_assert_eq!(&pieces, &wire);
        prop_assert_eq!(whole.record.requests_served, paths.len() as u64);
        prop_assert_eq!(parts.record.requests_served, paths.len() as u64);
        prop_assert_eq!(parts.record.responses_bytes, wire.len() as u64);
    }

    #[test]
    fn no_bytes_make_it_panic(pieces in prop::collection::vec(any::<Vec<u8>>(), 0..5)) {
        let mut bench = Bench::new(service());
        for piece in &pieces {
            bench.connection.receive(piece, 1, &mut bench.clerk, &mut bench.record);
        }
        bench.send(1, 100);
    }
}
