//! Faults occur when requested, and only then.

use crate::client::get;
use crate::sink::{Sink, number};
use std::io::ErrorKind;

#[test]
fn connections_close_after_their_responses() {
    let sink = Sink::start("--close-after 3");
    let mut client = sink.connect();
    assert!(!client.get("/simple").says_close());
    assert!(!client.get("/bytes/5").says_close());
    assert!(client.get("/simple").says_close());
    assert_eq!(client.rest().unwrap(), b"");
}

#[test]
fn a_pipeline_beyond_the_last_response_is_dropped_without_harm() {
    let sink = Sink::start("--close-after 3");
    let mut client = sink.connect();
    client.send(&get("/simple").repeat(10));
    for index in 0..3 {
        assert_eq!(client.response().says_close(), index == 2);
    }
    assert_eq!(client.rest().unwrap(), b"", "the end is orderly");
    assert_eq!(number(&sink.stop(), "requests_served"), 3);
}

#[test]
fn connections_close_silently() {
    let sink = Sink::start("--close-after 2 --close-silently");
    let mut client = sink.connect();
    assert!(!client.get("/simple").says_close());
    assert!(!client.get("/simple").says_close());
    assert_eq!(client.rest().unwrap(), b"");
}

#[test]
fn connections_close_with_a_reset() {
    let sink = Sink::start("--close-after 1 --close-silently --reset");
    let mut client = sink.connect();
    // The reset can overtake the response; it arrives in either case.
    client.send(&get("/simple"));
    let end = client.rest().unwrap_err();
    assert_eq!(end.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn some_responses_have_another_status() {
    let sink = Sink::start("--threads 1 --status 500:30% --status 404:20%");
    let mut client = sink.connect();
    let statuses: Vec<u16> = (0..1_000).map(|_| client.get("/simple").status).collect();
    let share = |wanted| statuses.iter().filter(|&&status| status == wanted).count();
    assert!(share(500).abs_diff(300) < 80, "{}", share(500));
    assert!(share(404).abs_diff(200) < 80, "{}", share(404));
    assert_eq!(share(200) + share(500) + share(404), 1_000);
    assert!((0..50).all(|_| client.get("/healthz").status == 200), "health is not spoilt");
}

#[test]
fn some_responses_end_in_the_middle() {
    let sink = Sink::start("--threads 1 --truncate 100%");
    for path in ["/simple", "/bytes/100000", "/chunked/100000"] {
        let mut client = sink.connect();
        client.send(&get(path));
        let error = client.try_respond().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{path}");
    }
    let mut client = sink.connect();
    client.send(&get("/bytes/1000"));
    assert_eq!(client.head().status, 200);
    assert_eq!(client.rest().unwrap().len(), 500);
}

#[test]
fn some_responses_are_garbage() {
    let sink = Sink::start("--threads 1 --garbage 20%");
    let (mut good, mut garbage) = (0, 0);
    for _ in 0..300 {
        let mut client = sink.connect();
        client.send(&get("/simple"));
        match client.try_respond() {
            Ok(response) => good += u32::from(response.status == 200),
            Err(error) => garbage += u32::from(error.kind() == ErrorKind::InvalidData),
        }
    }
    assert_eq!(good + garbage, 300);
    assert!((30..100).contains(&garbage), "{garbage}");
}
