//! Options about the probe on the server's host.

use crate::machine::Machine;
use crate::typed::Typed;
use crate::usage::Usage;
use crate::values::{HostPort, Pin, TokenFile};
use clap::Args;
use model::load::ProbeChoice;

/// How to reach the probe, and how to verify it.
#[derive(Debug, Args)]
pub struct ProbeOptions {
    /// The probe on the server's host, started there by `ceiling probe serve`
    #[arg(long, value_name = "HOST:PORT")]
    probe: Option<HostPort>,

    /// A copy of the probe's token file; or CEILING_PROBE_TOKEN_FILE
    #[arg(long, value_name = "FILE", requires = "probe")]
    probe_token_file: Option<TokenFile>,

    /// SHA-256 of the probe's certificate, as it printed; or CEILING_PROBE_PIN
    #[arg(long, value_name = "HEX", requires = "probe")]
    probe_pin: Option<Pin>,
}

impl ProbeOptions {
    /// Whether a probe on another host was named.
    pub(crate) fn is_given(&self) -> bool {
        self.probe.is_some()
    }

    /// The probe, when one is requested.
    pub fn choice(&self, machine: &dyn Machine) -> Result<Option<ProbeChoice>, Usage> {
        let Some(HostPort(address)) = &self.probe else { return Ok(None) };
        let token_file = self.probe_token_file.as_ref().map(|file| file.0.display().to_string());
        let given = (token_file, self.probe_pin.as_ref().map(|pin| pin.0.clone()));
        let keys = ("--probe-token-file", "--probe-pin");
        chosen(&format!("--probe {address}"), address, given, keys, machine).map(Some)
    }
}

/// A probe with the token and the pin that were given, or else those of the environment. `keys`
/// are the options or keys that the user could give; `what` is what was given.
pub(crate) fn chosen(
    what: &str,
    address: &str,
    (token_file, pin): (Option<String>, Option<String>),
    keys: (&str, &str),
    machine: &dyn Machine,
) -> Result<ProbeChoice, Usage> {
    let missing = |key: &str, variable: &str, missing: &str, example: &str| {
        Usage(format!(
            "{what}: {missing} is missing: give {key} or set {variable}; ceiling probe serve \
             prints both; for example {variable}={example}"
        ))
    };
    let token_file = token_file.or_else(|| machine.variable("CEILING_PROBE_TOKEN_FILE"));
    let token_file = token_file.ok_or_else(|| {
        missing(keys.0, "CEILING_PROBE_TOKEN_FILE", "the token", TokenFile::EXAMPLE)
    })?;
    let from_variable = || {
        let text = machine.variable("CEILING_PROBE_PIN")?;
        Some(text.parse::<Pin>().map(|pin| pin.0).map_err(|error| {
            Usage(format!("CEILING_PROBE_PIN: {error}; for example {}", Pin::EXAMPLE))
        }))
    };
    let pin = pin.map(Ok).or_else(from_variable).transpose()?;
    let pin = pin.ok_or_else(|| {
        missing(keys.1, "CEILING_PROBE_PIN", "the pin of its certificate", Pin::EXAMPLE)
    })?;
    Ok(ProbeChoice { address: address.to_string(), token_file, pin })
}
