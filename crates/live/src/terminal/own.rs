//! Takes a terminal, and restores it: at an orderly end, on a panic, and from a signal handler.

use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcsetattr,
};
use std::io;
use std::panic;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The alternate screen, without a cursor.
const TAKE: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[2J";
const GIVE_BACK: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";

/// The settings of the terminal before it was taken.
static BEFORE: OnceLock<Termios> = OnceLock::new();
/// Whether it is taken now.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// A taken terminal.
#[derive(Debug)]
pub(super) struct Owned(());

impl Owned {
    /// Takes it: input is not echoed, and Ctrl-Z cannot suspend the process on the alternate
    /// screen. Ctrl-C stays a signal.
    pub(super) fn take() -> io::Result<Self> {
        let tty = io::stderr();
        let now = tcgetattr(&tty)?;
        let mut ours = BEFORE.get_or_init(|| now).clone();
        ours.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
        ours.special_codes[SpecialCodeIndex::VSUSP] = 0;
        give_back_on_panic();
        tcsetattr(&tty, OptionalActions::Now, &ours)?;
        IS_TAKEN.store(true, Ordering::SeqCst);
        write(TAKE);
        Ok(Self(()))
    }

    /// Restores it, and discards what was typed meanwhile.
    pub(super) fn give_back(&self) {
        let _ = tcflush(io::stderr(), QueueSelector::IFlush);
        give_back();
    }
}

/// Restores the terminal if it is taken. It makes only system calls, so that a signal handler may
/// call it.
pub fn give_back() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    write(GIVE_BACK);
    if let Some(before) = BEFORE.get() {
        let _ = tcsetattr(io::stderr(), OptionalActions::Now, before);
    }
}

fn write(mut bytes: &[u8]) {
    while let Ok(count) = rustix::io::write(io::stderr(), bytes)
        && count > 0
    {
        bytes = &bytes[count..];
    }
}

fn give_back_on_panic() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            give_back();
            before(info);
        }));
    });
}
