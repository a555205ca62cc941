//! Which agents of a fleet make a load.

/// Some agents of a fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhichAgents {
    /// All that are connected and idle.
    All,
    /// This many.
    Count(u32),
    /// Those with this label and value.
    Labelled(String, String),
}

impl std::str::FromStr for WhichAgents {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match (text, text.split_once('=')) {
            ("all", _) => Ok(Self::All),
            (_, Some((label, value))) if !label.is_empty() && !value.is_empty() => {
                Ok(Self::Labelled(label.to_string(), value.to_string()))
            }
            (_, Some(_)) => Err(()),
            (count, None) => {
                let count: u32 = count.parse().map_err(|_| ())?;
                if count == 0 { Err(()) } else { Ok(Self::Count(count)) }
            }
        }
    }
}

impl std::fmt::Display for WhichAgents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Count(count) => write!(f, "{count}"),
            Self::Labelled(label, value) => write!(f, "{label}={value}"),
        }
    }
}
