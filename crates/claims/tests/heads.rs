//! Responses put together from what RFC 9112 allows, forbids and leaves open, many of each.

use claims::{http1_oracle, http1_pieces};

/// Texts made of so many pieces at random.
const TEXTS: usize = 40_000;

const STARTS: [&str; 14] = [
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 200\r\n",
    "HTTP/1.1 204 No Content\r\n",
    "HTTP/1.1 304 \r\n",
    "HTTP/1.0 200 OK\r\n",
    "HTTP/1.7 200 OK\n",
    "HTTP/1.1  200\tOK\r\n",
    "\r\nHTTP/1.1 999 Odd\r\n",
    "HTTP/1.1 600 \u{7}\r\n",
    "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n",
    "http/1.1 200 OK\r\n",
    "HTTP/1.1 2000 OK\r\n",
    "HTTP/2.0 200 OK\r\n",
];

const LINES: [&str; 32] = [
    "Content-Length: 5\r\n",
    "Content-Length: 5\r\n",
    "content-length:5\n",
    "Content-Length : 5\r\n",
    "Content-Length: 5, 5\r\n",
    "Content-Length: ,5,\r\n",
    "Content-Length: 6\r\n",
    "Content-Length: +5\r\n",
    "Content-Length:\r\n",
    "Content-Length:\r\n\t5\r\n",
    "Content-Length: 5\r\n 5\r\n",
    "Content-Length: 99999999999999999999\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip,\r\n chunked\r\n",
    "Transfer-Encoding: identity\r\n",
    "Transfer-Encoding: gzip\r\n",
    "Transfer-Encoding: chun ked\r\n",
    "Transfer-Encoding:\r\n",
    "Connection: close\r\n",
    "Connection: keep-alive\r\n",
    "Connection: a,\r\n close\r\n",
    "Connection: clo se\r\n",
    "X-A: b\r\n",
    "X-A: b;\r\n  c=d;\r\n\te: close\r\n",
    "X-A: \u{1}\u{1b}\u{7f}\r\n",
    " before: any\r\n",
    "X-A b\r\n",
    ": b\r\n",
    "X-A: b\0\r\n",
    "X-A: b\rc\r\n",
    "X(A): b\r\n",
    "X-A:b\n",
];

const BODIES: [&str; 12] = [
    "hello",
    "hello",
    "5\r\nhello\r\n0\r\n\r\n",
    "5 ;a=\"b\"\r\nhello\r\n0\r\nX-Sum: 1\n folded\r\n\n",
    "0005  \r\nhello\r\n00\r\n\r\n",
    "5\nhello\r\n0\r\n\r\n",
    "5\r\nhelloX\r\n",
    "0x5\r\nhello\r\n",
    "11112222333344445\r\n",
    "hel",
    "hello, world\n",
    "",
];

struct Draw(u64);

impl Draw {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % count
    }

    fn one<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

#[test]
fn every_response_means_what_the_rfc_says_in_any_pieces() {
    let mut draw = Draw(0x9e37_79b9_7f4a_7c15);
    for _ in 0..TEXTS {
        let mut text = draw.one(&STARTS).to_string();
        (0..draw.below(4)).for_each(|_| text += draw.one(&LINES));
        text += if draw.below(8) == 0 { "\n" } else { "\r\n" };
        text += draw.one(&BODIES);
        let mut bytes = text.into_bytes();
        // Most are left as they are; in the others one byte is another.
        if draw.below(3) == 0 {
            let at = draw.below(bytes.len());
            bytes[at] = draw.below(256) as u8;
        }
        http1_oracle::hold(&bytes);
        let piece = draw.below(256) as u8;
        http1_pieces::hold(&[&[piece], &bytes[..]].concat());
    }
}
