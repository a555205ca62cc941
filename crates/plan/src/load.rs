//! The load of a cell: a sub-command of ceiling and its long options, written as keys.

use toml::{Table, Value};

/// What ceiling is asked to do with the server of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// `load`, `ramp`, `churn`, `find` or `fanout`.
    pub command: String,
    /// Where, with `{addr}` in the place of the server's address.
    pub url: String,
    /// Options in the order of the alphabet, as they would be typed.
    pub options: Vec<String>,
}

/// Sub-commands that make load.
const COMMANDS: [&str; 5] = ["load", "ramp", "churn", "find", "fanout"];

/// Options that the executor gives itself.
const OURS: [&str; 5] = ["server-pid", "runs", "json", "out", "quiet"];

/// Reads the table `load` of a cell: each key is a long option, but for `command`, `path`, `url`.
pub fn read(table: &Table) -> Result<Load, String> {
    let mut load =
        Load { command: "ramp".to_string(), url: "http://{addr}/".to_string(), options: vec![] };
    let text = |key: &str, value: &Value| {
        value.as_str().map(str::to_string).ok_or_else(|| format!("load.{key} is a text"))
    };
    if table.contains_key("path") && table.contains_key("url") {
        return Err(
            "load.path and load.url exclude each other; for example path = \"/read\"".into()
        );
    }
    for (key, value) in table {
        match key.as_str() {
            "command" => load.command = text(key, value)?,
            "url" => load.url = text(key, value)?,
            "path" => {
                let path = text(key, value)?;
                if !path.starts_with('/') {
                    return Err(format!(
                        "load.path is '{path}', and begins with a slash; for example \
                         path = \"/read\""
                    ));
                }
                load.url = format!("http://{{addr}}{path}");
            }
            key if OURS.contains(&key) => {
                return Err(format!("load.{key} is set by ceiling run itself; leave it out"));
            }
            _ => option(key, value, &mut load.options)?,
        }
    }
    if !COMMANDS.contains(&load.command.as_str()) {
        return Err(format!(
            "load.command is '{}', which is not one of {}; for example command = \"ramp\"",
            load.command,
            COMMANDS.join(", ")
        ));
    }
    Ok(load)
}

fn option(key: &str, value: &Value, options: &mut Vec<String>) -> Result<(), String> {
    let word = match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(true) => {
            options.push(format!("--{key}"));
            return Ok(());
        }
        Value::Boolean(false) => return Ok(()),
        Value::Array(values) => {
            return values.iter().try_for_each(|value| option(key, value, options));
        }
        Value::Datetime(_) | Value::Table(_) => {
            return Err(format!(
                "load.{key} is a text, a number, true, or a list of them; for example \
                 connections = \"4..64*2\""
            ));
        }
    };
    options.push(format!("--{key}={word}"));
    Ok(())
}
