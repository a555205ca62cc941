//! Reads the command line of a tool with the options that its front end knows.

use crate::command_line::{Asks, ToolOption};
use crate::fronts::Front;
use crate::typed::Typed;
use model::tool::Tool;
use std::collections::BTreeMap;

/// The width of help.
const COLUMNS: usize = 80;

/// Reads what was typed after the name of the tool.
pub fn parse(front: &Front, typed: &[String]) -> Result<Typed, String> {
    let name = front.tool.name();
    let (mut url, mut words) = (None, Vec::new());
    let mut given = Vec::new();
    let mut layout = BTreeMap::new();
    let mut rest = typed.iter();
    while let Some(word) = rest.next() {
        if !word.starts_with('-') || word.len() == 1 {
            if let Some(before) = url.replace(word.clone()) {
                return Err(format!("{name} takes one URL, but got {before} and {word}"));
            }
            continue;
        }
        let (option, attached) = found(front, word).ok_or_else(|| {
            format!("{word}: ceiling {name} has no such option; {}", known(front))
        })?;
        given.push(option.names[0]);
        let value = match (option.asks.takes_value(), attached) {
            (false, None) => String::new(),
            (false, Some(_)) => return Err(format!("{word}: it takes no value")),
            (true, Some(value)) => value,
            (true, None) => rest.next().cloned().ok_or_else(|| format!("{word} needs a value"))?,
        };
        match option.asks {
            Asks::Words(more) => words.extend(more.iter().map(ToString::to_string)),
            Asks::Option(ours) => words.extend([ours.to_string(), value]),
            Asks::Time(ours) => words.extend([ours.to_string(), time(value)]),
            Asks::Header(name) => words.extend(["-H".to_string(), format!("{name}: {value}")]),
            Asks::Made(make) => words.extend(make(&value).map_err(|why| format!("{word}: {why}"))?),
            Asks::Layout => drop(layout.insert(option.names[0], value)),
            Asks::No(why) | Asks::NoValue(why) => {
                return Err(format!("{word}: ceiling {name} does not support it: {why}"));
            }
        }
    }
    let url = url.ok_or_else(|| format!("{name} needs a URL; for example {}", front.example))?;
    if let Some((option, why)) = front.needs
        && !given.contains(&option)
    {
        return Err(format!("{option} is missing: {why}; for example {}", front.example));
    }
    let is_secured = url.get(..8).is_some_and(|begin| begin.eq_ignore_ascii_case("https://"));
    if front.trusts_any && is_secured {
        words.push("-k".to_string());
    }
    if let Some((header, without)) = front.adds
        && !given.contains(&without)
        && !has_header(&words, header)
    {
        words.extend(["-H".to_string(), header.to_string()]);
    }
    for (ours, value) in front.line.defaults {
        if !words.iter().any(|word| ours.contains(&word.as_str())) {
            words.extend([ours[0].to_string(), value.to_string()]);
        }
    }
    let words = [vec!["load".to_string(), url], words].concat();
    let mut typed = Typed { words, layout };
    (front.settle)(&mut typed)?;
    Ok(typed)
}

/// A time in our syntax; a number is one of seconds.
fn time(value: String) -> String {
    if value.parse::<f64>().is_ok() { value + "s" } else { value }
}

/// The option of a word, and the value that is in the word itself: `-c50`, `--duration=3s`.
fn found<'a>(front: &'a Front, word: &str) -> Option<(&'a ToolOption, Option<String>)> {
    let named = |name: &str| front.line.options.iter().find(|option| option.names.contains(&name));
    if let Some(option) = named(word) {
        return Some((option, None));
    }
    if let Some((name, value)) = word.split_once('=')
        && let Some(option) = named(name)
    {
        return Some((option, Some(value.to_string())));
    }
    let is_short = !word.starts_with("--") && word.is_char_boundary(2) && !front.has_long_dash;
    let (name, value) = is_short.then(|| word.split_at(2))?;
    let option = named(name).filter(|option| option.asks.takes_value())?;
    Some((option, Some(value.to_string())))
}

/// Whether a header of this name was typed.
fn has_header(words: &[String], header: &str) -> bool {
    let name_of = |header: &str| header.split(':').next().unwrap_or("").trim().to_ascii_lowercase();
    let mut pairs = words.windows(2);
    pairs.any(|pair| pair[0] == "-H" && name_of(&pair[1]) == name_of(header))
}

fn known(front: &Front) -> String {
    let is_ours = |option: &&ToolOption| !matches!(option.asks, Asks::No(_) | Asks::NoValue(_));
    let names: Vec<&str> =
        front.line.options.iter().filter(is_ours).map(|option| option.names[0]).collect();
    format!("it takes {}; for example {}", names.join(" "), front.example)
}

/// The help of a front end.
pub fn help(front: &Front) -> String {
    let mut text = String::from("Options:\n");
    for option in front.line.options {
        let allowed = match option.asks {
            Asks::No(why) | Asks::NoValue(why) => format!("{}; refused: {why}", option.about),
            _ => option.about.to_string(),
        };
        let mut line = format!("  {:24}", option.names.join(", "));
        for word in allowed.split(' ') {
            if line.len() + 1 + word.len() > COLUMNS {
                text += &format!("{line}\n");
                line = " ".repeat(26);
            }
            line += &format!(" {word}");
        }
        text += &format!("{line}\n");
    }
    let name = front.tool.name();
    if front.trusts_any {
        text += &format!("\nAny certificate is accepted, as by {name}.\n");
    }
    if front.tool == Tool::H2load {
        text +=
            &format!("\nA response later than 60s is a failure; {name} itself waits for ever.\n");
    }
    format!("{text}\nExample:\n  {}", front.example)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fronts::{FRONTS, front};

    fn made(tool: Tool, line: &str) -> Result<String, String> {
        let words: Vec<String> = line.split(' ').map(str::to_string).collect();
        let typed = parse(front(tool).unwrap(), &words)?;
        let layout: Vec<&str> = typed.layout.keys().copied().collect();
        Ok(format!("{} | {}", typed.words.join(" "), layout.join(" ")))
    }

    #[test]
    fn each_command_line_becomes_one_of_ours() {
        let lines = [
            (Tool::Wrk, "-t2 -c100 -d30s --latency http://h/"),
            (Tool::Wrk, "--connections 8 --duration=1m --timeout 3 -H A:b http://h/x"),
            (Tool::Wrk2, "-t1 -c16 -d10 -R2k -L http://h/"),
            (Tool::Wrk2, "-R 500 -U http://h/"),
            (Tool::Oha, "http://h/ -n 100 -c 5 --no-tui"),
            (Tool::Oha, "-z 5s --redirect 0 --disable-compression http://h/"),
            (Tool::Oha, "-z 5s -q 100 --latency-correction -m PUT -d text http://h/"),
            (Tool::Hey, "-n 1000 -c 50 -m POST -d hello http://h/"),
            (Tool::Hey, "-n 1000 -d hello http://h/"),
            (Tool::Hey, "-z 3s -c 10 -q 20 -t 5 http://h/"),
            (Tool::H2load, "--h1 -t1 -c 8 -D 5 -m 4 http://h/"),
            (Tool::H2load, "-n 64 -m 32 -c 2 http://h/"),
            (Tool::H2load, "-c 8 -D 3 https://h/"),
            (Tool::Wrk, "-c4 https://h/"),
            (Tool::Oha, "-c 4 https://h/"),
            (Tool::Wrk, "-t3 -c10 http://h/"),
            (Tool::Hey, "-n 10 -c 4 -disable-compression http://h/"),
            (Tool::Hey, "-z 3s -n 5 -H accept-encoding:br http://h/"),
            (Tool::H2load, "--h1 -D 3 -n 1 -c 4 http://h/"),
            (Tool::Oha, "--disable-keepalive --no-color -A text/html http://h/"),
        ];
        let shown = |(tool, line): (Tool, &str)| {
            let made = made(tool, line).unwrap_or_else(|why| format!("refused: {why}"));
            format!("{} {line}\n    {made}", tool.name())
        };
        insta::assert_snapshot!(lines.map(shown).join("\n"));
    }

    #[test]
    fn what_is_not_known_or_not_there_is_said() {
        let lines = [
            (Tool::Wrk, "--pipeline 5 http://h/"),
            (Tool::Wrk, "-s post.lua http://h/"),
            (Tool::Wrk, "-c 5"),
            (Tool::Wrk, "-c"),
            (Tool::Wrk, "http://h/ http://i/"),
            (Tool::Wrk2, "-c 5 http://h/"),
            (Tool::Oha, "--http2 http://h/"),
            (Tool::Oha, "--redirect 3 http://h/"),
            (Tool::Hey, "-h2 http://h/"),
            (Tool::Hey, "-q x http://h/"),
            (Tool::H2load, "--rps 5 http://h/"),
            (Tool::Wrk, "-t8 -c4 http://h/"),
            (Tool::Hey, "-n 3 -c 4 http://h/"),
            (Tool::H2load, "--h1 -n 3 -c 8 http://h/"),
            (Tool::Hey, "-o csv http://h/"),
            (Tool::Oha, "--output-format json http://h/"),
        ];
        let shown = |(tool, line): (Tool, &str)| {
            let why = made(tool, line).map_or_else(|why| why, |made| format!("MADE {made}"));
            format!("{} {line}\n    {why}", tool.name())
        };
        insta::assert_snapshot!(lines.map(shown).join("\n"));
    }

    #[test]
    fn no_name_stands_twice() {
        for front in FRONTS {
            let mut names: Vec<&str> =
                front.line.options.iter().flat_map(|option| option.names).copied().collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{}", front.tool.name());
            assert!(help(front).contains(front.example));
        }
    }
}
