//! The driver when it is dropped, when it closes connections, and when the kernel is busy.

use super::*;
use model::load::{DriverKind, Request};
use model::route::Route;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

/// A driver with this many connections to a listener, if this kernel supports it.
fn driver(listener: &TcpListener, slots: u32) -> Option<Uring> {
    if let Err(why) = check() {
        println!("skipped: {why}");
        return None;
    }
    let request = Request {
        method: "GET".to_string(),
        path: "/".to_string(),
        host: "test".to_string(),
        ..Request::default()
    };
    let job = Job {
        driver: DriverKind::Uring,
        routes: vec![Route::to(listener.local_addr().unwrap())],
        connections_max: slots,
        timeout_ns: 1_000_000_000,
        connect_timeout_ns: 1_000_000_000,
        ..Job::for_tests(Tape::new(&[request], 1).unwrap())
    };
    Some(Uring::new(&job, slots).unwrap())
}

/// The next event; one that has not come after this long will not come.
fn next(driver: &mut Uring) -> Event {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(30) {
        if let Some(event) = driver.next() {
            return event;
        }
        let now_ns = driver.now_ns();
        driver.wait(now_ns, now_ns + 10_000_000);
    }
    panic!("nothing happens");
}

/// Receives are armed on memory that is freed with the driver, so they must have ended by then.
#[test]
fn nothing_is_under_way_when_the_memory_goes() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let Some(mut driver) = driver(&listener, 1) else { return };
    driver.open(0, 0);
    // Only a wait submits the connect.
    assert!(matches!(next(&mut driver), Event::Opened { slot: 0, .. }));
    let (mut peer, _) = listener.accept().unwrap();
    // Submits the receive.
    let now_ns = driver.now_ns();
    driver.wait(now_ns, now_ns);
    driver.end_all().unwrap();
    peer.write_all(b"into whose memory?").unwrap();
    let event = next(&mut driver);
    assert!(matches!(event, Event::Ended { slot: 0, end: End::Reset, .. }), "{event:?}");
    driver.end_all().unwrap();
}

/// Opens a slot; returns the peer's end of the connection.
fn opened(driver: &mut Uring, listener: &TcpListener, slot: SlotId) -> TcpStream {
    driver.open(slot, 0);
    let event = next(driver);
    assert!(matches!(event, Event::Opened { slot: of, .. } if of == slot), "{event:?}");
    let peer = listener.accept().unwrap().0;
    // Only ends a hang.
    peer.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    peer
}

/// How this kernel closes sockets, and the way that works on every kernel.
fn removals() -> [Removal; 2] {
    [removal(), Removal::Waits]
}

/// What is sent last must reach the peer of the closed connection before its end, also when its
/// place in the table is given to the next one before anything was submitted.
#[test]
fn a_farewell_goes_to_the_connection_that_it_ends() {
    for (removal, successors) in removals().into_iter().flat_map(|one| [(one, 0), (one, 1)]) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let Some(mut driver) = driver(&listener, 1) else { return };
        driver.removal = removal;
        let mut peer = opened(&mut driver, &listener, 0);
        driver.outbox(0).extend_from_slice(b"farewell");
        driver.farewell(0);
        driver.close(0);
        let _kept: Vec<_> = (0..successors).map(|_| opened(&mut driver, &listener, 0)).collect();
        turns(&mut driver);
        let mut heard = Vec::new();
        peer.read_to_end(&mut heard).unwrap();
        assert_eq!(heard, b"farewell", "{removal:?}, {successors} successors");
    }
}

/// A few turns in which nothing is to happen.
fn turns(driver: &mut Uring) {
    for _ in 0..3 {
        let now_ns = driver.now_ns();
        driver.wait(now_ns, now_ns + 1_000_000);
        assert_eq!(driver.next(), None);
    }
}

/// Before Linux 6.13 a socket that was removed from the table stays open until older operations of
/// the ring have ended, on whichever socket they are.
#[test]
fn a_closed_connection_ends_while_an_older_one_is_idle() {
    for removal in removals() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let Some(mut driver) = driver(&listener, 2) else { return };
        driver.removal = removal;
        let mut idle = opened(&mut driver, &listener, 0);
        let replaced = opened(&mut driver, &listener, 1);
        // Submits both receives.
        turns(&mut driver);
        driver.close(1);
        let closed = opened(&mut driver, &listener, 1);
        turns(&mut driver);
        driver.close(1);
        turns(&mut driver);
        for (mut peer, what) in [(replaced, "replaced"), (closed, "closed")] {
            let read = peer.read(&mut [0]);
            assert!(matches!(read, Ok(0)), "{what}, {removal:?}: {read:?}");
        }
        // Nothing else ended.
        idle.write_all(b"x").unwrap();
        let event = next(&mut driver);
        assert!(matches!(event, Event::Received { slot: 0, .. }), "{removal:?}: {event:?}");
    }
}

/// Completions that were taken to make room in the middle of a turn are events of the next one.
#[test]
fn a_wait_does_not_sleep_on_completions_that_were_taken() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let Some(mut driver) = driver(&listener, 1) else { return };
    driver.push(opcode::Nop::new().build().user_data(Operation::Receive.tag(0, 0)));
    driver.hand_over(0);
    driver.make_room();
    assert_eq!(driver.reaped.len(), 1);
    let now_ns = driver.now_ns();
    driver.wait(now_ns, now_ns + 1_000_000_000);
    // A wait of that length arms the timer before it sleeps.
    assert_eq!(driver.armed_until_ns, u64::MAX);
    assert!(matches!(driver.next(), Some(Event::Ended { slot: 0, .. })));
    assert!(driver.next().is_none());
}

/// Since Linux 6.13 one call hands out about twenty. What it leaves has been there since before the
/// turn, and would be stamped as of the next.
#[test]
fn a_wait_takes_all_that_is_there() {
    const SLOTS: u32 = 100;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let Some(mut driver) = driver(&listener, SLOTS) else { return };
    let mut peers = Vec::new();
    for slot in 0..SLOTS {
        driver.open(slot, 0);
        assert!(matches!(next(&mut driver), Event::Opened { .. }));
        peers.push(listener.accept().unwrap().0);
    }
    // On a busy host the kernel may not have delivered all of them before the wait.
    let took_all = (0..100).any(|_| {
        peers.iter_mut().for_each(|peer| peer.write_all(b"x").unwrap());
        std::thread::sleep(Duration::from_millis(5));
        let mut taken = 0;
        let mut first = None;
        while taken < SLOTS {
            let now_ns = driver.now_ns();
            driver.wait(now_ns, now_ns + 10_000_000);
            while let Some(event) = driver.next() {
                let Event::Received { buffer, .. } = event else { panic!("{event:?}") };
                taken += buffer.length;
                driver.release(buffer);
            }
            first = first.or(Some(taken));
        }
        first == Some(SLOTS)
    });
    assert!(took_all, "some were left each time");
}

/// A request may be due then. A wait that ignores it would last a minute.
#[test]
fn coalescing_ends_when_the_wait_is_to_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let Some(mut driver) = driver(&listener, 4) else { return };
    if !driver.ring.params().is_feature_min_timeout() {
        println!("skipped: this kernel cannot coalesce");
        return;
    }
    driver.coalesce_us = 60_000_000;
    driver.open(0, 0);
    let now_ns = driver.now_ns();
    let woken_ns = driver.wait(now_ns, now_ns + 1_000_000);
    assert!(woken_ns - now_ns < 30_000_000_000);
}

/// More completions than the kernel has room for: none is lost, and submitting continues.
#[test]
fn completions_without_room_are_kept() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let Some(mut driver) = driver(&listener, 1) else { return };
    let (tag, count) = (Operation::Receive.tag(0, 0), 3 * COMPLETIONS);
    for at in 0..count {
        // A receive that ended: the driver makes an event of each.
        driver.push(opcode::Nop::new().build().user_data(tag));
        if at == 2 * COMPLETIONS {
            driver.make_room();
            assert!(driver.reaped.len() >= COMPLETIONS as usize, "{}", driver.reaped.len());
        }
    }
    for at in 0..count {
        let event = next(&mut driver);
        assert!(matches!(event, Event::Ended { slot: 0, .. }), "{at} {event:?}");
    }
    assert!(driver.next().is_none());
}

/// The completions of a full wait may be followed by others that are as old.
#[test]
fn what_a_full_wait_left_of_starved_connections_is_as_old_as_their_bytes() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let Some(mut driver) = driver(&listener, 1) else { return };
    driver.backlog = Backlog::new(2, 1);
    let mut since = |took, fed_since_ns, since_ns| {
        (driver.took, driver.fed_since_ns) = (took, fed_since_ns);
        (driver.left_from_before(since_ns), driver.since_ns)
    };
    const NONE: u64 = u64::MAX;
    assert_eq!(since(Took::All, 10, 20), (10, 20), "what starves now was not there before 20");
    assert_eq!(since(Took::Full, 10, 30), (10, 30));
    assert_eq!(since(Took::All, NONE, 40), (10, 10), "this one returns the rest");
    assert_eq!(since(Took::All, NONE, 50), (50, 50));
    assert_eq!(since(Took::Full, NONE, 60), (60, 60));
    assert_eq!(since(Took::All, 60, 70), (60, 60), "left and fed, and as old as each other");
    assert_eq!(since(Took::Full, NONE, 80), (80, 80));
    assert_eq!(since(Took::Full, NONE, 90), (80, 80), "of the first full one");
    assert_eq!(since(Took::All, 80, 100), (80, 90), "fed, and older than what the second one left");
}

/// A receive that found no buffer is started again by the next wait, which returns what has been
/// there since the one before.
#[test]
fn what_found_no_buffer_is_as_old_as_the_wait_before() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let Some(mut driver) = driver(&listener, 1) else { return };
    driver.open(0, 0);
    assert!(matches!(next(&mut driver), Event::Opened { slot: 0, .. }));
    let (mut peer, _) = listener.accept().unwrap();
    driver.left_from_before(10);
    let mut receive = |driver: &mut Uring| {
        peer.write_all(b"x").unwrap();
        let event = next(driver);
        let Event::Received { buffer, .. } = event else { panic!("{event:?}") };
        buffer
    };
    let held: Vec<Buffer> = (0..driver.buffers.count).map(|_| receive(&mut driver)).collect();
    peer.write_all(b"x").unwrap();
    let wait = |driver: &mut Uring| {
        let now_ns = driver.now_ns();
        driver.wait(now_ns, now_ns + 10_000_000);
    };
    while driver.starved.is_empty() {
        wait(&mut driver);
        driver.left_from_before(10);
        assert!(driver.next().is_none());
    }
    held.into_iter().for_each(|buffer| driver.release(buffer));
    wait(&mut driver);
    assert_eq!(driver.left_from_before(20), 10);
    assert!(matches!(next(&mut driver), Event::Received { slot: 0, .. }));
    wait(&mut driver);
    assert_eq!(driver.left_from_before(30), 30);
}

#[test]
fn scarce_memory_is_waited_for_and_other_errors_are_not() {
    let mut left = [libc::ENOMEM, libc::ENOMEM].into_iter();
    let made = while_scarce(|| left.next().map_or(Ok(()), |code| Err(from_code(code))));
    assert!(made.is_ok(), "{made:?}");
    let mut tries = 0;
    let refused = while_scarce(|| {
        tries += 1;
        Err::<(), _>(from_code(libc::EPERM))
    });
    assert_eq!((refused.unwrap_err().raw_os_error(), tries), (Some(libc::EPERM), 1));
}

fn from_code(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}
