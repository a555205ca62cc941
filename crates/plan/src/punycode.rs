//! Host names outside of ASCII, in the form that resolvers and servers know (RFC 5890, RFC 3492).
//!
//! In: a name as people write it. Out: the same in lower case, with `xn--` in front of each label
//! that was not ASCII. A character that is no letter or digit by itself, such as a mark that
//! belongs to the letter before it, is refused: which name it stands for takes tables that a
//! resolver of names has and a load generator does not need.

/// Smallest code point outside of ASCII.
const FIRST: u32 = 0x80;
const BASE: u32 = 36;
const T_MIN: u32 = 1;
const T_MAX: u32 = 26;
/// Longest label, bytes (RFC 1035, section 2.3.4).
const LABEL_MAX: usize = 63;

/// A host name or IPv4 address in ASCII; nothing when it can be neither.
pub fn ascii(host: &str) -> Option<String> {
    let labels: Option<Vec<String>> = host.split('.').map(label).collect();
    labels.map(|labels| labels.join(".")).filter(|host| !host.is_empty())
}

fn label(text: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if text.is_ascii() {
        return text.bytes().all(is_plain).then(|| text.to_string());
    }
    let lower: Vec<char> = text.to_lowercase().chars().collect();
    let is_known = |c: char| if c.is_ascii() { is_plain(c as u8) } else { c.is_alphanumeric() };
    if !lower.iter().all(|c| is_known(*c)) {
        return None;
    }
    let label = format!("xn--{}", encode(&lower)?);
    (label.len() <= LABEL_MAX).then_some(label)
}

/// The encoder of RFC 3492, section 6.3.
fn encode(input: &[char]) -> Option<String> {
    let mut output: String = input.iter().filter(|c| c.is_ascii()).collect();
    let basic = output.len() as u32;
    let mut handled = basic;
    if basic > 0 {
        output.push('-');
    }
    let (mut next, mut delta, mut bias) = (FIRST, 0u32, 72);
    while (handled as usize) < input.len() {
        let least = input.iter().map(|c| u32::from(*c)).filter(|code| *code >= next).min()?;
        delta = delta.checked_add((least - next).checked_mul(handled + 1)?)?;
        next = least;
        for code in input.iter().map(|c| u32::from(*c)) {
            if code < next {
                delta = delta.checked_add(1)?;
            }
            if code == next {
                put(&mut output, delta, bias);
                bias = adapted(delta, handled + 1, handled == basic);
                (delta, handled) = (0, handled + 1);
            }
        }
        (delta, next) = (delta.checked_add(1)?, next + 1);
    }
    Some(output)
}

/// A number of variable length.
fn put(output: &mut String, mut number: u32, bias: u32) {
    let digit = |value: u32| char::from(if value < 26 { b'a' } else { b'0' - 26 } + value as u8);
    for k in (BASE..).step_by(BASE as usize) {
        let threshold = k.saturating_sub(bias).clamp(T_MIN, T_MAX);
        if number < threshold {
            break;
        }
        output.push(digit(threshold + (number - threshold) % (BASE - threshold)));
        number = (number - threshold) / (BASE - threshold);
    }
    output.push(digit(number));
}

/// Section 6.1.
fn adapted(delta: u32, points: u32, is_first: bool) -> u32 {
    let mut delta = if is_first { delta / 700 } else { delta / 2 };
    delta += delta / points;
    let mut k = 0;
    while delta > (BASE - T_MIN) * T_MAX / 2 {
        delta /= BASE - T_MIN;
        k += BASE;
    }
    k + (BASE - T_MIN + 1) * delta / (delta + 38)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of RFC 3492, section 7.1, and names that are in use.
    #[test]
    fn names_outside_of_ascii_have_the_form_of_the_resolver() {
        let cases = [
            ("münchen.test", "xn--mnchen-3ya.test"),
            ("MÜNCHEN.test", "xn--mnchen-3ya.test"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("他们为什么不说中文", "xn--ihqwcrb4cv8a8dqg056pqjye"),
            ("почемужеонинеговорятпорусски", "xn--b1abfaaepdrnnbgefbadotcwatmq2g4l"),
            ("ليهمابتكلموشعربي؟", ""),
            ("3年b組金八先生", "xn--3b-ww4c5e180e575a65lsy2b"),
            ("straße.de", "xn--strae-oqa.de"),
            ("Example.TEST", "Example.TEST"),
            ("127.0.0.1", "127.0.0.1"),
            ("a_b-c", "a_b-c"),
        ];
        for (typed, expected) in cases {
            let expected = (!expected.is_empty()).then_some(expected);
            assert_eq!(ascii(typed).as_deref(), expected, "{typed}");
        }
    }

    #[test]
    fn what_no_resolver_would_know_is_refused() {
        let long = "ü".repeat(70);
        for wrong in ["", "a b", "a/b", "u\u{308}.test", "a\u{200b}ü", "ü ", "a:b", &long] {
            assert_eq!(ascii(wrong), None, "{wrong:?}");
        }
    }
}
