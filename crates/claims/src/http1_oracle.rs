//! Response heads mean what an independent parser says they mean.

use wire::Shapes;
use wire::http1::Http1;
use wire::response::{Expect, ProtocolError};
use wire::session::Session;

/// The result of our session for one head, given whole.
fn ours(head: &[u8]) -> Result<Option<u16>, ProtocolError> {
    let mut rest = head;
    let response =
        Http1::new().receive(&mut rest, Expect::HeadOnly, &mut Shapes::new(), &mut ())?;
    Ok(response.map(|response| response.status))
}

/// Panics if a property does not hold.
pub fn hold(input: &[u8]) {
    let mut headers = [httparse::EMPTY_HEADER; 128];
    let mut theirs = httparse::Response::new(&mut headers);
    match theirs.parse(input) {
        Ok(httparse::Status::Complete(length)) => {
            let status = theirs.code.unwrap_or(0);
            match ours(&input[..length]) {
                Ok(Some(code)) => assert_eq!(code, status),
                Ok(None) => assert!((100..200).contains(&status), "unfinished: {status}"),
                Err(ProtocolError::NotHttp | ProtocolError::BadHeader) => {
                    panic!("refused what is well formed")
                }
                // Rules beyond syntax: status range, lengths.
                Err(_) => {}
            }
        }
        Ok(httparse::Status::Partial) => {
            assert!(matches!(ours(input), Ok(None) | Err(ProtocolError::BadLength)));
        }
        Err(httparse::Error::TooManyHeaders) => {}
        Err(_) => assert!(!matches!(ours(input), Ok(Some(_))), "accepted what is malformed"),
    }
}
