//! A program that does not outlive its use.

use std::process::Child;

/// A program that is killed when this value is dropped.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
