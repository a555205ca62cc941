//! Options about the probe on the server's host.

use crate::exit::Failure;
use clap::Args;
use model::load::ProbeChoice;
use std::env;

/// How to reach the probe, and how to know it.
#[derive(Debug, Args)]
pub struct ProbeOptions {
    /// The probe on the server's host, started there by `ceiling probe serve`
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    probe: Option<String>,

    /// A copy of the probe's token file; or CEILING_PROBE_TOKEN_FILE
    #[arg(long, value_name = "FILE", requires = "probe")]
    probe_token_file: Option<String>,

    /// SHA-256 of the probe's certificate, as it printed; or CEILING_PROBE_PIN
    #[arg(long, value_name = "HEX", requires = "probe", value_parser = pin)]
    probe_pin: Option<String>,
}

impl ProbeOptions {
    /// The probe, when one is asked for.
    pub fn choice(&self) -> Result<Option<ProbeChoice>, Failure> {
        let Some(address) = self.probe.clone() else { return Ok(None) };
        let missing = |flag: &str, variable: &str, what: &str, example: &str| {
            Failure::Usage(format!(
                "--probe {address}: {what} is missing: give {flag} or set {variable}; ceiling \
                 probe serve prints both flags; for example {flag} {example}"
            ))
        };
        let from_file = self.probe_token_file.clone().or(variable("CEILING_PROBE_TOKEN_FILE"));
        let token_file = from_file.ok_or_else(|| {
            let (flag, variable) = ("--probe-token-file", "CEILING_PROBE_TOKEN_FILE");
            missing(flag, variable, "the token", "probe.token")
        })?;
        let from_variable = || {
            let text = variable("CEILING_PROBE_PIN")?;
            Some(pin(&text).map_err(|error| Failure::Usage(format!("CEILING_PROBE_PIN: {error}"))))
        };
        let pin = self.probe_pin.clone().map(Ok).or_else(from_variable).transpose()?;
        let pin = pin.ok_or_else(|| {
            let (flag, variable) = ("--probe-pin", "CEILING_PROBE_PIN");
            missing(flag, variable, "the pin of its certificate", EXAMPLE)
        })?;
        Ok(Some(ProbeChoice { address, token_file, pin }))
    }
}

/// SHA-256 of nothing.
const EXAMPLE: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|text| !text.is_empty())
}

fn address(text: &str) -> Result<String, String> {
    let parts = text.rsplit_once(':');
    let is_right = parts.is_some_and(|(host, port)| {
        let is_host = !host.is_empty() && (!host.contains(':') || host.starts_with('['));
        is_host && port.parse::<u16>().is_ok_and(|port| port > 0)
    });
    if is_right && !text.contains('/') {
        return Ok(text.to_string());
    }
    Err(format!("'{text}' is not HOST:PORT; for example 192.0.2.7:9200 or [2001:db8::7]:9200"))
}

fn pin(text: &str) -> Result<String, String> {
    let is_right = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_right {
        return Ok(text.to_ascii_lowercase());
    }
    Err(format!("'{text}' is not a SHA-256 of 64 hexadecimal digits; for example {EXAMPLE}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for right in ["127.0.0.1:9200", "server.test:1", "[::1]:65535"] {
            assert_eq!(address(right).unwrap(), right);
        }
        for wrong in ["", "host", ":9200", "host:0", "host:99999", "::1", "http://host:1", "h:x"] {
            let error = address(wrong).unwrap_err();
            assert!(error.contains("HOST:PORT") && error.contains("for example"), "{error}");
        }
    }

    #[test]
    fn pins_are_compared_in_lower_case() {
        assert_eq!(pin(&EXAMPLE.to_uppercase()).unwrap(), EXAMPLE);
        for wrong in ["", "e3b0", &EXAMPLE.replace('e', "g")] {
            assert!(pin(wrong).unwrap_err().contains("64 hexadecimal digits"));
        }
    }
}
