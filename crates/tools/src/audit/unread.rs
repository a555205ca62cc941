//! Why a file could not be audited.

/// The most bytes of a file that is read as a whole. Files of rows are read row by row.
pub const SIZE_MAX: usize = 64 << 20;
/// The example that errors name.
const EXAMPLE: &str = "wrk -t2 -c64 -d30s --latency URL > wrk.txt";

/// Why a file could not be audited.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// It is not in a known format.
    #[error("not the output of a known tool ({0}); for example {EXAMPLE}")]
    Unknown(String),
    /// It is too large to be read at once.
    #[error("longer than {} MiB; only rows may be this long, for example \
             `k6 run --out json=FILE` or a JMeter .jtl", SIZE_MAX >> 20)]
    Long,
    /// A format without a figure that it always has.
    #[error("looks like {form}, but has no {missing}; for example {example}")]
    Missing {
        /// The format.
        form: &'static str,
        /// What is missing.
        missing: &'static str,
        /// How to get a complete one.
        example: &'static str,
    },
    /// Several outputs in one file, of which only one would be read.
    #[error("holds more than one {form}; put each into its own file, and name each file")]
    Several {
        /// The format.
        form: &'static str,
    },
    /// Outputs of two tools in one file.
    #[error("holds {form} and {other}; put each into its own file, and name each file")]
    Mixed {
        /// One format.
        form: &'static str,
        /// Another one.
        other: &'static str,
    },
    /// A number with two readings, among others with decimal commas.
    #[error(
        "line {line}: `{printed}` may be thousands or decimals, since other numbers here have a \
             decimal comma; run the tool with LC_ALL=C"
    )]
    Ambiguous {
        /// Line of the file, from 1.
        line: u64,
        /// The number.
        printed: String,
    },
    /// It is known and not read.
    #[error("{form}, which the audit does not read; {instead}")]
    Known {
        /// What it is.
        form: &'static str,
        /// What to use instead.
        instead: &'static str,
    },
    /// It holds nothing.
    #[error("empty; for example {EXAMPLE}")]
    Empty,
    /// A row with a cell that cannot be read.
    #[error("line {line}, {column}: `{printed}` is not {accepted}")]
    Row {
        /// Line of the file, from 1.
        line: u64,
        /// The name of the column or field.
        column: &'static str,
        /// The beginning of what is there.
        printed: String,
        /// What is accepted.
        accepted: &'static str,
    },
    /// A text without a rate or a latency.
    #[error(
        "no rate and no latency in this text; expected are sentences such as `1.2M requests/s \
             over 128 connections, p99 of 3 ms`, and tables with such columns"
    )]
    NoFigure,
    /// It could not be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

impl Unread {
    /// A cell that cannot be read, with the beginning of it.
    pub(crate) fn row(line: u64, column: &'static str, cell: &str, accepted: &'static str) -> Self {
        let printed: String = cell.chars().take(60).collect();
        Self::Row { line, column, printed, accepted }
    }
}
