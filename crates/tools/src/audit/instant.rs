//! Instants in rows: milliseconds since 1970, or a date and a time as people write them.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// An instant as written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Instant {
    /// Seconds since 1970; of a date, in an unknown time zone.
    pub seconds: f64,
    /// The step in which it was written, seconds.
    pub step_s: f64,
    /// The first two numbers of a date that may be month and day or day and month.
    pub unclear: Option<(i16, i16)>,
}

/// What is accepted.
pub const ACCEPTED: &str =
    "milliseconds since 1970, `2026/01/31 12:00:00.000`, or `01/31/26 12:00:00`";

impl Instant {
    /// Reads milliseconds since 1970, or a date and a time: the year first, or last and then the
    /// month first as JMeter writes it, unless that is no month.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(ms) = text.parse::<f64>() {
            return ms.is_finite().then_some(Self {
                seconds: ms / 1e3,
                step_s: 0.0,
                unclear: None,
            });
        }
        let (date, time) = text.split_once([' ', 'T'])?;
        let (year, month, day, unclear) = self::date(date)?;
        let (time, zone_s) = zone(time.trim())?;
        let (clock, fraction) = time.split_once(['.', ',']).unwrap_or((time, ""));
        let [hour, minute, second] = numbers::<i8>(clock, &[':'])?;
        let at = DateTime::new(year, month, day, hour, minute, second, 0).ok()?;
        let whole = at.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second() as f64;
        let part = if fraction.is_empty() { 0.0 } else { format!("0.{fraction}").parse().ok()? };
        let is_digits = fraction.len() <= 9 && fraction.bytes().all(|byte| byte.is_ascii_digit());
        is_digits.then_some(Self {
            seconds: whole + part - zone_s,
            step_s: if fraction.len() >= 3 { 0.0 } else { 10_f64.powi(-(fraction.len() as i32)) },
            unclear,
        })
    }
}

/// Year, month, day, and the first two numbers where their order is not clear.
type Date = (i16, i8, i8, Option<(i16, i16)>);

fn date(text: &str) -> Option<Date> {
    let [a, b, c] = numbers::<i16>(text, &['/', '-', '.'])?;
    let small = |value: i16| i8::try_from(value).ok();
    if text.find(|char: char| !char.is_ascii_digit()) == Some(4) {
        return Some((a, small(b)?, small(c)?, None));
    }
    let year = if c < 100 { 2000 + c } else { c };
    let unclear = (a <= 12 && b <= 12 && a != b).then_some((a, b));
    let (month, day) = if a > 12 { (b, a) } else { (a, b) };
    Some((year, small(month)?, small(day)?, unclear))
}

/// Three whole numbers between marks of which each is the same.
fn numbers<N: std::str::FromStr>(text: &str, marks: &[char]) -> Option<[N; 3]> {
    let mark = text.chars().find(|char| marks.contains(char))?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = text.split(mark).collect();
    let [a, b, c] = parts[..] else { return None };
    let one = |part: &str| part.parse::<N>().ok().filter(|_| is_number(part));
    Some([one(a)?, one(b)?, one(c)?])
}

/// A time without its zone, and the zone in seconds: `12:00:00.000Z`, `12:00:00+01:00`.
fn zone(text: &str) -> Option<(&str, f64)> {
    if let Some(time) = text.strip_suffix(['Z', 'z']) {
        return Some((time, 0.0));
    }
    let Some(at) = text.rfind(['+', '-']) else { return Some((text, 0.0)) };
    let sign = if text[at..].starts_with('-') { -1.0 } else { 1.0 };
    let digits: String = text[at + 1..].chars().filter(|char| *char != ':').collect();
    let (hours, minutes) = digits.split_at_checked(2).filter(|_| digits.len() == 4)?;
    let minutes = hours.parse::<f64>().ok()? * 60.0 + minutes.parse::<f64>().ok()?;
    Some((text[..at].trim_end(), sign * minutes * 60.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 22:13:20 of the 14th of November 2023 are 1,700,000,000 s.
    #[test]
    fn one_instant_in_many_forms() {
        for (text, seconds, step_s) in [
            ("1700000000000", 1.7e9, 0.0),
            ("2023/11/14 22:13:20.250", 1.7e9 + 0.25, 0.0),
            ("2023/11/14 22:13:20", 1.7e9, 1.0),
            ("2023-11-14 22:13:20,5", 1.7e9 + 0.5, 0.1),
            ("2023-11-14T22:13:20.000Z", 1.7e9, 0.0),
            ("2023-11-14T23:13:20.000+0100", 1.7e9, 0.0),
            ("2023-11-14 16:13:20.000 -06:00", 1.7e9, 0.0),
            ("11/14/23 22:13:20", 1.7e9, 1.0),
            ("14.11.2023 22:13:20.000", 1.7e9, 0.0),
        ] {
            let of = Instant::read(text).expect(text);
            assert!((of.seconds - seconds).abs() < 1e-6, "{text}: {of:?}");
            assert_eq!((of.step_s, of.unclear), (step_s, None), "{text}");
        }
        assert_eq!(Instant::read("03/04/23 10:00:00").unwrap().unclear, Some((3, 4)));
        for text in [
            "",
            "home",
            "2023/11/14",
            "22:13:20",
            "2023/13/14 22:13:20",
            "2023/11/14 25:00:00",
            "Nov 14 2023 22:13:20",
            "2023/11/14 22:13:20.x",
            "2023/11-14 22:13:20",
            "NaN",
            "2023/11/14 10:13:20 PM",
            "2023/11/14 22:13:20 +1",
        ] {
            assert_eq!(Instant::read(text), None, "{text}");
        }
    }
}
