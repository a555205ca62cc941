//! Events that reach subscribers, and events that do not: the report agrees with what the server
//! did.

use crate::harness::probing::Probe;
use crate::harness::{Folder, Server, code_of, count, measure, run, shown, turn};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use wire::http2::{Asked, Ends, Form, Peer, Said, say};
use wire::session::{Ending, Reply};

/// How the server of a test differs from a good one.
#[derive(Clone)]
struct Habit {
    /// Every event whose number is a multiple of this is left out; 0 for none.
    leaves_out: u64,
    /// Events happen only in this range of milliseconds after the first stream; before and after
    /// it, posts get no number.
    between_ms: Range<u128>,
    /// Nanoseconds added to the instant of each event.
    ahead_ns: i64,
    /// Events are words without numbers.
    is_plain: bool,
    /// Streams are refused.
    refuses: bool,
    /// A stream ends after this many events; 0 for never.
    ends_after: u64,
    /// The end of each line; below, the size of chunks in bytes, or 0 for none.
    line_end: &'static str,
    chunk_bytes: usize,
    /// It speaks HTTP/2; then its chunks are frames.
    is_http2: bool,
}

const GOOD: Habit = Habit {
    leaves_out: 0,
    between_ms: 0..u128::MAX,
    ahead_ns: 0,
    is_plain: false,
    refuses: false,
    ends_after: 0,
    line_end: "\n",
    chunk_bytes: 0,
    is_http2: false,
};

/// All events happen well inside the window that [`inside`] measures, so the server knows exactly
/// which events belong to it.
const INSIDE: Habit = Habit { between_ms: 2500..4500, ..GOOD };

/// Subscribers and numbers by post.
#[derive(Default)]
struct Hub {
    /// When the first stream was requested.
    first: Option<Instant>,
    streams: BTreeMap<String, (u64, Vec<(TcpStream, u64)>)>,
}

impl Hub {
    /// Sends an event to every subscriber of a post; returns its number.
    fn like(&mut self, post: &str, habit: &Habit) -> u64 {
        let passed_ms = self.first.map(|first| first.elapsed().as_millis());
        let (last_seq, listeners) = self.streams.entry(post.to_string()).or_default();
        if !passed_ms.is_some_and(|passed_ms| habit.between_ms.contains(&passed_ms)) {
            return *last_seq;
        }
        *last_seq += 1;
        let seq = *last_seq;
        if habit.leaves_out > 0 && seq.is_multiple_of(habit.leaves_out) {
            return seq;
        }
        let at_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        let at_ns = at_ns.saturating_add_signed(habit.ahead_ns);
        let event = match habit.is_plain {
            true => ": ping\ndata: like\n\n".to_string(),
            false => format!(
                "id: {seq}\ndata: {{\"post\":\"{post}\",\"likes\":{seq},\"seq\":{seq},\
                 \"at_ns\":{at_ns}}}\n\n"
            ),
        };
        let bytes = framed(event.replace('\n', habit.line_end).as_bytes(), habit);
        listeners.retain_mut(|(stream, sent)| {
            *sent += 1;
            let is_last = *sent == habit.ends_after;
            // The next event happens before a subscriber whose stream ended can reconnect.
            *last_seq = if is_last { seq + 1 } else { *last_seq };
            let is_sent = stream.write_all(&bytes).is_ok();
            if is_last {
                // Another thread holds the socket too, so dropping it is not enough.
                let _ = stream.shutdown(Shutdown::Both);
            }
            is_sent && !is_last
        });
        seq
    }
}

/// The bytes of a stream, in chunks if the response is chunked.
fn framed(bytes: &[u8], habit: &Habit) -> Vec<u8> {
    if habit.chunk_bytes == 0 {
        return bytes.to_vec();
    }
    let chunk = |body: &[u8]| {
        if habit.is_http2 {
            return words(&[Said::Body { stream: 1, body, ends: Ends::No, padding: None }]);
        }
        [format!("{:x}\r\n", body.len()).as_bytes(), body, b"\r\n"].concat()
    };
    bytes.chunks(habit.chunk_bytes).flat_map(chunk).collect()
}

/// A server with a habit: its URL, and its state. It runs until the process ends.
fn serve(habit: Habit) -> (String, Arc<Mutex<Hub>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let hub = Arc::new(Mutex::new(Hub::default()));
    let served = Arc::clone(&hub);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (hub, habit) = (Arc::clone(&served), habit.clone());
            stream.set_nodelay(true).unwrap();
            thread::spawn(move || match habit.is_http2 {
                true => respond_http2(stream, &hub, &habit),
                false => respond(stream, &hub, &habit),
            });
        }
    });
    (url, hub)
}

fn respond(mut stream: TcpStream, hub: &Mutex<Hub>, habit: &Habit) {
    let (mut input, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = stream.read(&mut piece) {
        input.extend_from_slice(&piece[..length]);
        while let Some(end) = input.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(input.drain(..end + 4).collect()).unwrap();
            let mut words = head.split(' ');
            let (method, path) = (words.next().unwrap(), words.next().unwrap());
            let post = path.rsplit('/').next().unwrap().to_string();
            if method == "GET" {
                assert!(path.starts_with("/events/"), "{path}");
                subscribe(&mut stream, hub, habit, post);
                continue;
            }
            assert!(path.starts_with("/like/"), "{path}");
            let likes = hub.lock().unwrap().like(&post, habit);
            let body = format!("{{\"likes\":{likes}}}");
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            if stream.write_all((head + &body).as_bytes()).is_err() {
                return;
            }
        }
    }
}

fn words(said: &[Said<'_>]) -> Vec<u8> {
    let mut words = Vec::new();
    said.iter().for_each(|said| say(said, &mut words));
    words
}

/// The same in HTTP/2. Each read has one request at most, whose path is one of these as the client
/// encodes it.
fn respond_http2(mut stream: TcpStream, hub: &Mutex<Hub>, habit: &Habit) {
    const PATHS: [&str; 4] = ["/events/1", "/events/2", "/like/1", "/like/2"];
    let encoded = |path| {
        let (fields, ends, form) = (&[(":path", path)][..], Ends::Yes, Form::Whole);
        words(&[Said::Head { stream: 1, status: None, fields, ends, form }])[9..].to_vec()
    };
    let paths = PATHS.map(|path| (path, encoded(path)));
    let (mut peer, mut piece) = (Peer::default(), [0; 4096]);
    while let Ok(length @ 1..) = stream.read(&mut piece) {
        let mut asked = Vec::new();
        peer.take(&piece[..length], |one| asked.push(one));
        let has = |bytes: &[u8]| piece[..length].windows(bytes.len()).any(|part| part == bytes);
        for one in asked {
            let answer = match one {
                Asked::Settings { .. } => {
                    words(&[Said::Settings { streams: None, window: None }, Said::Acknowledged])
                }
                Asked::Head { stream: number, .. } => {
                    let (path, _) = paths.iter().find(|(_, bytes)| has(bytes)).expect("a path");
                    let post = path.rsplit('/').next().unwrap().to_string();
                    if path.starts_with("/events/") {
                        subscribe(&mut stream, hub, habit, post);
                        continue;
                    }
                    let body = format!("{{\"likes\":{}}}", hub.lock().unwrap().like(&post, habit));
                    let (reason, ending, body) = ("", Ending::Length, body.as_bytes());
                    let reply = Reply { status: 200, reason, fields: &[], ending, body };
                    let mut answer = Vec::new();
                    wire::http2::respond(number, &reply, &mut answer);
                    answer
                }
                _ => continue,
            };
            if stream.write_all(&answer).is_err() {
                return;
            }
        }
    }
}

fn subscribe(stream: &mut TcpStream, hub: &Mutex<Hub>, habit: &Habit, post: String) {
    if habit.refuses {
        let refusal = b"HTTP/1.1 503 Full\r\nContent-Length: 9\r\n\r\ndata: x\n\n";
        return drop(stream.write_all(refusal));
    }
    let framing = if habit.chunk_bytes > 0 { "Transfer-Encoding: chunked\r\n" } else { "" };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{framing}\r\n");
    let fields = &[("content-type", "text/event-stream")][..];
    let (status, ends, form) = (Some(200), Ends::No, Form::Whole);
    let head = match habit.is_http2 {
        true => words(&[Said::Head { stream: 1, status, fields, ends, form }]),
        false => head.into_bytes(),
    };
    stream.write_all(&head).unwrap();
    let mut hub = hub.lock().unwrap();
    hub.first.get_or_insert_with(Instant::now);
    hub.streams.entry(post).or_default().1.push((stream.try_clone().unwrap(), 0));
}

/// The events of the first point.
fn events(record: &Value) -> &Value {
    &record["points"][0]["events"]
}

fn fanout(habit: Habit, more: &[&str]) -> (i32, Value) {
    let (url, _) = serve(habit);
    let command = ["fanout", &url, "-c", "8", "--streams", "2", "--warmup", "300ms", "-d", "1s"];
    let rate = ["--write-rate", "200", "--writers", "2"];
    measure(&[&command[..], &rate, more].concat())
}

/// A fan-out in a window that starts before and ends after all events; also returns the highest
/// number of each post.
fn inside(habit: Habit, more: &[&str]) -> (i32, Value, Vec<u64>) {
    let (url, hub) = serve(habit);
    let command = ["fanout", &url, "-c", "8", "--streams", "2", "--warmup", "300ms", "-d", "8s"];
    let rate = ["--write-rate", "200", "--writers", "2"];
    let (code, record) = measure(&[&command[..], &rate, more].concat());
    let numbers = hub.lock().unwrap().streams.values().map(|(last_seq, _)| *last_seq).collect();
    (code, record, numbers)
}

/// Every event that was meant for a subscriber arrived or is missing; returns both counts.
fn conserved(record: &Value) -> (u64, u64) {
    let of = |name: &str| count(&events(record)["delivery"], &format!("/{name}"));
    let (meant, missing) = (of("meant"), of("missing"));
    assert_eq!(meant, of("received") + of("late") + missing, "{}", events(record));
    (meant, missing)
}

#[test]
fn every_event_of_a_good_server_arrives() {
    let _turn = turn();
    // Events that are two seconds old when they are sent, and events that are as new as possible.
    let aged = Habit { ahead_ns: -2_000_000_000, ..INSIDE };
    let habits = [
        ("uring", aged),
        ("epoll", Habit { line_end: "\r\n", chunk_bytes: 7, ..INSIDE }),
        ("uring", Habit { line_end: "\r", chunk_bytes: 1000, ..INSIDE }),
        ("uring", Habit { is_http2: true, chunk_bytes: 1000, ..INSIDE }),
        ("epoll", Habit { is_http2: true, chunk_bytes: 7, ..INSIDE }),
    ];
    for (driver, habit) in habits {
        let age_ns = habit.ahead_ns.unsigned_abs();
        let http = if habit.is_http2 { "2" } else { "1" };
        let (code, record, numbers) = inside(habit, &["--driver", driver, "--http", http]);
        assert_eq!(code, code_of(&record), "{}", shown(&record));
        let events = events(&record);
        let (meant, missing) = conserved(&record);
        // Every event of a post goes to its four subscribers.
        let sent: u64 = numbers.iter().map(|number| 4 * number).sum();
        assert!(numbers.len() == 2 && sent > 0, "{driver}: {numbers:?}");
        assert_eq!((meant, missing), (sent, 0), "{driver}: {events}");
        assert_eq!(count(events, "/received"), sent, "{driver}: {events}");
        assert_eq!(events["delivery_share"], 1.0, "{driver}: {events}");
        assert_eq!(count(events, "/subscribers/accepted"), 8);
        assert_eq!(count(events, "/staleness_ns/count"), count(events, "/received"));
        assert_eq!((count(events, "/early"), count(events, "/repeated")), (0, 0));
        // The delivery time of the quickest of hundreds is negligible against its age. The wall
        // clock may be slewed by a millisecond meanwhile.
        let least_ns = count(events, "/staleness_ns/min");
        assert!(least_ns + 1_000_000 >= age_ns, "{driver}: {least_ns} of {age_ns}");
        assert!(least_ns < age_ns + 1_000_000_000, "{driver}: {least_ns} of {age_ns}");
    }
}

/// The probe reports the wall clock of its host. Here that host is this one, so staleness must be
/// the same as by one clock.
#[test]
fn staleness_of_another_host_is_known_by_its_probe() {
    let _turn = turn();
    let folder = Folder::new("staleness");
    let probe = Probe::start(&folder, &[]);
    let age_ns = 2_000_000_000;
    let (url, _) = serve(Habit { ahead_ns: -2_000_000_000, ..GOOD });
    let load = ["fanout", &url, "-c", "2", "--warmup", "200ms", "-d", "1s", "--writers", "1"];
    let flags = [&load[..], &["--write-rate", "100"], &probe.flags()].concat();
    let (_, record) = measure(&flags);
    let events = events(&record);
    assert_eq!(count(events, "/staleness_ns/count"), count(events, "/received"), "{events}");
    let (least_ns, error_ns) =
        (count(events, "/staleness_ns/min"), count(events, "/staleness_error_ns"));
    assert!(error_ns > 0, "clocks of two hosts are never compared exactly: {events}");
    // The wall clock may be slewed by a millisecond meanwhile.
    assert!(least_ns + error_ns + 1_000_000 >= age_ns, "{least_ns} +- {error_ns}");
    assert!(least_ns < age_ns + error_ns + 1_000_000_000, "{least_ns} +- {error_ns}");
    let said = run(&[&flags[..], &["-v"]].concat());
    assert!(said.stdout.contains("clocks of two hosts"), "{}", said.stdout);
}

#[test]
fn one_event_of_ten_left_out_is_nine_tenths_delivered() {
    let _turn = turn();
    for driver in ["uring", "epoll"] {
        let habit = Habit { leaves_out: 10, ..INSIDE };
        let (_, record, numbers) = inside(habit, &["--driver", driver]);
        let (meant, missing) = conserved(&record);
        // An event that is left out at the end is followed by no other, so nothing shows that it
        // was meant.
        let seen = |number: u64| number - u64::from(number.is_multiple_of(10));
        let sent: u64 = numbers.iter().map(|number| 4 * seen(*number)).sum();
        let left_out: u64 = numbers.iter().map(|number| 4 * (seen(*number) / 10)).sum();
        assert!(left_out > 0, "{driver}: {numbers:?}");
        assert_eq!((meant, missing), (sent, left_out), "{driver}: {numbers:?}");
        let share = events(&record)["delivery_share"].as_f64().unwrap();
        assert!((share - (1.0 - left_out as f64 / sent as f64)).abs() < 1e-12, "{share}");
    }
}

#[test]
fn what_is_not_known_is_null_with_a_reason() {
    let _turn = turn();
    let (code, record) = fanout(Habit { is_plain: true, ..GOOD }, &[]);
    assert_eq!(code, code_of(&record), "{}", shown(&record));
    let plain = events(&record);
    assert!(count(plain, "/received") > 0);
    for (what, name) in [("delivery", "seq"), ("staleness", "at_ns")] {
        let why = plain[format!("{what}_absent")].as_str().unwrap();
        assert!(why.contains(name), "{what}: {why}");
    }
    assert!(plain["delivery"].is_null() && plain["delivery_share"].is_null(), "{plain}");
    assert!(plain["staleness_ns"].is_null(), "{plain}");
}

#[test]
fn events_from_the_future_are_counted_and_not_clamped() {
    let _turn = turn();
    let (url, _) = serve(Habit { ahead_ns: 3_600_000_000_000, ..GOOD });
    let command = ["fanout", &url, "-c", "2", "--warmup", "200ms", "-d", "1s", "--writers", "1"];
    let (_, record) = measure(&[&command[..], &["--write-rate", "100"]].concat());
    let early = events(&record);
    assert_eq!(count(early, "/early"), count(early, "/received"), "{early}");
    assert_eq!(count(early, "/staleness_ns/count"), 0, "{early}");
    let said = run(&[&command[..], &["--write-rate", "100", "-v"]].concat());
    assert!(said.stdout.contains("arrived before their creation"), "{}", said.stdout);
}

#[test]
fn streams_that_are_refused_or_end_make_a_smaller_audience() {
    let _turn = turn();
    let (code, record) = fanout(Habit { refuses: true, ..GOOD }, &[]);
    let refused = &events(&record)["subscribers"];
    assert_audience_is_bounded(code, &record, 0.0);
    assert!(count(refused, "/refused") >= 8, "{refused}");
    assert_eq!((count(refused, "/opened"), count(refused, "/accepted")), (8, 0));
    assert_eq!(count(events(&record), "/received"), 0, "a body of 503 holds no events");

    let (code, record) = fanout(Habit { ends_after: 20, ..GOOD }, &[]);
    let ended = &events(&record)["subscribers"];
    assert!(count(ended, "/lost") > 0, "{ended}");
    let stayed = count(ended, "/accepted").saturating_sub(count(ended, "/lost"));
    assert_audience_is_bounded(code, &record, stayed as f64);
    let (_, missing) = conserved(&record);
    assert!(missing > 0, "{}", events(&record));
}

/// The rate is known; there were fewer subscribers than asked for.
fn assert_audience_is_bounded(code: i32, record: &Value, stayed: f64) {
    assert_eq!(code, code_of(record), "{}", shown(record));
    let load = &record["points"][0]["standing"]["load"];
    assert_eq!((load["is"].as_str(), load["low"].as_f64()), (Some("bounded"), Some(stayed)));
}

#[test]
fn nobody_needs_to_write_when_events_come_by_themselves() {
    let _turn = turn();
    let server = Server::start("target-stage", &["--thread-per-connection"]);
    let url = server.url("");
    for driver in ["uring", "epoll"] {
        let command = ["fanout", &url, "-c", "1", "--writers", "0", "-d", "3s", "--warmup", "0"];
        let (code, record) = measure(&[&command[..], &["--driver", driver]].concat());
        assert_eq!(code, code_of(&record), "{}", shown(&record));
        let (meant, missing) = conserved(&record);
        assert!(meant > 0);
        assert_eq!(missing, 0, "{driver}: {}", events(&record));
        assert_eq!(count(&record["points"][0]["requests"], "/sent"), 0);
        // Every tenth of a second has its events, up to the last report of the workers.
        let tenths = record["points"][0]["per_100ms"].as_array().unwrap();
        let booked: Vec<u64> = tenths.iter().filter_map(Value::as_u64).collect();
        assert!(booked.len() >= 10, "{driver}: {booked:?}");
        assert_eq!(booked.iter().sum::<u64>(), count(events(&record), "/received"), "{driver}");
        let rate = events(&record)["rate"].as_f64().unwrap();
        println!("{driver}: {rate:.0} events/s");
    }
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let url = "http://127.0.0.1:1";
    let cases: &[(&[&str], &str)] = &[
        (&["--driver", "null"], "--driver"),
        (&["--writers", "0", "--write-rate", "5"], "--write-rate"),
        (&["--streams", "2", "--events", "/stream"], "--events /stream"),
        (&["--streams", "2", "--write-path", "/like"], "--write-path /like"),
        (&["--events", "stream"], "/events/{stream}"),
        (&["--streams", "0"], "--streams"),
        (&["--writers", "x"], "--writers"),
        (&["--expand", "5"], "-i"),
        (&["--confirm"], "--confirm"),
    ];
    for (arguments, word) in cases {
        let said = run(&[&["fanout", url], *arguments].concat());
        assert_eq!(said.code, 2, "{arguments:?}: {}", said.stderr);
        assert_eq!(said.stderr.lines().count(), 1, "{arguments:?}: {}", said.stderr);
        assert!(said.stderr.contains(word), "{arguments:?}: {}", said.stderr);
    }
}
