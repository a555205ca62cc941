//! One pass of a flow: what was sent and what came, step by step.

use crate::secret;
use serde::{Deserialize, Serialize};

/// Schema of a pass as JSON.
pub const SCHEMA: &str = "ceiling.pass/1";

/// A pass of one user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name of the flow.
    pub flow: String,
    /// Scheme and authority of the server.
    pub server: String,
    /// Whether every step was good.
    pub is_good: bool,
    /// Steps of the flow, those that were not reached included.
    pub steps: u32,
    /// Requests in the order in which they were sent, and steps that were left out.
    pub requests: Vec<Taken>,
}

/// One request, and what came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// Name of its step.
    pub step: String,
    /// Line of the step in the file.
    pub line: u32,
    /// Which of the repetitions of the step, from 1, and of how many.
    pub round: (u32, u32),
    /// It follows a redirect.
    pub is_redirect: bool,
    /// What was sent; absent for a step that was left out, or that could not be sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Sent>,
    /// What came; absent when nothing whole did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// What variables captured, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captured: Vec<Captured>,
    /// The conditions in order, as far as they were examined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asserts: Vec<Examined>,
    /// Why the pass ends here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// A request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Method token.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Header fields in order, name and value.
    pub headers: Vec<(String, String)>,
    /// The begin of its body; what is no text is replaced.
    pub body: String,
    /// Bytes of the whole body.
    pub body_bytes: u64,
    /// More of the body was there than is kept.
    pub is_cut: bool,
}

/// A response.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Version of HTTP: 1.1 or 2.
    pub version: String,
    /// Header fields in order, name and value.
    pub headers: Vec<(String, String)>,
    /// The begin of its body; what is no text is replaced.
    pub body: String,
    /// Bytes of the whole body.
    pub body_bytes: u64,
    /// More of the body was there than is kept.
    pub is_cut: bool,
    /// From the send to the first byte, nanoseconds.
    pub first_ns: u64,
    /// From the send to the last byte, nanoseconds.
    pub last_ns: u64,
}

/// A variable and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    /// Name of the variable.
    pub name: String,
    /// Its value.
    pub value: String,
    /// It is never shown.
    #[serde(skip)]
    pub is_secret: bool,
}

/// A condition that was examined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Examined {
    /// As it is written.
    pub text: String,
    /// Line of the file.
    pub line: u32,
    /// What was found, where it does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
}

/// What must not be shown of a pass.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    pieces: Vec<String>,
}

/// A shorter secret is not searched for: any text may contain it.
const SOUGHT_MIN_BYTES: usize = 4;

impl Mask {
    /// With these secrets.
    pub fn of(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut mask = Self::default();
        secrets.into_iter().for_each(|secret| mask.add(secret));
        mask
    }

    fn add(&mut self, secret: String) {
        if secret.len() >= SOUGHT_MIN_BYTES && !self.pieces.contains(&secret) {
            self.pieces.push(secret);
            // One may contain another.
            self.pieces.sort_by_key(|piece| std::cmp::Reverse(piece.len()));
        }
    }

    /// The text without secrets.
    pub fn text(&self, text: &str) -> String {
        secret::text(&secret::without(text, &self.pieces))
    }

    /// Takes all secrets out of what was sent and what came; those that are captured are secrets of
    /// all that follows.
    pub fn apply(&mut self, taken: &mut Taken) {
        let secrets = taken.captured.iter().filter(|captured| captured.is_secret);
        secrets.map(|captured| captured.value.clone()).for_each(|value| self.add(value));
        let headers = taken.sent.iter_mut().map(|sent| &mut sent.headers);
        let headers = headers.chain(taken.answer.iter_mut().map(|answer| &mut answer.headers));
        for (name, value) in headers.flatten() {
            *value = match secret::is_secret_header(name) {
                true => secret::MASK.to_string(),
                false => self.text(value),
            };
        }
        let texts = taken.sent.iter_mut().flat_map(|sent| [&mut sent.path, &mut sent.body]);
        let texts = texts.chain(taken.answer.iter_mut().map(|answer| &mut answer.body));
        let texts = texts.chain([&mut taken.step]).chain(taken.failed.as_mut());
        let found = taken.asserts.iter_mut();
        let found = found.flat_map(|one| one.found.iter_mut().chain([&mut one.text]));
        for text in texts.chain(found) {
            *text = self.text(text);
        }
        for captured in &mut taken.captured {
            captured.value = match captured.is_secret {
                true => secret::MASK.to_string(),
                false => self.text(&captured.value),
            };
        }
    }
}
