//! What a good response must be like.
//!
//! A check is written as on the command line and in target files, and a record keeps that form. A
//! response with status 400 or more is a failure unless a check calls its status good.

use crate::call::CallStatus;
use crate::field::Field;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

/// Checks of one target; absent ones are not made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checks {
    /// Status codes that are good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Statuses>,
    /// Length of the body in bytes, transfer coding removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Lengths>,
    /// Text that the body must contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Needle>,
    /// SHA-256 of the whole body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
    /// Fields that each message of a reply must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Json>,
    /// The same by their numbers, once the schema is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
}

impl Checks {
    /// Whether nothing is checked.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These checks, with those of `other` where these have none.
    pub fn or(self, other: &Self) -> Self {
        Self {
            status: self.status.or_else(|| other.status.clone()),
            length: self.length.or(other.length),
            body: self.body.or_else(|| other.body.clone()),
            sha256: self.sha256.or(other.sha256),
            fields: if self.json.is_some() { self.fields } else { other.fields.clone() },
            json: self.json.or_else(|| other.json.clone()),
        }
    }
}

crate::named! {
    /// A check, for counting which one failed. A response is counted under the first that failed,
    /// in this order.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Check {
        /// The status code.
        Status = "status",
        /// The length of the body.
        Length = "length",
        /// Text in the body.
        Body = "body",
        /// The hash of the body.
        Sha256 = "sha256",
        /// Fields of a message.
        Json = "json",
        /// A value that a step of a flow captures.
        Capture = "capture",
        /// A condition of a step of a flow.
        Assert = "assert",
    }
    /// Its name in the record.
    fn name;
}

/// Status codes that a check can call good. Interim responses (1xx) precede the final one.
const STATUSES: std::ops::RangeInclusive<u16> = 200..=599;

/// A set of status codes: `200` or `2xx,304`, or of statuses of calls: `OK,NOT_FOUND`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Statuses {
    text: String,
    ranges: Vec<(u16, u16)>,
}

impl Statuses {
    /// Whether `status` is one of them.
    #[inline]
    pub fn holds(&self, status: u16) -> bool {
        self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&status))
    }
}

impl FromStr for Statuses {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let error = |part: &str| {
            format!(
                "'{part}' is not a status from 200 to 599 or a class from 2xx to 5xx (1xx are \
                 interim responses, which no request ends with), and no status of gRPC; for \
                 example 200 or 2xx,304 or OK,NOT_FOUND"
            )
        };
        let mut ranges = Vec::new();
        for part in text.split(',').map(str::trim) {
            ranges.push(match part {
                "2xx" => (200, 299),
                "3xx" => (300, 399),
                "4xx" => (400, 499),
                "5xx" => (500, 599),
                _ if CallStatus::parse(part).is_some() => {
                    let number = CallStatus::parse(part).map_or(0, CallStatus::number);
                    (number, number)
                }
                _ if part.len() == 3 => {
                    let status = part.parse().map_err(|_| error(part))?;
                    if !STATUSES.contains(&status) {
                        return Err(error(part));
                    }
                    (status, status)
                }
                _ => return Err(error(part)),
            });
        }
        Ok(Self { text: text.to_string(), ranges })
    }
}

/// A length, or a range of lengths with both ends: `16` or `100..4k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Lengths {
    /// Least length, bytes.
    pub least: u64,
    /// Greatest length, bytes.
    pub most: u64,
}

impl Lengths {
    /// Whether `length` lies between them.
    #[inline]
    pub fn holds(&self, length: u64) -> bool {
        (self.least..=self.most).contains(&length)
    }
}

impl FromStr for Lengths {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let error = || {
            format!(
                "'{text}' is not a length or a range of lengths in bytes; for example 16 or \
                 100..4k"
            )
        };
        let (least, most) = text.split_once("..").unwrap_or((text, text));
        let count = |text: &str| crate::units::parse_count(text).map_err(|_| error());
        let (least, most) = (count(least)?, count(most)?);
        if least <= most { Ok(Self { least, most }) } else { Err(error()) }
    }
}

/// A text that the body must contain; not empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Needle(String);

impl Needle {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl FromStr for Needle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() || text.len() > NEEDLE_MAX {
            let length = text.len();
            return Err(format!(
                "a text of {length} bytes cannot be searched for, only 1 to {NEEDLE_MAX}; for \
                 example '\"ok\":true'"
            ));
        }
        Ok(Self(text.to_string()))
    }
}

/// Longest text to search for, bytes.
const NEEDLE_MAX: usize = 4096;

/// A SHA-256 digest: 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(pub [u8; 32]);

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let error = || {
            format!(
                "'{text}' is not a SHA-256 of 64 hexadecimal digits; for example the first word \
                 that sha256sum prints"
            )
        };
        let digits: Option<Vec<u8>> =
            text.chars().map(|digit| digit.to_digit(16).map(|value| value as u8)).collect();
        let digits = digits.filter(|digits| digits.len() == 64).ok_or_else(error)?;
        Ok(Self(std::array::from_fn(|at| (digits[2 * at] << 4) | digits[2 * at + 1])))
    }
}

/// A JSON object, of whose fields a message must have each. A target file may have the object
/// itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "String")]
pub struct Json(String);

impl Json {
    /// As it was written.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl FromStr for Json {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match serde_json::from_str(text) {
            Ok(Value::Object(fields)) if !fields.is_empty() => Ok(Self(text.to_string())),
            _ => Err(format!(
                "'{text}' is no JSON object with the fields of a reply; for example '{{\"id\":7}}'"
            )),
        }
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Lengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.least == self.most {
            write!(f, "{}", self.least)
        } else {
            write!(f, "{}..{}", self.least, self.most)
        }
    }
}

impl fmt::Display for Needle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Records keep typed values in the form of the command line.
macro_rules! as_text {
    ($($of:ty),*) => {
        $(
            impl TryFrom<String> for $of {
                type Error = String;

                fn try_from(text: String) -> Result<Self, String> {
                    text.parse()
                }
            }

            impl From<$of> for String {
                fn from(value: $of) -> Self {
                    value.to_string()
                }
            }
        )*
    };
}

as_text!(Statuses, Lengths, Needle, Digest);

impl TryFrom<Value> for Json {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::String(text) => text.parse(),
            other => other.to_string().parse(),
        }
    }
}

impl From<Json> for String {
    fn from(json: Json) -> Self {
        json.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::FieldValue;

    #[test]
    fn checks_are_read_and_written_in_the_words_of_the_command_line() {
        let text = format!(
            "{{\"status\":\"2xx,304\",\"length\":\"10..2000\",\"body\":\"ok\",\"sha256\":\"{}\"}}",
            "0a".repeat(32)
        );
        let checks: Checks = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&checks).unwrap(), text);
        let statuses = checks.status.clone().unwrap();
        let held = [199, 200, 299, 300, 304, 305].map(|status| statuses.holds(status));
        assert_eq!(held, [false, true, true, false, true, false]);
        assert_eq!(checks.sha256, Some(Digest([10; 32])));
        assert_eq!("1k..2k".parse(), Ok(Lengths { least: 1000, most: 2000 }));
        let text = "{\"json\":\"{\\\"id\\\":7}\"}";
        for written in [text, "{\"json\":{\"id\":7}}"] {
            let checks: Checks = serde_json::from_str(written).unwrap();
            assert_eq!(serde_json::to_string(&checks).unwrap(), text);
        }
    }

    #[test]
    fn what_cannot_be_checked_is_refused_with_an_example() {
        let refused = [
            "101".parse::<Statuses>().unwrap_err(),
            "600".parse::<Statuses>().unwrap_err(),
            "1xx".parse::<Statuses>().unwrap_err(),
            "2xx,".parse::<Statuses>().unwrap_err(),
            "+20".parse::<Statuses>().unwrap_err(),
            "5..4".parse::<Lengths>().unwrap_err(),
            "..4".parse::<Lengths>().unwrap_err(),
            "".parse::<Needle>().unwrap_err(),
            "abc".parse::<Digest>().unwrap_err(),
            "é".repeat(32).parse::<Digest>().unwrap_err(),
            "id".parse::<Json>().unwrap_err(),
            "[1]".parse::<Json>().unwrap_err(),
            "{}".parse::<Json>().unwrap_err(),
        ];
        for error in refused {
            assert!(error.contains("for example"), "{error}");
        }
        assert!(serde_json::from_str::<Checks>("{\"lenght\":\"5\"}").is_err());
    }

    #[test]
    fn a_target_adds_to_the_checks_of_all() {
        let field = |value| Field { path: vec![1], value, is_default: false };
        let all = Checks {
            status: "200".parse().ok(),
            length: "5".parse().ok(),
            json: "{\"a\":1}".parse().ok(),
            fields: vec![field(FieldValue::Varint(1))],
            ..Checks::default()
        };
        let own = Checks { length: "7".parse().ok(), ..Checks::default() };
        let both = own.or(&all);
        assert_eq!((&both.status, both.length), (&all.status, "7".parse().ok()));
        assert_eq!((&both.json, &both.fields), (&all.json, &all.fields));
        // Those of another object are not mixed in.
        let own = Checks { json: "{\"b\":1}".parse().ok(), ..Checks::default() };
        assert_eq!(own.clone().or(&all).fields, own.fields);
    }
}
