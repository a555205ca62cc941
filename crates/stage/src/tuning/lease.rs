//! The deadlines of what is turned: extended while this process lives and reaches the host.

use super::Hands;
use model::tuning::TuneOrder;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long a change stays after the last sign of life.
pub const LENGTH: Duration = tune::DEADLINE_MAX;
/// Time between signs of life; several of them may fail.
const BEAT: Duration = Duration::from_secs(10);

/// Extends the deadlines of transactions until it is dropped.
pub struct Lease {
    transactions: Option<Sender<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Lease {
    /// For the transactions that are added later.
    pub fn begin(hands: Hands) -> Self {
        let (transactions, added) = channel();
        let beat = move || {
            let mut held: Vec<String> = Vec::new();
            loop {
                match added.recv_timeout(BEAT) {
                    Ok(transaction) => held.push(transaction),
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => {}
                }
                for transaction in &held {
                    let (transaction, left_ns) = (transaction.clone(), LENGTH.as_nanos() as u64);
                    // A failure shows at the end of the cell.
                    let _ = hands.order(TuneOrder::Extend { transaction, left_ns }, None);
                }
            }
        };
        // Without a thread the watchdog puts back changes that last longer, which fails the cell.
        let thread = thread::Builder::new().name("lease".to_string()).spawn(beat).ok();
        Self { transactions: Some(transactions), thread }
    }

    /// Adds a transaction.
    pub fn add(&self, transaction: &str) {
        if let Some(transactions) = &self.transactions {
            let _ = transactions.send(transaction.to_string());
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.transactions = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
