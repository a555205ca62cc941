//! The Authorization header, from a secret in a variable or a file. It is read once, and no message
//! shows it.

use crate::machine::Machine;
use crate::options::Options;
use crate::usage::Usage;
use crate::values::{Header, TokenFile, VariableName};

const NAME: &str = "Authorization";

/// The header that the options ask for.
pub fn header(options: &Options, machine: &dyn Machine) -> Result<Option<Header>, Usage> {
    let asked = (options.auth_env.as_ref(), options.bearer_file.as_ref());
    of(asked, &options.headers, machine)
}

/// The header of a variable or a file, where no other is given.
pub fn of(
    asked: (Option<&VariableName>, Option<&TokenFile>),
    headers: &[Header],
    machine: &dyn Machine,
) -> Result<Option<Header>, Usage> {
    let value = match asked {
        (Some(name), _) => of_variable(&name.0, machine)?,
        (None, Some(file)) => of_file(&file.0.display().to_string(), machine)?,
        (None, None) => return Ok(None),
    };
    if headers.iter().any(|header| header.0.0.eq_ignore_ascii_case(NAME)) {
        return Err(Usage(format!(
            "-H {NAME} was given too; leave it out, and --auth-env or --bearer-file sends it"
        )));
    }
    Ok(Some(Header((NAME.to_string(), value))))
}

fn of_variable(name: &str, machine: &dyn Machine) -> Result<String, Usage> {
    let value = machine.variable(name).ok_or_else(|| {
        Usage(format!(
            "--auth-env {name}: the variable is not set or is empty; for example {name}='Bearer \
             abc' ceiling load URL --auth-env {name}"
        ))
    })?;
    let value = plain(&value).ok_or_else(|| wrong(&format!("--auth-env {name}")))?;
    Ok(if value.contains(' ') { value } else { format!("Bearer {value}") })
}

fn of_file(path: &str, machine: &dyn Machine) -> Result<String, Usage> {
    let bytes = machine.read(path).map_err(|why| Usage(format!("--bearer-file: {why}")))?;
    let text = String::from_utf8(bytes).unwrap_or_default();
    let token = plain(&text).filter(|token| !token.contains(' '));
    let token = token.ok_or_else(|| wrong(&format!("--bearer-file {path}")))?;
    Ok(format!("Bearer {token}"))
}

/// A value that a header can hold, without white space around it.
fn plain(text: &str) -> Option<String> {
    let text = text.trim();
    let is_plain = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    (is_plain && !text.is_empty()).then(|| text.to_string())
}

fn wrong(option: &str) -> Usage {
    Usage(format!("{option}: it holds no one-line token that fits in a header; for example abc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_line_that_a_header_can_have() {
        assert_eq!(plain(" abc\n").as_deref(), Some("abc"));
        assert_eq!(plain("Basic YQ==").as_deref(), Some("Basic YQ=="));
        for text in ["", " \n", "a\nb", "a\tb", "k\u{e9}y"] {
            assert_eq!(plain(text), None, "{text:?}");
        }
    }
}
