//! Options about the probe on the server's host.

use crate::machine::Machine;
use crate::typed::Typed;
use crate::usage::Usage;
use crate::values::{HostPort, Pin, TokenFile};
use clap::Args;
use model::load::ProbeChoice;

/// How to reach the probe, and how to know it.
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
    /// The probe, when one is asked for.
    pub fn choice(&self, machine: &dyn Machine) -> Result<Option<ProbeChoice>, Usage> {
        let Some(HostPort(address)) = self.probe.clone() else { return Ok(None) };
        let missing = |flag: &str, variable: &str, what: &str, example: &str| {
            Usage(format!(
                "--probe {address}: {what} is missing: give {flag} or set {variable}; ceiling \
                 probe serve prints both flags; for example {flag} {example}"
            ))
        };
        let given = self.probe_token_file.as_ref().map(|file| file.0.display().to_string());
        let from_file = given.or_else(|| machine.variable("CEILING_PROBE_TOKEN_FILE"));
        let token_file = from_file.ok_or_else(|| {
            let (flag, variable) = ("--probe-token-file", "CEILING_PROBE_TOKEN_FILE");
            missing(flag, variable, "the token", "probe.token")
        })?;
        let from_variable = || {
            let text = machine.variable("CEILING_PROBE_PIN")?;
            Some(text.parse::<Pin>().map_err(|error| {
                Usage(format!("CEILING_PROBE_PIN: {error}; for example {}", Pin::EXAMPLE))
            }))
        };
        let pin = self.probe_pin.clone().map(Ok).or_else(from_variable).transpose()?;
        let Pin(pin) = pin.ok_or_else(|| {
            let (flag, variable) = ("--probe-pin", "CEILING_PROBE_PIN");
            missing(flag, variable, "the pin of its certificate", Pin::EXAMPLE)
        })?;
        Ok(Some(ProbeChoice { address, token_file, pin }))
    }
}
