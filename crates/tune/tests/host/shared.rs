//! Values that all tests share, because this host has them once.

use std::sync::{Mutex, MutexGuard, PoisonError};
use tune::{Host, Place, Seen};

static TURN: Mutex<()> = Mutex::new(());

/// Held while a test writes them.
pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts a value back, even when the test fails in between.
pub struct PutBack<'a> {
    pub host: &'a Host,
    pub place: &'a Place,
    pub before: Seen,
}

impl Drop for PutBack<'_> {
    fn drop(&mut self) {
        if let Ok(Some(now)) = self.place.read(self.host) {
            let _ = self.place.write(self.host, &self.before.value, &now);
        }
    }
}
