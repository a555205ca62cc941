//! `/proc/net/tcp` and `tcp6`: sockets where sock_diag does not respond.
//!
//! A line per socket, listening ones first: addresses and ports in hexadecimal, an address as
//! 32-bit words in the order of the machine; state; both queues; a timer; user; inode. For a
//! listener the receive queue is the connections waiting to be accepted. Kernel:
//! `net/ipv4/tcp_ipv4.c`, `get_tcp4_sock`, `get_openreq4`, `get_timewait4_sock`.
//!
//! Caveats. The backlog, the cookie, times, windows and what limits a connection are missing. The
//! kernel walks its whole table for each read.

use crate::kernel_file::{is_gone, unreadable};
use crate::scan::{self, ParseError};
use crate::socket::Socket;
use model::facts::Unreadable;
use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// Bytes read at once; a line is 150 of them.
const PIECE_BYTES: usize = 64 << 10;
/// Milliseconds of one unit of the timer (`USER_HZ`, `include/linux/jiffies.h`).
const TIMER_MS: u32 = 10;

/// What to do with a socket that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// Read on.
    More,
    /// That was enough.
    Enough,
}

/// Parses one line; nothing for the header.
pub fn parse(line: &[u8]) -> Result<Option<Socket>, ParseError> {
    let error = || ParseError::new("a line of /proc/net/tcp", line);
    let mut words = scan::words(line);
    let number = words.next().and_then(|word| word.strip_suffix(b":"));
    if number.is_none() && scan::words(line).next() == Some(b"sl") {
        return Ok(None);
    }
    number.and_then(scan::number).ok_or_else(error)?;
    let mut end = || words.next().and_then(parse_end).ok_or_else(error);
    let ((local, local_port), (remote, remote_port)) = (end()?, end()?);
    let state = words.next().and_then(scan::hex32).ok_or_else(error)?;
    let (send_queue, receive_queue) = words.next().and_then(parse_pair).ok_or_else(error)?;
    let (_, timer) = words.next().and_then(parse_pair).ok_or_else(error)?;
    let uid = words.nth(1).and_then(scan::number).ok_or_else(error)?;
    let inode = words.nth(1).and_then(scan::number).ok_or_else(error)?;
    Ok(Some(Socket {
        cookie: 0,
        local,
        local_port,
        remote,
        remote_port,
        state: u8::try_from(state).map_err(|_| error())?,
        expires_ms: timer.saturating_mul(TIMER_MS),
        receive_queue,
        send_queue,
        uid: u32::try_from(uid).map_err(|_| error())?,
        inode: inode as u32,
        v6_only: None,
        tcp: None,
    }))
}

/// An address and a port.
fn parse_end(word: &[u8]) -> Option<(IpAddr, u16)> {
    let colon = word.iter().position(|&byte| byte == b':')?;
    let port = u16::try_from(scan::hex32(&word[colon + 1..])?).ok()?;
    let words = word[..colon].chunks(8).map(|word| scan::hex32(word).filter(|_| word.len() == 8));
    let words = words.collect::<Option<Vec<u32>>>()?;
    let ip = match words[..] {
        [v4] => IpAddr::V4(Ipv4Addr::from(v4.to_ne_bytes())),
        [a, b, c, d] => {
            let mut bytes = [0; 16];
            for (place, word) in bytes.chunks_exact_mut(4).zip([a, b, c, d]) {
                place.copy_from_slice(&word.to_ne_bytes());
            }
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some((ip, port))
}

fn parse_pair(word: &[u8]) -> Option<(u32, u32)> {
    let colon = word.iter().position(|&byte| byte == b':')?;
    Some((scan::hex32(&word[..colon])?, scan::hex32(&word[colon + 1..])?))
}

/// Passes the sockets of a file to `on` one by one, until it has enough. A family that is switched
/// off has no file and no sockets.
pub(crate) fn each(path: &Path, mut on: impl FnMut(Socket) -> Then) -> Result<(), Unreadable> {
    let failed = |why: &dyn std::fmt::Display| unreadable(path, why);
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(why) if is_gone(&why) && path.ends_with("tcp6") => return Ok(()),
        Err(why) => return Err(failed(&why)),
    };
    let mut piece = vec![0; PIECE_BYTES];
    let mut filled = 0;
    loop {
        let count = match file.read(&mut piece[filled..]) {
            Ok(count) => count,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
            Err(why) => return Err(failed(&why)),
        };
        filled += count;
        let whole =
            piece[..filled].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        for line in scan::lines(&piece[..whole]) {
            if let Some(socket) = parse(line).map_err(|why| failed(&why))?
                && on(socket) == Then::Enough
            {
                return Ok(());
            }
        }
        if count == 0 {
            return Ok(());
        }
        if whole == 0 && filled == piece.len() {
            return Err(failed(&"a line that does not end"));
        }
        piece.copy_within(whole..filled, 0);
        filled -= whole;
    }
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;
    use crate::testing::Folder;

    const V4: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000005 00:00000000 00000000 100 0 15303 1 0 100
   1: 0100007F:1F90 0200000A:C350 01 00000010:00000020 01:00000014 00000000 1000 0 15304 2 0 20
   2: 0100007F:1F90 0200000A:C351 06 00000000:00000000 03:00001770 00000000 0 0 0 3 0
";

    fn read(name: &str, file: &str, text: &str) -> Result<Vec<Socket>, Unreadable> {
        let folder = Folder::new(name);
        folder.write(file, text);
        let mut sockets = Vec::new();
        each(&folder.path().join(file), |socket| {
            sockets.push(socket);
            Then::More
        })?;
        Ok(sockets)
    }

    #[test]
    fn a_listener_a_connection_and_one_that_waits_to_end() {
        let sockets = read("net-tcp", "tcp", V4).unwrap();
        let [listener, open, waiting] = &sockets[..] else { panic!("{sockets:?}") };
        assert_eq!((listener.local, listener.local_port), (Ipv4Addr::LOCALHOST.into(), 8080));
        assert_eq!((listener.state, listener.receive_queue, listener.inode), (10, 5, 15303));
        assert_eq!((open.remote, open.remote_port), (Ipv4Addr::new(10, 0, 0, 2).into(), 50_000));
        assert_eq!((open.send_queue, open.receive_queue, open.uid), (16, 32, 1000));
        assert_eq!(waiting.time_wait_left_ns(), Some(60_000_000_000));
    }

    #[test]
    fn addresses_of_ipv6() {
        let line = "   0: 00000000000000000000000001000000:0050 \
                    00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 \
                    00000000     0        0 7 1 0000000000000000 100 0 0 10 0\n";
        let sockets = read("net-tcp6", "tcp6", line).unwrap();
        assert_eq!((sockets[0].local, sockets[0].local_port), (Ipv6Addr::LOCALHOST.into(), 80));
        let mapped = parse_end(b"0000000000000000FFFF00000100007F:0050").unwrap().0;
        assert_eq!(mapped.to_canonical(), IpAddr::V4(Ipv4Addr::LOCALHOST));
    }

    #[test]
    fn a_file_longer_than_a_piece_is_read_whole_or_until_there_is_enough() {
        let line = V4.lines().nth(1).unwrap();
        let text = format!("{line}\n").repeat(2000);
        assert_eq!(read("net-tcp-long", "tcp", &text).unwrap().len(), 2000);
        let folder = Folder::new("net-tcp-enough");
        folder.write("tcp", &text);
        let mut left = 1500;
        each(&folder.path().join("tcp"), |_| {
            left -= 1;
            if left == 0 { Then::Enough } else { Then::More }
        })
        .unwrap();
        assert_eq!(left, 0);
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["x\n", "0: 1\n", "0: 0100007F:1F90 0:0\n", &V4[120..300]] {
            assert!(read("net-tcp-wrong", "tcp", text).is_err(), "{text}");
        }
        let folder = Folder::new("net-tcp-none");
        let none = |file: &str| each(&folder.path().join(file), |_| Then::More);
        assert!(none("tcp").is_err() && none("tcp6").is_ok(), "IPv6 is switched off");
    }
}
