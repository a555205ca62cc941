//! Connections that are started and never finished, as by an unrelated or malicious client.

use crate::options::KnockOptions;
use anyhow::Result;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

/// Knocks until it is killed.
pub fn run(options: &KnockOptions) -> Result<()> {
    let gap = Duration::from_secs_f64(1.0 / options.rate.max(0.01));
    let keep = Duration::from_millis(options.keep_ms);
    let mut kept = VecDeque::new();
    let mut next = Instant::now();
    loop {
        for _ in 0..options.burst {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
            // In progress, or refused: it waits for neither.
            let _ = connect(&socket, &options.address);
            kept.push_back((Instant::now(), socket));
        }
        next += gap;
        while let Some((begun, _)) = kept.front()
            && begun.elapsed() >= keep
        {
            kept.pop_front();
        }
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}
