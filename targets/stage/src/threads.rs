//! One thread for each connection.

use crate::connection::Connection;
use crate::http::After;
use crate::listener::start_acceptor;
use crate::options::Door;
use crate::service::{Hands, Service};
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

/// Starts one acceptor for each socket; it starts the rest.
pub fn start(sockets: Vec<TcpListener>, door: &Door, service: &Arc<Service>) -> io::Result<()> {
    for socket in sockets {
        let (service, writing) = (service.clone(), door.writing);
        start_acceptor(socket, door, move |stream| {
            let (service, mut connection) = (service.clone(), Connection::new(stream, writing));
            let serve = move || {
                let mut hands = Hands::default();
                while let Ok(After::KeepAlive) = connection.serve(&service, &mut hands) {}
            };
            let thread = thread::Builder::new().name("serve".to_owned()).stack_size(128 * 1024);
            // If no thread can be started the connection is closed, as in any server out of memory.
            let _ = thread.spawn(serve);
        })?;
    }
    Ok(())
}
