//! Which connections the probe admits, and how many.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most connections that have not shown a token yet.
const STRANGERS_MAX: usize = 32;
/// Most threads that have not noticed yet that their connection is closed; beyond them no stranger
/// is admitted.
const LEAVING_MAX: u32 = 32;

/// Most admitted connections, without those of clients.
pub const INSIDE_BESIDE_CLIENTS: usize = STRANGERS_MAX + LEAVING_MAX as usize;

/// Counts admitted connections.
#[derive(Debug)]
pub struct Door {
    strangers: Mutex<VecDeque<(u64, TcpStream)>>,
    clients: AtomicU32,
    inside: AtomicU32,
    next: AtomicU32,
    clients_max: u32,
}

/// One admitted connection, until dropped.
#[derive(Debug)]
pub struct Guest<'a> {
    door: &'a Door,
    number: u64,
    is_client: bool,
}

impl Door {
    /// For this many clients at a time.
    pub fn new(clients_max: u32) -> Self {
        Self {
            strangers: Mutex::default(),
            clients: AtomicU32::new(0),
            inside: AtomicU32::new(0),
            next: AtomicU32::new(0),
            clients_max,
        }
    }

    /// Clients at a time.
    pub fn clients_max(&self) -> u32 {
        self.clients_max
    }

    fn strangers(&self) -> MutexGuard<'_, VecDeque<(u64, TcpStream)>> {
        self.strangers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a stranger; closes the oldest one if there are too many. `None` when even that frees
    /// no place.
    pub fn enter(&self, socket: &TcpStream) -> Option<Guest<'_>> {
        let inside_max = INSIDE_BESIDE_CLIENTS as u32 + self.clients_max;
        if self.inside.load(Ordering::Relaxed) >= inside_max {
            return None;
        }
        let own = socket.try_clone().ok()?;
        self.inside.fetch_add(1, Ordering::Relaxed);
        let number = u64::from(self.next.fetch_add(1, Ordering::Relaxed));
        let mut strangers = self.strangers();
        strangers.push_back((number, own));
        if strangers.len() > STRANGERS_MAX
            && let Some((_, oldest)) = strangers.pop_front()
        {
            // Its thread sees the end of the connection and returns.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        Some(Guest { door: self, number, is_client: false })
    }
}

impl Guest<'_> {
    /// The stranger has shown the token; false when there are as many clients as allowed.
    pub fn becomes_client(&mut self) -> bool {
        let clients = &self.door.clients;
        let more = |count| (count < self.door.clients_max).then_some(count + 1);
        let order = Ordering::Relaxed;
        self.is_client = clients.fetch_update(order, order, more).is_ok();
        if self.is_client {
            self.forget_stranger();
        }
        self.is_client
    }

    /// Clients at a time.
    pub fn clients_max(&self) -> u32 {
        self.door.clients_max()
    }

    fn forget_stranger(&self) {
        self.door.strangers().retain(|(number, _)| *number != self.number);
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        self.forget_stranger();
        if self.is_client {
            self.door.clients.fetch_sub(1, Ordering::Relaxed);
        }
        self.door.inside.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    /// Both ends of a connection.
    fn pair(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    #[test]
    fn the_oldest_stranger_makes_room_and_a_client_stays() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let door = Door::new(1);
        let (mut first, far) = pair(&listener);
        let mut client = door.enter(&far).unwrap();
        assert!(client.becomes_client());
        let mut others = Vec::new();
        for _ in 0..=STRANGERS_MAX {
            let (near, far) = pair(&listener);
            let guest = door.enter(&far).unwrap();
            others.push((near, far, guest));
        }
        assert_eq!(others[0].0.read(&mut [0]).unwrap(), 0, "shown out");
        first.set_nonblocking(true).unwrap();
        assert!(first.read(&mut [0]).is_err(), "still there");
        assert!(!others[1].2.becomes_client(), "one client is enough");
        drop(client);
        assert!(others[1].2.becomes_client());
        others.clear();
        assert_eq!(door.inside.load(Ordering::Relaxed), 0);
        assert!(door.strangers().is_empty());
    }
}
