//! A thread for each listening socket, which serves the connections of that socket.

use crate::connection::Connection;
use crate::http::After;
use crate::options::{Door, Writing};
use crate::service::{Hands, Service};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::collections::HashMap;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Number of the listening socket among the watched ones.
const LISTENER: u64 = 0;

struct Loop {
    epoll: OwnedFd,
    listener: TcpListener,
    accept_delay: Duration,
    writing: Writing,
    connections: HashMap<u64, Connection>,
    next: u64,
}

/// Starts the threads.
pub fn start(sockets: Vec<TcpListener>, door: &Door, service: &Arc<Service>) -> io::Result<()> {
    for (number, listener) in sockets.into_iter().enumerate() {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        let mut one = Loop {
            epoll,
            listener,
            accept_delay: door.accept_delay,
            writing: door.writing,
            connections: HashMap::new(),
            next: LISTENER,
        };
        let service = service.clone();
        let thread = thread::Builder::new().name(format!("loop-{number}"));
        thread.spawn(move || one.run(&service))?;
    }
    Ok(())
}

impl Loop {
    fn run(&mut self, service: &Service) {
        let mut hands = Hands::default();
        let mut events = Vec::with_capacity(256);
        loop {
            events.clear();
            // An interrupted wait returns no events and is retried.
            let _ = epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None);
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept(),
                    number => self.serve(number, service, &mut hands),
                }
            }
        }
    }

    fn accept(&mut self) {
        if !self.accept_delay.is_zero() {
            thread::sleep(self.accept_delay);
        }
        let Ok((stream, _)) = self.listener.accept() else { return };
        self.next += 1;
        let data = EventData::new_u64(self.next);
        let is_watched = stream.set_nonblocking(false).is_ok()
            && epoll::add(&self.epoll, stream.as_fd(), data, EventFlags::IN).is_ok();
        if is_watched {
            self.connections.insert(self.next, Connection::new(stream, self.writing));
        }
    }

    fn serve(&mut self, number: u64, service: &Service, hands: &mut Hands) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        if !matches!(connection.serve(service, hands), Ok(After::KeepAlive)) {
            self.connections.remove(&number);
        }
    }
}
