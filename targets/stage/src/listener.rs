//! Listening sockets, and the acceptor that takes connections from them.

use crate::options::{Door, Writing};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::sockopt;
use rustix::net::{AddressFamily, SocketType, bind, listen, socket};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Opens the sockets. Returns the address with the chosen port.
pub fn open(door: &Door) -> io::Result<(SocketAddr, Vec<TcpListener>)> {
    let mut address = door.address;
    let mut listeners = Vec::new();
    for _ in 0..door.listeners {
        let one = open_one(address, door)?;
        address = one.local_addr()?;
        listeners.push(one);
    }
    Ok((address, listeners))
}

fn open_one(address: SocketAddr, door: &Door) -> io::Result<TcpListener> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket(family, SocketType::STREAM, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_reuseport(&socket, door.listeners > 1)?;
    // Accepted sockets inherit both.
    sockopt::set_tcp_nodelay(&socket, door.writing == Writing::Whole)?;
    if let Some(bytes) = door.sndbuf_bytes {
        sockopt::set_socket_send_buffer_size(&socket, bytes)?;
    }
    bind(&socket, &address)?;
    listen(&socket, door.backlog)?;
    let listener = TcpListener::from(socket);
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Starts a thread that accepts from one socket forever and passes connections on.
pub fn start_acceptor(
    listener: TcpListener,
    door: &Door,
    mut hand_over: impl FnMut(TcpStream) + Send + 'static,
) -> io::Result<()> {
    let delay = door.accept_delay;
    let thread = thread::Builder::new().name("acceptor".to_owned());
    thread.spawn(move || {
        loop {
            await_readable(&listener);
            if !delay.is_zero() {
                thread::sleep(delay);
            }
            // Without descriptors accept fails at once, and like a naive server this one retries at
            // once: a busy loop, on purpose.
            if let Ok((connection, _)) = listener.accept()
                && connection.set_nonblocking(false).is_ok()
            {
                hand_over(connection);
            }
        }
    })?;
    Ok(())
}

fn await_readable(listener: &TcpListener) {
    // A signal makes accept return early with an error.
    let _ = poll(&mut [PollFd::new(listener, PollFlags::IN)], None);
}
