//! Cutting kernel text into lines, words and numbers without allocating.

/// A kernel file did not look as expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found '{found}'")]
pub struct ParseError {
    /// What should have been there, as a noun phrase.
    pub expected: &'static str,
    /// The start of what was there.
    pub found: String,
}

impl ParseError {
    /// An error that quotes at most the first 60 bytes of what was found.
    pub fn new(expected: &'static str, found: &[u8]) -> Self {
        Self { expected, found: text(&found[..found.len().min(60)]) }
    }
}

/// CPU numbers at or above this are refused; the kernel's own limit is 8192.
const CPUS_MAX: u64 = 8192;

/// The lines of a file, without the empty one after the last newline.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    whole.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

/// Words between blanks, with access to what has not been cut yet.
#[derive(Debug, Clone)]
pub struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    /// What follows the words taken so far, blanks around it removed.
    pub fn rest(&self) -> &'a [u8] {
        self.rest.trim_ascii()
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.rest.trim_ascii_start();
        let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
        let (word, rest) = line.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }
}

/// Cuts a line into words.
pub fn words(line: &[u8]) -> Words<'_> {
    Words { rest: line }
}

/// A decimal number that fits 64 bits, nothing else around it.
pub fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u64, |value, &byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { value.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

/// A hexadecimal number that fits 32 bits.
pub fn hex32(word: &[u8]) -> Option<u32> {
    if word.is_empty() || word.len() > 8 {
        return None;
    }
    word.iter().try_fold(0u32, |value, &byte| Some((value << 4) | hex_digit(byte)?))
}

/// A hexadecimal number that fits 64 bits.
pub fn hex64(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > 16 {
        return None;
    }
    word.iter().try_fold(0u64, |value, &byte| Some((value << 4) | u64::from(hex_digit(byte)?)))
}

fn hex_digit(byte: u8) -> Option<u32> {
    char::from(byte).to_digit(16)
}

/// Text that is almost always ASCII; anything else is replaced, never refused.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A list as the kernel prints CPU sets: `0-3,8,10-11`. An empty list is empty.
pub fn cpu_list(bytes: &[u8]) -> Result<Vec<u32>, ParseError> {
    let error = || ParseError::new("a CPU list such as 0-3,8", bytes);
    let mut cpus = Vec::new();
    for span in bytes.trim_ascii().split(|&byte| byte == b',') {
        if span.is_empty() {
            continue;
        }
        let mut ends = span.splitn(2, |&byte| byte == b'-').map(<[u8]>::trim_ascii);
        let first = ends.next().and_then(number).ok_or_else(error)?;
        let last = ends.next().map_or(Some(first), number).ok_or_else(error)?;
        if last < first || last >= CPUS_MAX {
            return Err(error());
        }
        cpus.extend(first as u32..=last as u32);
    }
    Ok(cpus)
}

/// The CPU numbers of a header line such as `CPU0  CPU1  CPU4`. Numbers of CPUs that are offline
/// are left out by the kernel, so a column's place is not its CPU.
pub fn cpu_columns(header: &[u8]) -> Result<Vec<usize>, ParseError> {
    let error = || ParseError::new("a header of columns CPU0 CPU1 ...", header);
    let mut columns = Vec::new();
    for word in words(header) {
        let cpu = word.strip_prefix(b"CPU").and_then(number).ok_or_else(error)?;
        if cpu >= CPUS_MAX {
            return Err(error());
        }
        columns.push(cpu as usize);
    }
    if columns.is_empty() { Err(error()) } else { Ok(columns) }
}

/// Takes one number per column from `words` into a vector indexed by CPU number. A CPU without a
/// column is offline and has a zero, whatever it counted before it went.
pub fn per_cpu(words: &mut Words<'_>, columns: &[usize]) -> Result<Vec<u64>, ParseError> {
    let length = columns.iter().max().map_or(0, |cpu| cpu + 1);
    let mut counts = vec![0; length];
    for &cpu in columns {
        let found = words.rest();
        let count = words.next().and_then(number);
        counts[cpu] = count.ok_or_else(|| ParseError::new("one count per CPU", found))?;
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_or_refused() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        for word in [&b""[..], b"-1", b"1x", b"18446744073709551616", b" 1"] {
            assert_eq!(number(word), None, "{word:?}");
        }
        assert_eq!(hex32(b"ffffffff"), Some(u32::MAX));
        assert_eq!(hex32(b"100000000"), None);
        assert_eq!(hex32(b"g"), None);
    }

    #[test]
    fn cpu_lists_are_spelled_out() {
        assert_eq!(cpu_list(b"0-3,8\n"), Ok(vec![0, 1, 2, 3, 8]));
        assert_eq!(cpu_list(b"\n"), Ok(vec![]));
        for list in [&b"3-1"[..], b"0-99999999999", b"a", b"0-", b"-1"] {
            assert!(cpu_list(list).is_err(), "{list:?}");
        }
    }

    #[test]
    fn offline_cpus_leave_gaps() {
        let columns = cpu_columns(b"   CPU0   CPU2 \n").unwrap();
        assert_eq!(columns, [0, 2]);
        assert_eq!(per_cpu(&mut words(b" 7 9 chip"), &columns), Ok(vec![7, 0, 9]));
        assert!(per_cpu(&mut words(b" 7"), &columns).is_err());
        assert!(cpu_columns(b"CPU0 CPU99999999").is_err());
    }

    #[test]
    fn words_tell_what_is_left() {
        let mut words = words(b"  a bb   c d ");
        assert_eq!((words.next(), words.next()), (Some(&b"a"[..]), Some(&b"bb"[..])));
        assert_eq!(words.rest(), b"c d");
    }
}
