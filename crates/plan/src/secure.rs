//! Options of TLS and of the proxy, and what they resolve to.

use crate::machine::Machine;
use crate::url::{Scheme, Url};
use crate::usage::Usage;
use crate::values::{HostName, PemFile};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, ValueEnum};
use model::secret;
use model::tls::{KernelTls, ProxyChoice, ProxyWay, Resumption, TlsChoice, TlsVersion, Trust};
use model::units::parse_count;
use std::str::FromStr;

/// TLS and the proxy as requested.
#[derive(Debug, Args)]
pub struct Secure {
    /// Name to send and to look for in the certificate; the host of the URL when not given
    #[arg(long, value_name = "NAME")]
    sni: Option<HostName>,

    /// Trust the authorities of this PEM file only; those of the system when not given
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    cacert: Option<PemFile>,

    /// Our certificate chain (PEM), for servers that ask
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PemFile>,

    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PemFile>,

    /// Accept any certificate
    #[arg(short = 'k', long)]
    insecure: bool,

    /// Resume sessions when a connection is opened again: on (default), off, or a full handshake
    /// every N connections of a worker
    #[arg(long, value_name = "on|off|N")]
    tls_resume: Option<Resuming>,

    /// Versions to offer; 1.2..1.3 when not given
    #[arg(long, value_name = "V[..V]")]
    tls_version: Option<Versions>,

    /// Encryption by the kernel; auto (default) records whether it could
    #[arg(long, value_name = "CHOICE", hide_possible_values = false)]
    ktls: Option<KernelChoice>,

    /// HTTP proxy: [http://][USER:PASSWORD@]HOST:PORT; https goes through a tunnel, plain http does
    /// not
    #[arg(short = 'x', long, value_name = "URL")]
    proxy: Option<Proxy>,

    /// Ask the proxy for a tunnel (CONNECT) for plain http too
    #[arg(long, alias = "proxytunnel", requires = "proxy")]
    proxy_tunnel: bool,
}

/// Encryption by the kernel as requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KernelChoice {
    /// Record whether the kernel could
    Auto,
    /// Require it
    On,
    /// Do not ask
    Off,
}

/// Lowest and highest version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions(TlsVersion, TlsVersion);

/// Whether sessions are resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resuming(Resumption);

/// A proxy as requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Where.
    pub url: Url,
    /// Value of Proxy-Authorization.
    authorization: Option<String>,
}

impl Secure {
    /// The proxy's URL; its host is the one to connect to.
    pub fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref()
    }

    /// The proxy for a trial of `url`.
    pub fn proxy_for(&self, url: &Url) -> Option<ProxyChoice> {
        let proxy = self.proxy.as_ref()?;
        let host =
            if url.host.contains(':') { format!("[{}]", url.host) } else { url.host.clone() };
        let is_read = url.scheme == Scheme::Http && !self.proxy_tunnel;
        Some(ProxyChoice {
            url: proxy.url.text.clone(),
            way: if is_read { ProxyWay::Forwarded } else { ProxyWay::Tunnel },
            target: format!("{host}:{}", url.port),
            authorization: proxy.authorization.clone(),
        })
    }

    /// The TLS settings of a trial of `url`.
    pub fn tls_for(&self, url: &Url, machine: &dyn Machine) -> Result<Option<TlsChoice>, Usage> {
        if !url.scheme.is_secure() {
            return match self.first_of_tls() {
                None => Ok(None),
                Some(option) => Err(Usage(format!(
                    "{option} is about TLS, which {} does not use; for example https://{}{}",
                    url.text, url.authority, url.path
                ))),
            };
        }
        let trust = match (&self.cacert, self.insecure) {
            (Some(path), _) => Trust::File(path.0.display().to_string()),
            (None, true) => Trust::Anything,
            (None, false) => Trust::SystemRoots,
        };
        let Versions(lowest, highest) =
            self.tls_version.unwrap_or(Versions(TlsVersion::V12, TlsVersion::V13));
        Ok(Some(TlsChoice {
            server_name: self
                .sni
                .as_ref()
                .map_or_else(|| url.name().to_string(), |name| name.0.clone()),
            trust,
            identity: self
                .cert
                .as_ref()
                .zip(self.key.as_ref())
                .map(|(cert, key)| (cert.0.display().to_string(), key.0.display().to_string())),
            resumption: self.tls_resume.map_or(Resumption::On, |resuming| resuming.0),
            versions: (lowest, highest),
            kernel: self.kernel(machine)?,
        }))
    }

    fn kernel(&self, machine: &dyn Machine) -> Result<KernelTls, Usage> {
        match self.ktls {
            None | Some(KernelChoice::Auto) => Ok(KernelTls::Auto),
            Some(KernelChoice::Off) => Ok(KernelTls::Off),
            Some(KernelChoice::On) => {
                let kernel = match machine.ktls() {
                    Ok(()) => "this kernel could".to_string(),
                    Err(reason) => reason,
                };
                Err(Usage(format!(
                    "--ktls on: this version encrypts in user space only ({kernel}); auto or off \
                     are accepted, for example --ktls auto"
                )))
            }
        }
    }

    fn first_of_tls(&self) -> Option<&'static str> {
        let given = [
            (self.sni.is_some(), "--sni"),
            (self.cacert.is_some(), "--cacert"),
            (self.cert.is_some(), "--cert"),
            (self.insecure, "--insecure"),
            (self.tls_resume.is_some(), "--tls-resume"),
            (self.tls_version.is_some(), "--tls-version"),
            (self.ktls.is_some(), "--ktls"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
    }
}

impl FromStr for Resuming {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, parse_count(text)) {
            ("on", _) => Ok(Self(Resumption::On)),
            ("off", _) => Ok(Self(Resumption::Off)),
            (_, Ok(every @ 1..=1_000_000_000)) => Ok(Self(Resumption::FullEvery(every as u32))),
            _ => Err(format!("'{text}' is not on, off or a whole number from 1")),
        }
    }
}

impl FromStr for Versions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = |text: &str| match text {
            "1.2" => Some(TlsVersion::V12),
            "1.3" => Some(TlsVersion::V13),
            _ => None,
        };
        let (lowest, highest) = text.split_once("..").unwrap_or((text, text));
        let versions = one(lowest).zip(one(highest)).filter(|(lowest, highest)| lowest <= highest);
        let versions = versions.map(|(lowest, highest)| Self(lowest, highest));
        versions.ok_or_else(|| format!("'{text}' is not 1.2, 1.3 or 1.2..1.3"))
    }
}

impl FromStr for Proxy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        proxy(text)
    }
}

fn proxy(text: &str) -> Result<Proxy, String> {
    // What is typed may hold a password, so only its shape is reported.
    let error = |wrong: &str| {
        let whole = if text.contains("://") { text.to_string() } else { format!("http://{text}") };
        format!("'{}' {wrong}", secret::text(&whole))
    };
    let rest = match text.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
        Some(_) => return Err(error("is not the URL of an HTTP proxy")),
        // As curl takes it.
        None => text,
    };
    let (user, place) = match rest.rsplit_once('@') {
        Some((user, place)) => (Some(user), place),
        None => (None, rest),
    };
    let place = place.strip_suffix('/').unwrap_or(place);
    let has_port = place.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
    if !has_port {
        return Err(error("has no port"));
    }
    if place.contains(['/', '?', '#']) {
        return Err(error("has a path, and a proxy has none"));
    }
    let url = Url::parse(&format!("http://{place}")).map_err(|wrong| error(&wrong.wrong))?;
    let authorization = match user {
        Some(user) => {
            let decoded = percent_decoded(user).ok_or_else(|| error("has a bad % sequence"))?;
            Some(format!("Basic {}", STANDARD.encode(decoded)))
        }
        None => None,
    };
    let shown = secret::text(&format!("http://{rest}"));
    Ok(Proxy { url: Url { text: shown, ..url }, authorization })
}

/// Bytes of a text in which `%` and two digits stand for a byte (RFC 3986 section 2.1).
fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(behind.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &behind[2..];
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_taken_apart_and_its_password_is_not_shown() {
        let plain = proxy("http://127.0.0.1:3128").unwrap();
        assert_eq!((plain.url.host.as_str(), plain.url.port), ("127.0.0.1", 3128));
        assert_eq!(plain.authorization, None);
        let secret = proxy("http://me:p%40ss%3a@proxy.test:8080/").unwrap();
        assert_eq!(secret.url.text, "http://me:***@proxy.test:8080/");
        let expected = format!("Basic {}", STANDARD.encode("me:p@ss:"));
        assert_eq!(secret.authorization.as_deref(), Some(expected.as_str()));
        assert_eq!(proxy("http://[::1]:3128").unwrap().url.host, "::1");
        let bare = proxy("127.0.0.1:3128").unwrap();
        assert_eq!((bare.url.host.as_str(), bare.url.port), ("127.0.0.1", 3128));
        assert_eq!(proxy("HTTP://a.test:3128").unwrap().url.host, "a.test");
        let secret = proxy("me:secret@proxy.test:8080").unwrap();
        assert!(secret.authorization.is_some() && !secret.url.text.contains("secret"));
        for wrong in [
            "https://me:secret@127.0.0.1:3128",
            "https://a:1",
            "socks5://a:1",
            "u:secret@a",
            "http://a",
            "http://[::1]",
            "http://u:secret@a",
            "http://u:secret@a:99999",
            "http://u:%zz@a:1",
            "http://a:1/x",
        ] {
            let error = proxy(wrong).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
