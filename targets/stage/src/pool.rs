//! Workers behind one queue of connections.
//!
//! A connection is watched until something can be read, then it goes to the queue, unread: waiting
//! requests are visible in the receive queues of the sockets. The worker that takes it reads,
//! responds and returns it to be watched.

use crate::connection::Connection;
use crate::http::After;
use crate::listener::start_acceptor;
use crate::options::Door;
use crate::service::{Hands, Service};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Readable, one-shot: a worker arms it again.
const ONCE: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ONESHOT);

/// What acceptors, the watcher and the workers share.
struct Shared {
    epoll: OwnedFd,
    /// Connections without a worker, by number.
    idle: Mutex<Idle>,
    ready: Mutex<VecDeque<u64>>,
    is_ready: Condvar,
}

#[derive(Default)]
struct Idle {
    connections: HashMap<u64, Connection>,
    next: u64,
}

/// Starts the threads.
pub fn start(
    sockets: Vec<TcpListener>,
    door: &Door,
    workers: usize,
    service: &Arc<Service>,
) -> io::Result<()> {
    let shared = Arc::new(Shared {
        epoll: epoll::create(CreateFlags::CLOEXEC)?,
        idle: Mutex::default(),
        ready: Mutex::default(),
        is_ready: Condvar::new(),
    });
    for number in 0..workers {
        let (shared, service) = (shared.clone(), service.clone());
        let thread = thread::Builder::new().name(format!("pool-{number}"));
        thread.spawn(move || work(&shared, &service))?;
    }
    let watching = shared.clone();
    thread::Builder::new().name("watcher".to_owned()).spawn(move || watch(&watching))?;
    for socket in sockets {
        let (shared, writing) = (shared.clone(), door.writing);
        start_acceptor(socket, door, move |stream| {
            shared.take_in(Connection::new(stream, writing));
        })?;
    }
    Ok(())
}

impl Shared {
    fn take_in(&self, connection: Connection) {
        let mut idle = lock(&self.idle);
        idle.next += 1;
        let number = idle.next;
        let socket = connection.socket().as_fd();
        // A connection that cannot be watched is closed.
        if epoll::add(&self.epoll, socket, EventData::new_u64(number), ONCE).is_ok() {
            idle.connections.insert(number, connection);
        }
    }

    fn put_back(&self, number: u64, connection: Connection) {
        let mut idle = lock(&self.idle);
        let socket = connection.socket().as_fd();
        if epoll::modify(&self.epoll, socket, EventData::new_u64(number), ONCE).is_ok() {
            idle.connections.insert(number, connection);
        }
    }
}

fn watch(shared: &Shared) {
    let mut events = Vec::with_capacity(256);
    loop {
        events.clear();
        // An interrupted wait returns no events and is retried.
        let _ = epoll::wait(&shared.epoll, rustix::buffer::spare_capacity(&mut events), None);
        if events.is_empty() {
            continue;
        }
        lock(&shared.ready).extend(events.iter().map(|event| event.data.u64()));
        if events.len() == 1 {
            shared.is_ready.notify_one();
        } else {
            shared.is_ready.notify_all();
        }
    }
}

fn work(shared: &Shared, service: &Service) {
    let mut hands = Hands::default();
    loop {
        let mut ready = lock(&shared.ready);
        let number = loop {
            match ready.pop_front() {
                Some(number) => break number,
                None => {
                    let woken = shared.is_ready.wait(ready);
                    ready = woken.unwrap_or_else(PoisonError::into_inner);
                }
            }
        };
        drop(ready);
        let Some(mut connection) = lock(&shared.idle).connections.remove(&number) else {
            continue;
        };
        if let Ok(After::KeepAlive) = connection.serve(service, &mut hands) {
            shared.put_back(number, connection);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
