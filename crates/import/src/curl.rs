//! Command lines of curl: one step for each URL.

mod words;

use crate::draft::{Body, Braces, Content, Draft, Item, Left, Part, Step, Text};
use crate::url::{self, part_encoded};
use flow::Wrong;
use words::Command;

/// What an option of curl means for a flow.
#[derive(Clone, Copy)]
enum Means {
    /// Sets something of the request.
    Sets(fn(&mut Asked, &str)),
    /// The same, without a value.
    Is(fn(&mut Asked)),
    /// Another request follows.
    Next,
    /// Says something about a run; the text says what to give instead.
    OfRun(Takes, &'static str),
    /// Changes nothing of what is sent.
    Nothing(Takes),
}

/// Whether a value follows an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Value,
    None,
}

use Means::{Is, Next, Nothing, OfRun, Sets};

/// The options of curl: letter, name, meaning.
const OPTIONS: &[(&str, &str, Means)] = &[
    ("H", "header", Sets(|asked, text| asked.header(text))),
    ("X", "request", Sets(|asked, text| asked.method = Some(text.to_string()))),
    ("", "url", Sets(|asked, text| asked.urls.push(text.to_string()))),
    ("d", "data", Sets(|asked, text| asked.data(text, Data::Text))),
    ("", "data-ascii", Sets(|asked, text| asked.data(text, Data::Text))),
    ("", "data-binary", Sets(|asked, text| asked.data(text, Data::Binary))),
    ("", "data-raw", Sets(|asked, text| asked.data(text, Data::Raw))),
    ("", "data-urlencode", Sets(|asked, text| asked.data(text, Data::Encoded))),
    ("", "json", Sets(|asked, text| asked.json(text))),
    ("F", "form", Sets(|asked, text| asked.part(text))),
    ("", "form-string", Sets(|asked, text| asked.part_text(text))),
    ("T", "upload-file", Sets(|asked, text| asked.upload(text))),
    ("u", "user", Sets(|asked, text| asked.user(text))),
    (
        "",
        "oauth2-bearer",
        Sets(|asked, text| asked.add("Authorization", &format!("Bearer {text}"))),
    ),
    ("b", "cookie", Sets(|asked, text| asked.cookies(text))),
    ("A", "user-agent", Sets(|asked, text| asked.add("User-Agent", text))),
    ("e", "referer", Sets(|asked, text| asked.add("Referer", text))),
    ("r", "range", Sets(|asked, text| asked.add("Range", &format!("bytes={text}")))),
    ("m", "max-time", Sets(|asked, text| asked.seconds("max-time", text))),
    ("", "max-redirs", Sets(|asked, text| asked.max_redirects = Some(text.to_string()))),
    ("G", "get", Is(|asked| asked.is_get = true)),
    ("I", "head", Is(|asked| asked.is_head = true)),
    ("L", "location", Is(|asked| asked.is_followed = true)),
    ("", "location-trusted", Is(|asked| asked.is_followed = true)),
    (
        "",
        "compressed",
        Is(|asked| {
            asked.note(
                "--compressed: left out, because values are looked for in bodies as they come",
            );
        }),
    ),
    (":", "next", Next),
    ("k", "insecure", OfRun(Takes::None, "-k")),
    ("x", "proxy", OfRun(Takes::Value, "-x URL")),
    ("", "cacert", OfRun(Takes::Value, "--cacert FILE")),
    ("E", "cert", OfRun(Takes::Value, "--cert FILE")),
    ("", "key", OfRun(Takes::Value, "--key FILE")),
    ("", "resolve", OfRun(Takes::Value, "--resolve")),
    ("", "connect-to", OfRun(Takes::Value, "--connect-to")),
    ("", "unix-socket", OfRun(Takes::Value, "--unix-socket PATH")),
    ("", "connect-timeout", OfRun(Takes::Value, "--timeout T")),
    ("", "http1.1", OfRun(Takes::None, "--http 1")),
    ("0", "http1.0", OfRun(Takes::None, "--http 1")),
    ("", "http2", OfRun(Takes::None, "--http 2")),
    ("", "http2-prior-knowledge", OfRun(Takes::None, "--http 2")),
    ("", "http3", OfRun(Takes::None, "--http 2")),
    ("", "retry", OfRun(Takes::Value, "nothing; a failed step is a result")),
    ("", "digest", OfRun(Takes::None, "nothing; only Basic and tokens are possible")),
    ("", "ntlm", OfRun(Takes::None, "nothing; only Basic and tokens are possible")),
    ("", "negotiate", OfRun(Takes::None, "nothing; only Basic and tokens are possible")),
    ("", "aws-sigv4", OfRun(Takes::Value, "nothing; only Basic and tokens are possible")),
    ("", "basic", Nothing(Takes::None)),
    ("s", "silent", Nothing(Takes::None)),
    ("S", "show-error", Nothing(Takes::None)),
    ("v", "verbose", Nothing(Takes::None)),
    ("i", "include", Nothing(Takes::None)),
    ("", "show-headers", Nothing(Takes::None)),
    ("f", "fail", Nothing(Takes::None)),
    ("", "fail-with-body", Nothing(Takes::None)),
    ("N", "no-buffer", Nothing(Takes::None)),
    ("g", "globoff", Nothing(Takes::None)),
    ("O", "remote-name", Nothing(Takes::None)),
    ("J", "remote-header-name", Nothing(Takes::None)),
    ("#", "progress-bar", Nothing(Takes::None)),
    ("", "no-progress-meter", Nothing(Takes::None)),
    ("", "path-as-is", Nothing(Takes::None)),
    ("4", "ipv4", Nothing(Takes::None)),
    ("6", "ipv6", Nothing(Takes::None)),
    ("", "tlsv1.2", Nothing(Takes::None)),
    ("", "tlsv1.3", Nothing(Takes::None)),
    ("", "ssl-no-revoke", Nothing(Takes::None)),
    ("q", "disable", Nothing(Takes::None)),
    ("Z", "parallel", Nothing(Takes::None)),
    ("o", "output", Nothing(Takes::Value)),
    ("w", "write-out", Nothing(Takes::Value)),
    ("D", "dump-header", Nothing(Takes::Value)),
    ("c", "cookie-jar", Nothing(Takes::Value)),
    ("", "stderr", Nothing(Takes::Value)),
    ("", "trace-ascii", Nothing(Takes::Value)),
    ("", "limit-rate", Nothing(Takes::Value)),
    ("", "retry-delay", Nothing(Takes::Value)),
    ("", "noproxy", Nothing(Takes::Value)),
];

/// How data of a body is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Data {
    /// `@file` without its line ends.
    Text,
    /// `@file` as it is.
    Binary,
    /// `@` is a letter like any other.
    Raw,
    /// Percent-encoded.
    Encoded,
}

/// What one command, up to `--next`, asks for.
#[derive(Default)]
struct Asked {
    urls: Vec<String>,
    method: Option<String>,
    step: Step,
    data: Vec<String>,
    file: Option<String>,
    parts: Vec<Part>,
    input: Option<String>,
    max_redirects: Option<String>,
    is_get: bool,
    is_head: bool,
    is_followed: bool,
    is_json: bool,
    is_upload: bool,
}

/// Reads command lines.
pub fn read(text: &str) -> Result<Draft, Wrong> {
    let mut draft = Draft::default();
    for command in words::split(text)? {
        let program = command.words.iter().position(|word| word != "$" && word != ">");
        let Some(at) = program else { continue };
        let name = command.words[at].rsplit(['/', '\\']).next().unwrap_or_default();
        if !["curl", "curl.exe"].contains(&name) {
            let what = format!("line {}: {}", command.line, command.words[at]);
            draft.items.push(Item::Left(Left::new(&what, "no command of curl")));
            continue;
        }
        requests(&command, &command.words[at + 1..], &mut draft)?;
    }
    Ok(draft)
}

/// Reads the arguments of one command.
fn requests(command: &Command, words: &[String], draft: &mut Draft) -> Result<(), Wrong> {
    let wrong = |what: String| Wrong { line: command.line, what };
    let mut asked = Asked::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
            if word == "<<" {
                asked.input = words.next().cloned();
            } else {
                asked.urls.push(word.clone());
            }
            continue;
        };
        if let Some(name) = letters.strip_prefix("--").or(letters.strip_prefix('-')) {
            let means = find(|(_, long)| long == name, word).map_err(wrong)?;
            if !carry_out(means, word, None, (&mut asked, &mut words)).map_err(wrong)? {
                std::mem::take(&mut asked).end(draft);
            }
            continue;
        }
        // Letters in one word; the rest of it is the value of one that takes a value.
        for (at, letter) in letters.char_indices() {
            let option = format!("-{letter}");
            let means = find(|(short, _)| *short == letter.to_string(), &option).map_err(wrong)?;
            let rest = &letters[at + letter.len_utf8()..];
            let glued = (takes(means) == Takes::Value && !rest.is_empty()).then_some(rest);
            if !carry_out(means, &option, glued, (&mut asked, &mut words)).map_err(wrong)? {
                std::mem::take(&mut asked).end(draft);
            }
            if takes(means) == Takes::Value {
                break;
            }
        }
    }
    asked.end(draft);
    Ok(())
}

fn find(is: impl Fn((&&str, &str)) -> bool, word: &str) -> Result<Means, String> {
    let known = OPTIONS.iter().find(|(short, long, _)| is((short, long)));
    known.map(|(.., means)| *means).ok_or_else(|| {
        format!(
            "{word} is no option that is known here; leave it out of the command, or write the \
             step by hand (docs/flows.md)"
        )
    })
}

fn takes(means: Means) -> Takes {
    match means {
        Sets(_) => Takes::Value,
        OfRun(takes, _) | Nothing(takes) => takes,
        Is(_) | Next => Takes::None,
    }
}

/// Carries out one option; false if another request follows.
fn carry_out(
    means: Means,
    word: &str,
    glued: Option<&str>,
    (asked, words): (&mut Asked, &mut std::slice::Iter<'_, String>),
) -> Result<bool, String> {
    let value = match (takes(means), glued) {
        (Takes::None, _) => String::new(),
        (Takes::Value, Some(glued)) => glued.to_string(),
        (Takes::Value, None) => {
            words.next().cloned().ok_or_else(|| format!("{word} has no value behind it"))?
        }
    };
    match means {
        Sets(set) => set(asked, &value),
        Is(set) => set(asked),
        OfRun(_, instead) => {
            asked.note(&format!("{word}: it is said of a whole run; give {instead}"))
        }
        Nothing(_) => {}
        Next => return Ok(false),
    }
    Ok(true)
}

impl Asked {
    fn note(&mut self, text: &str) {
        self.step.notes.push(text.to_string());
    }

    /// A line of a header: without a value it takes away one that curl adds.
    fn header(&mut self, line: &str) {
        match line.split_once(':') {
            Some((name, value)) if value.trim().is_empty() => {
                self.note(&format!("curl sends no header without a value: {}", name.trim()));
            }
            Some((name, value)) if name.trim().eq_ignore_ascii_case("cookie") => {
                self.cookies(value);
            }
            Some((name, value)) if name.trim().eq_ignore_ascii_case("accept-encoding") => {
                self.note(&format!(
                    "{name}: {}: left out, because values are looked for in bodies as they come",
                    value.trim()
                ));
            }
            Some((name, value)) => self.add(name.trim(), value.trim()),
            None if line.ends_with(';') => self.add(line.trim_end_matches(';'), ""),
            None => self.note(&format!("-H '{line}': left out, it has no colon")),
        }
    }

    fn add(&mut self, name: &str, value: &str) {
        self.step.headers.push((name.to_string(), Text::plain(value)));
    }

    fn add_if_none(&mut self, name: &str, value: &str) {
        if self.step.header(name).is_none() {
            self.add(name, value);
        }
    }

    fn seconds(&mut self, option: &str, text: &str) {
        match text.parse::<f64>() {
            Ok(seconds) if (0.0..1e9).contains(&seconds) => {
                self.step.options.push(format!("{option}: {}ms", (seconds * 1000.0).ceil()));
            }
            _ => self.note(&format!("--{option} {text}: left out, it is no time")),
        }
    }

    fn user(&mut self, text: &str) {
        let (user, password) = text.split_once(':').unwrap_or((text, ""));
        // Without a password curl asks for one.
        let password =
            if password.is_empty() { Text::hole("password") } else { Text::plain(password) };
        self.step.basic = Some((Text::plain(user), password));
    }

    fn cookies(&mut self, text: &str) {
        if !text.contains('=') {
            self.note(&format!("-b {text}: left out; a user keeps the cookies that are set"));
        }
        self.step.add_cookies(text, Braces::Plain);
    }

    fn data(&mut self, text: &str, kind: Data) {
        if kind == Data::Encoded {
            let encoded = match (text.split_once('='), text.split_once('@')) {
                (Some(("", value)), _) => part_encoded(value),
                (Some((name, value)), _) => format!("{name}={}", part_encoded(value)),
                (None, Some((name, file))) => {
                    self.note(&format!(
                        "--data-urlencode {text}: the content of {file} is missing"
                    ));
                    format!("{name}=")
                }
                (None, None) => part_encoded(text),
            };
            self.data.push(encoded);
            return;
        }
        match text.strip_prefix('@').filter(|_| kind != Data::Raw) {
            None => self.data.push(text.to_string()),
            Some(file) => {
                if kind == Data::Text && file != "-" {
                    self.note(&format!(
                        "curl takes the line ends out of {file}; this sends it as it is"
                    ));
                }
                self.file = Some(file.to_string());
            }
        }
    }

    fn json(&mut self, text: &str) {
        self.is_json = true;
        self.data(text, Data::Binary);
        self.add_if_none("Content-Type", "application/json");
        self.add_if_none("Accept", "application/json");
    }

    /// `name=value`, `name=@file`, with `;type=` and `;filename=` behind it.
    fn part(&mut self, text: &str) {
        let Some((name, value)) = text.split_once('=') else {
            return self.note(&format!("-F {text}: left out, it has no ="));
        };
        let is_file = value.starts_with(['@', '<']);
        let (mut plain, mut media_type) = (value.to_string(), String::new());
        for (begin, keep) in [(";type=", true), ("; type=", true), (";filename=", false)] {
            if let Some((before, after)) = plain.clone().split_once(begin) {
                let (own, rest) = after.split_once(';').unwrap_or((after, ""));
                if keep {
                    media_type = own.trim().to_string();
                }
                plain = if rest.is_empty() { before.into() } else { format!("{before};{rest}") };
                if !keep && own.trim_matches('"').rsplit('/').next() != before.rsplit('/').next() {
                    self.note(&format!(
                        "-F {name}: the file is sent under its own name, not {own}"
                    ));
                }
            }
        }
        let plain = match plain.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(inside) => inside.replace("\\\"", "\"").replace("\\\\", "\\"),
            None => plain,
        };
        if !is_file && !media_type.is_empty() {
            self.note(&format!("-F {name}: sent without its type, {media_type}"));
        }
        let content = match is_file {
            true => Content::File(plain[1..].to_string(), media_type),
            false => Content::Text(Text::plain(plain)),
        };
        self.parts.push(Part { name: name.to_string(), content });
    }

    fn part_text(&mut self, text: &str) {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let content = Content::Text(Text::plain(value));
        self.parts.push(Part { name: name.to_string(), content });
    }

    fn upload(&mut self, file: &str) {
        self.file = Some(file.to_string());
        self.is_upload = true;
    }

    /// Adds a step for each URL.
    fn end(mut self, draft: &mut Draft) {
        if self.is_followed {
            self.step.options.push("location: true".to_string());
            let most = self.max_redirects.take();
            self.step.options.extend(most.map(|most| format!("max-redirs: {most}")));
        }
        if self.urls.is_empty() && (self.method.is_some() || !self.data.is_empty()) {
            draft.items.push(Item::Left(Left::new("a request", "without a URL")));
        }
        for typed in std::mem::take(&mut self.urls) {
            match url::read(&typed, Braces::Plain) {
                Ok(url) => draft.items.push(Item::Step(Box::new(self.step_of(url)))),
                Err(why) => {
                    let what = why.split(';').next().unwrap_or_default();
                    draft.items.push(Item::Left(Left::new(what, "without a URL")));
                }
            }
        }
    }

    fn step_of(&mut self, url: url::Url) -> Step {
        let mut step = Step {
            notes: self.step.notes.clone(),
            server: url.server,
            path: url.path,
            query: url.query,
            headers: self.step.headers.clone(),
            cookies: self.step.cookies.clone(),
            basic: self.step.basic.clone(),
            options: self.step.options.clone(),
            ..Step::default()
        };
        if let (None, Some((user, password))) = (&step.basic, url.user) {
            step.basic = Some((Text::plain(user), Text::plain(password)));
        }
        let joined = self.data.join(if self.is_json { "" } else { "&" });
        let has_body = !joined.is_empty() || self.file.is_some() || !self.parts.is_empty();
        if self.is_get && !joined.is_empty() {
            let raw = &step.query.raw;
            let raw = if raw.is_empty() { joined } else { format!("{raw}&{joined}") };
            step.query = url::target_parts(&format!("?{raw}"), Braces::Plain).1;
        } else if has_body && !self.is_head {
            self.body_of(&mut step, &joined);
        }
        let usual = match (self.is_head, self.is_get, self.is_upload) {
            (true, ..) => "HEAD",
            (_, false, true) => "PUT",
            (_, false, false) if has_body || self.is_json => "POST",
            _ => "GET",
        };
        step.method = self.method.clone().unwrap_or_else(|| usual.to_string());
        step
    }

    fn body_of(&mut self, step: &mut Step, joined: &str) {
        let parts = std::mem::take(&mut self.parts);
        if !parts.is_empty() {
            step.body = Body::Multipart(parts);
            return;
        }
        if !self.is_upload && step.header("Content-Type").is_none() {
            let usual = "application/x-www-form-urlencoded";
            step.headers.push(("Content-Type".to_string(), Text::plain(usual)));
        }
        let media_type = step.header("Content-Type").and_then(Text::as_plain).map(str::to_string);
        let text = match (&self.file, &self.input) {
            (Some(file), Some(input)) if file == "-" => input,
            (Some(file), _) if file == "-" => {
                step.notes.push("The body came from standard input, and is missing.".to_string());
                return;
            }
            (Some(file), _) => {
                if !joined.is_empty() {
                    step.notes.push(format!("Left out beside {file}: {joined}"));
                }
                step.body = Body::File(file.clone());
                return;
            }
            (None, _) => joined,
        };
        step.body = Body::read(text, media_type.as_deref(), Braces::Plain);
    }
}
