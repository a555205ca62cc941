//! Where messages go: to the history that watchers read, and into how the run stands.

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

/// What is told of a run.
#[derive(Debug, Default)]
pub struct Feed {
    /// What happened so far.
    pub hub: Arc<Hub>,
    now: Mutex<Now>,
    files: Mutex<Option<Files>>,
}

impl Feed {
    /// Tells everybody.
    pub fn publish(&self, message: &Message) {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).apply(message);
        self.hub.publish(message);
    }

    /// Looks at how the run stands.
    pub fn look<T>(&self, look: impl FnOnce(&Now) -> T) -> T {
        look(&self.now.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets report and record be fetched.
    pub fn keep(&self, files: Files) {
        *self.files.lock().unwrap_or_else(PoisonError::into_inner) = Some(files);
    }

    /// Report and record, once there are any.
    pub fn files(&self) -> Option<Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
