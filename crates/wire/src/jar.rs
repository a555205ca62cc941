//! The cookies of one user (RFC 6265), all of one server.
//!
//! A cookie has a name, a value and a path. What a browser would keep for longer than a flow takes
//! does not matter: a cookie lives until the server removes it or the user is through.

use crate::http2::Scheme;

/// Most cookies of a user.
pub const COOKIES_MAX: usize = 32;
/// Most bytes of the cookies of a user.
pub const BYTES_MAX: usize = 8 * 1024;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Jar {
    cookies: Vec<Cookie>,
    bytes: Vec<u8>,
    is_full: bool,
}

/// Where name, value and path lie, one after the other.
#[derive(Debug, Clone, Copy)]
struct Cookie {
    start: usize,
    name: usize,
    value: usize,
    path: usize,
    is_secure: bool,
}

impl Cookie {
    fn length(self) -> usize {
        self.name + self.value + self.path
    }
}

impl Jar {
    /// Forgets all cookies: the next user begins.
    pub fn clear(&mut self) {
        self.cookies.clear();
        self.bytes.clear();
        self.is_full = false;
    }

    /// Whether a cookie found no place.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    fn part(&self, cookie: Cookie) -> (&[u8], &[u8], &[u8]) {
        let all = &self.bytes[cookie.start..cookie.start + cookie.length()];
        let (name, rest) = all.split_at(cookie.name);
        let (value, path) = rest.split_at(cookie.value);
        (name, value, path)
    }

    /// Takes the value of a field Set-Cookie of the response to a request for `request_path`, which
    /// has come at `now_s`, in seconds of Unix time.
    pub fn take(&mut self, line: &[u8], request_path: &[u8]) {
        let mut parts = line.split(|byte| *byte == b';');
        let pair = parts.next().unwrap_or_default();
        let Some(equal) = pair.iter().position(|byte| *byte == b'=') else { return };
        let (name, value) = (pair[..equal].trim_ascii(), pair[equal + 1..].trim_ascii());
        if name.is_empty() {
            return;
        }
        let mut path = default_path(request_path);
        let (mut is_over, mut is_secure) = (false, false);
        for part in parts {
            let equal = part.iter().position(|byte| *byte == b'=').unwrap_or(part.len());
            let (key, value) = (part[..equal].trim_ascii(), part.get(equal + 1..));
            let value = value.unwrap_or_default().trim_ascii();
            if key.eq_ignore_ascii_case(b"path") && value.starts_with(b"/") {
                path = value;
            } else if key.eq_ignore_ascii_case(b"max-age") {
                is_over |= value.starts_with(b"-") || value.iter().all(|byte| *byte == b'0');
            } else if key.eq_ignore_ascii_case(b"expires") {
                is_over |= is_long_past(value);
            } else if key.eq_ignore_ascii_case(b"secure") {
                is_secure = true;
            }
        }
        self.remove(name, path);
        if !is_over {
            self.put((name, value, path), is_secure);
        }
    }

    fn remove(&mut self, name: &[u8], path: &[u8]) {
        let same = |jar: &Self, cookie: Cookie| {
            let (its_name, _, its_path) = jar.part(cookie);
            its_name == name && its_path == path
        };
        let Some(place) = self.cookies.iter().position(|cookie| same(self, *cookie)) else {
            return;
        };
        let gone = self.cookies.remove(place);
        self.bytes.drain(gone.start..gone.start + gone.length());
        for cookie in self.cookies.iter_mut().filter(|cookie| cookie.start > gone.start) {
            cookie.start -= gone.length();
        }
    }

    fn put(&mut self, (name, value, path): (&[u8], &[u8], &[u8]), is_secure: bool) {
        let (start, length) = (self.bytes.len(), name.len() + value.len() + path.len());
        if self.cookies.len() == COOKIES_MAX || start + length > BYTES_MAX {
            self.is_full = true;
            return;
        }
        for part in [name, value, path] {
            self.bytes.extend_from_slice(part);
        }
        let (name, value, path) = (name.len(), value.len(), path.len());
        self.cookies.push(Cookie { start, name, value, path, is_secure });
    }

    /// Appends the cookies for a request, as `a=1; b=2`, those with the longest paths first;
    /// nothing if there are none.
    pub fn put_into(&self, request_path: &[u8], scheme: Scheme, output: &mut Vec<u8>) {
        let path = request_path.split(|byte| *byte == b'?').next().unwrap_or_default();
        let begin = output.len();
        // Paths are few and short; each length in turn needs no memory.
        let longest = self.cookies.iter().map(|cookie| cookie.path).max().unwrap_or(0);
        for length in (0..=longest).rev() {
            for cookie in self.cookies.iter().filter(|cookie| cookie.path == length) {
                let (name, value, its_path) = self.part(*cookie);
                if !is_below(path, its_path) || cookie.is_secure && scheme == Scheme::Http {
                    continue;
                }
                if output.len() > begin {
                    output.extend_from_slice(b"; ");
                }
                for part in [name, b"=", value] {
                    output.extend_from_slice(part);
                }
            }
        }
    }
}

/// The path of a cookie that has none (RFC 6265, 5.1.4).
fn default_path(request_path: &[u8]) -> &[u8] {
    let path = request_path.split(|byte| *byte == b'?').next().unwrap_or_default();
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) if slash > 0 => &path[..slash],
        _ => b"/",
    }
}

/// Whether a path is the one of a cookie or below it (RFC 6265, 5.1.4).
fn is_below(path: &[u8], cookie: &[u8]) -> bool {
    path.strip_prefix(cookie)
        .is_some_and(|rest| rest.is_empty() || cookie.ends_with(b"/") || rest.starts_with(b"/"))
}

/// Whether a date lies so far back that it is there to remove a cookie: its year is before 2000.
fn is_long_past(date: &[u8]) -> bool {
    let mut numbers = date.split(|byte| !byte.is_ascii_digit());
    let year = numbers.find(|digits| digits.len() == 4);
    year.is_some_and(|year| year < b"2000".as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(jar: &Jar, path: &str) -> String {
        let mut line = Vec::new();
        jar.put_into(path.as_bytes(), Scheme::Http, &mut line);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn cookies_come_back_below_their_paths_until_they_are_removed() {
        let mut jar = Jar::default();
        let mut take = |line: &str, path: &str| jar.take(line.as_bytes(), path.as_bytes());
        take("sid=abc; Path=/; HttpOnly; SameSite=Lax", "/login?next=/");
        take("theme = dark ", "/shop/a/b");
        take("cart=1; path=/shop; Max-Age=600", "/");
        take("key=hidden; Secure; Path=/", "/");
        take("no pair", "/");
        take("=no name", "/");
        assert_eq!(sent(&jar, "/"), "sid=abc");
        assert_eq!(sent(&jar, "/shop/a/c?x=/shop/a/b"), "theme=dark; cart=1; sid=abc");
        assert_eq!(sent(&jar, "/shopping"), "sid=abc");
        let mut secure = Vec::new();
        jar.put_into(b"/", Scheme::Https, &mut secure);
        assert_eq!(secure, b"sid=abc; key=hidden");
        let mut take = |line: &str| jar.take(line.as_bytes(), b"/");
        take("sid=new; Path=/");
        take("cart=; Path=/shop; Max-Age=0");
        take("key=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(sent(&jar, "/shop"), "sid=new");
    }

    #[test]
    fn cookies_by_the_thousand_take_no_more_memory_than_some() {
        let mut jar = Jar::default();
        for number in 0..1000 {
            jar.take(format!("c{number}={}", "x".repeat(number)).as_bytes(), b"/");
        }
        assert!(jar.is_full() && jar.cookies.len() <= COOKIES_MAX && jar.bytes.len() <= BYTES_MAX);
        jar.clear();
        assert!(!jar.is_full() && sent(&jar, "/").is_empty());
    }
}
