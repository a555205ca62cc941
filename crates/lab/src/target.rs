//! Whether the target accepts connections.

use model::route::Address;
use std::io;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// No address accepts a connection.
#[derive(Debug, thiserror::Error)]
#[error("{address}: {error}")]
pub struct Unreachable {
    /// The address tried last.
    pub address: Address,
    /// The system's reason.
    pub error: io::Error,
}

/// The addresses that accept a connection, and those that do not, with the reason. An error if none
/// does.
pub fn reach(
    addresses: &[Address],
    timeout: Duration,
) -> Result<(Vec<Address>, Vec<Unreachable>), Unreachable> {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for address in addresses {
        let address = address.clone();
        let connected = match &address {
            Address::Tcp(tcp) => TcpStream::connect_timeout(tcp, timeout).map(drop),
            Address::Unix(path) => UnixStream::connect(path).map(drop),
        };
        match connected {
            Ok(()) => good.push(address),
            Err(error) => bad.push(Unreachable { address, error }),
        }
    }
    match bad.pop() {
        Some(last) if good.is_empty() => Err(last),
        last => {
            bad.extend(last);
            Ok((good, bad))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_refuse_are_left_out() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let open = Address::Tcp(listener.local_addr().unwrap());
        let closed: Address = "127.0.0.1:1".parse().unwrap();
        let (good, bad) = reach(&[closed.clone(), open.clone()], Duration::from_secs(1)).unwrap();
        assert_eq!((good, bad.len()), (vec![open], 1));
        let error = reach(&[closed], Duration::from_secs(1)).unwrap_err();
        assert_eq!(error.error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
