//! The destination of messages: the history that watchers read, and the current state of the run.

use crate::hub::Hub;
use crate::message::Message;
use crate::now::Now;
use std::sync::{Arc, Mutex, PoisonError};

/// The files of a run that has ended.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// Its page.
    pub report: Arc<[u8]>,
    /// Its record.
    pub record: Arc<[u8]>,
}

/// The messages of a run.
#[derive(Debug, Default)]
pub struct Feed {
    /// The history.
    pub hub: Arc<Hub>,
    now: Mutex<Now>,
    files: Mutex<Option<Files>>,
}

impl Feed {
    /// Publishes a message to all watchers.
    pub fn publish(&self, message: &Message) {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).apply(message);
        self.hub.publish(message);
    }

    /// Calls `look` with the current state of the run.
    pub fn look<T>(&self, look: impl FnOnce(&Now) -> T) -> T {
        look(&self.now.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes report and record available.
    pub fn keep(&self, files: Files) {
        *self.files.lock().unwrap_or_else(PoisonError::into_inner) = Some(files);
    }

    /// Report and record, once they exist.
    pub fn files(&self) -> Option<Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
