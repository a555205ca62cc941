//! Timers of systemd, asked of process 1.
//!
//! The questions go to the private socket of systemd, which systemctl uses as root: no bus daemon
//! is needed, and no program is started. Messages are those of D-Bus, and only what these questions
//! need is written and read: texts go out; texts, flags and the list of units come back. Source:
//! D-Bus Specification, "Message Protocol"; org.freedesktop.systemd1(5).

use model::root::Root;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Only root may open it.
const SOCKET: &str = "/run/systemd/private";
/// How long process 1 may take for a reply.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest reply that is read: a list of thousands of units has one megabyte.
const REPLY_BYTES_MAX: usize = 8 << 20;
const MANAGER: [&str; 2] = ["/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"];
const UNIT: &str = "org.freedesktop.systemd1.Unit";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

/// What a timer is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// To wait for its times.
    Start,
    /// To wait no more.
    Stop,
}

/// A connection to process 1.
#[derive(Debug)]
pub struct Systemd {
    stream: BufReader<UnixStream>,
    serial: u32,
}

/// Whether process 1 of this host is systemd, as far as can be seen from here.
pub fn is_here(root: &Root) -> bool {
    root.path(SOCKET).exists()
}

impl Systemd {
    /// Connects to process 1; nothing where it is another program.
    ///
    /// # Errors
    ///
    /// Where this user may not ask it, and where the reply is not one of D-Bus.
    pub fn open(root: &Root) -> io::Result<Option<Self>> {
        let stream = match UnixStream::connect(root.path(SOCKET)) {
            Ok(stream) => stream,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut systemd = Self { stream: BufReader::new(stream), serial: 0 };
        // The user is known by the socket; its number is sent as digits in hexadecimal.
        let user = rustix::process::geteuid().as_raw().to_string();
        let user: String = user.bytes().map(|digit| format!("{digit:02x}")).collect();
        systemd.send(format!("\0AUTH EXTERNAL {user}\r\nBEGIN\r\n").as_bytes())?;
        let mut line = String::new();
        (&mut systemd.stream).take(256).read_line(&mut line)?;
        if line.starts_with("OK ") { Ok(Some(systemd)) } else { Err(strange()) }
    }

    /// The timers that wait for their times, and that can be stopped and started again. One that
    /// was made by a command is gone when it is stopped, and left out.
    ///
    /// # Errors
    ///
    /// Without a whole reply.
    pub fn timers(&mut self) -> io::Result<Vec<String>> {
        let list = self.ask(MANAGER, "ListUnits", &[])?;
        let mut timers = Vec::new();
        for unit in units(&list)?.into_iter().filter(|unit| unit.is_active_timer()) {
            let path = unit.path;
            let mut is = |name, value| self.property(&path, name).map(|found| found == value);
            if is("Transient", "false")? && is("CanStop", "true")? && is("CanStart", "true")? {
                timers.push(unit.name);
            }
        }
        timers.sort_unstable();
        Ok(timers)
    }

    /// The state of a unit in systemd's word, such as `active`; nothing where there is no such
    /// unit.
    ///
    /// # Errors
    ///
    /// Without a whole reply.
    pub fn state(&mut self, unit: &str) -> io::Result<Option<String>> {
        // A unit that does nothing may have been forgotten, so it is read again.
        let reply = self.ask(MANAGER, "LoadUnit", &[unit])?;
        let path = Body::new(&reply).text()?;
        match self.property(&path, "LoadState")?.as_str() {
            "not-found" => Ok(None),
            _ => self.property(&path, "ActiveState").map(Some),
        }
    }

    /// Tells a unit to start or to stop. It does so soon after.
    ///
    /// # Errors
    ///
    /// Where systemd refuses, with its reason.
    pub fn tell(&mut self, unit: &str, order: Order) -> io::Result<()> {
        let method = match order {
            Order::Start => "StartUnit",
            Order::Stop => "StopUnit",
        };
        self.ask(MANAGER, method, &[unit, "replace"]).map(drop)
    }

    fn property(&mut self, path: &str, name: &str) -> io::Result<String> {
        let reply = self.ask([path, PROPERTIES], "Get", &[UNIT, name])?;
        Body::new(&reply).variant()
    }

    /// The body of the reply to a question.
    fn ask(&mut self, of: [&str; 2], method: &str, arguments: &[&str]) -> io::Result<Vec<u8>> {
        self.serial += 1;
        self.send(&question(self.serial, of, method, arguments))?;
        loop {
            let mut header = [0; 16];
            self.stream.read_exact(&mut header)?;
            let (kind, fields, body) = lengths(header)?;
            let mut rest = vec![0; fields + body];
            self.stream.read_exact(&mut rest)?;
            let body = rest.split_off(fields);
            match kind {
                REPLY => return Ok(body),
                REFUSAL => return Err(io::Error::other(Body::new(&body).text()?)),
                // A signal.
                _ => {}
            }
        }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }
}

fn strange() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "the reply of systemd is not one of D-Bus")
}

const CALL: u8 = 1;
const REPLY: u8 = 2;
const REFUSAL: u8 = 3;

fn align(bytes: &mut Vec<u8>, to: usize) {
    bytes.resize(bytes.len().next_multiple_of(to), 0);
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    align(bytes, 4);
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.push(0);
}

/// A call of a method whose arguments are texts.
fn question(serial: u32, [path, interface]: [&str; 2], method: &str, texts: &[&str]) -> Vec<u8> {
    let mut body = Vec::new();
    texts.iter().for_each(|text| put_text(&mut body, text));
    let mut fields = Vec::new();
    let named = [
        (1, 'o', path),
        (2, 's', interface),
        (3, 's', method),
        (6, 's', "org.freedesktop.systemd1"),
    ];
    for (field, kind, text) in named {
        align(&mut fields, 8);
        fields.extend([field, 1, kind as u8, 0]);
        put_text(&mut fields, text);
    }
    if !texts.is_empty() {
        align(&mut fields, 8);
        fields.extend([8, 1, b'g', 0, texts.len() as u8]);
        fields.extend(vec![b's'; texts.len()]);
        fields.push(0);
    }
    let mut message = vec![b'l', CALL, 0, 1];
    for number in [body.len() as u32, serial, fields.len() as u32] {
        message.extend(number.to_le_bytes());
    }
    message.extend(fields);
    align(&mut message, 8);
    message.extend(body);
    message
}

/// The kind of a message, and how long its fields and its body are.
fn lengths(header: [u8; 16]) -> io::Result<(u8, usize, usize)> {
    let number = |at: usize| {
        let bytes = [header[at], header[at + 1], header[at + 2], header[at + 3]];
        u32::from_le_bytes(bytes) as usize
    };
    let (fields, body) = (number(12).saturating_add(7) & !7, number(4));
    let is_known = header[0] == b'l' && fields.saturating_add(body) <= REPLY_BYTES_MAX;
    if is_known { Ok((header[1], fields, body)) } else { Err(strange()) }
}

/// What a list of units says of one.
struct Listed {
    name: String,
    state: String,
    path: String,
}

impl Listed {
    fn is_active_timer(&self) -> bool {
        self.name.ends_with(".timer") && self.state == "active"
    }
}

/// Parses the reply to `ListUnits`: `a(ssssssouso)`.
fn units(bytes: &[u8]) -> io::Result<Vec<Listed>> {
    let mut body = Body::new(bytes);
    let length = body.number()? as usize;
    body.align(8);
    let end = body.at.saturating_add(length);
    let mut units = Vec::new();
    while body.at < end {
        body.align(8);
        let [name, _, _, state, _, _, path] = body.texts()?;
        body.number()?;
        let [_, _] = body.texts()?;
        units.push(Listed { name, state, path });
    }
    Ok(units)
}

/// Reads the body of a message.
struct Body<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Body<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn align(&mut self, to: usize) {
        self.at = self.at.next_multiple_of(to);
    }

    fn take(&mut self, count: usize) -> io::Result<&'a [u8]> {
        let end = self.at.checked_add(count).ok_or_else(strange)?;
        let taken = self.bytes.get(self.at..end).ok_or_else(strange)?;
        self.at = end;
        Ok(taken)
    }

    fn number(&mut self) -> io::Result<u32> {
        self.align(4);
        let bytes = self.take(4)?.try_into().map_err(|_| strange())?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn text(&mut self) -> io::Result<String> {
        let length = self.number()? as usize;
        let text = String::from_utf8(self.take(length)?.to_vec()).map_err(|_| strange())?;
        self.take(1)?;
        Ok(text)
    }

    fn texts<const N: usize>(&mut self) -> io::Result<[String; N]> {
        let mut texts = [const { String::new() }; N];
        for text in &mut texts {
            *text = self.text()?;
        }
        Ok(texts)
    }

    /// A text, or a flag in a word.
    fn variant(&mut self) -> io::Result<String> {
        match self.take(3)? {
            [1, b's', 0] => self.text(),
            [1, b'b', 0] => Ok((self.number()? != 0).to_string()),
            _ => Err(strange()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `busctl` of systemd 252 writes it.
    #[test]
    fn a_question_has_the_form_of_the_protocol() {
        let message = question(1, MANAGER, "LoadUnit", &["a.timer"]);
        let (kind, fields, body) = lengths(message[..16].try_into().unwrap()).unwrap();
        assert_eq!((kind, message.len()), (CALL, 16 + fields + body));
        assert_eq!(&message[16..24], b"\x01\x01o\0\x19\0\0\0");
        assert!(
            message[16..]
                .starts_with(b"\x01\x01o\0\x19\0\0\0/org/freedesktop/systemd1\0\0\0\0\0\0\0")
        );
        assert_eq!(&message[16 + fields..], b"\x07\0\0\0a.timer\0");
        let signature = message.windows(7).any(|bytes| bytes == b"\x08\x01g\0\x01s\0");
        assert!(signature, "{message:?}");
    }

    #[test]
    fn only_timers_that_wait_are_listed() {
        let mut list = Vec::new();
        for (name, state) in [("a.timer", "active"), ("b.timer", "inactive"), ("c.mount", "active")]
        {
            align(&mut list, 8);
            for text in [name, "", "loaded", state, "waiting", "", "/unit"] {
                put_text(&mut list, text);
            }
            align(&mut list, 4);
            list.extend(7u32.to_le_bytes());
            ["", "/"].iter().for_each(|text| put_text(&mut list, text));
        }
        let mut bytes = (list.len() as u32).to_le_bytes().to_vec();
        align(&mut bytes, 8);
        bytes.extend(list);
        let found = units(&bytes).unwrap();
        let timers: Vec<&str> =
            found.iter().filter(|unit| unit.is_active_timer()).map(|unit| &*unit.name).collect();
        assert_eq!((found.len(), timers), (3, vec!["a.timer"]));
        assert!(units(&bytes[..bytes.len() - 1]).is_err(), "a list that was cut off");
    }

    #[test]
    fn a_host_without_systemd_is_no_error() {
        assert!(Systemd::open(&Root::below("/nonexistent")).unwrap().is_none());
    }

    #[test]
    fn no_reply_makes_it_panic() {
        let whole = question(1, MANAGER, "StopUnit", &["a.timer", "replace"]);
        for at in 0..whole.len() {
            for change in [0x01, 0x40, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= change;
                for begin in [0, 16, at] {
                    let _ = units(&bytes[begin..]);
                    let _ = Body::new(&bytes[begin..]).variant();
                }
                let _ = lengths(bytes[..16].try_into().unwrap());
            }
        }
    }
}
