//! Files and log lines for continuous integration: opened before the load, so that a wrong path
//! fails early, and written whether the command succeeds or fails.

use crate::exit::Failure;
use crate::outputs::Replaced;
use crate::screen::to_stderr;
use plan::CiOptions;
use report::ci::annotations::annotations;
use report::ci::junit::junit;
use report::ci::{Report, markdown};
use std::env;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

/// The outputs that the options ask for.
pub struct Ci {
    junit: Option<Replaced>,
    summary: Option<(PathBuf, File)>,
    is_github: bool,
}

impl Ci {
    /// Opens every file.
    pub fn open(options: &CiOptions) -> Result<Self, Failure> {
        let junit = options.junit.as_ref().map(|file| Replaced::open("--junit", file));
        let summary = options.summary.as_ref().map(|file| {
            let opened = File::options().append(true).create(true).open(&file.0);
            let opened = opened.map_err(|error| {
                let path = file.display();
                Failure::Usage(format!(
                    "--summary {path}: cannot write there: {error}; give a file that can be \
                     written, for example --summary summary.md"
                ))
            })?;
            Ok::<_, Failure>((file.0.clone(), opened))
        });
        let is_github = env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
        Ok(Self { junit: junit.transpose()?, summary: summary.transpose()?, is_github })
    }

    /// Writes all of them. Annotations go to stderr, which the GitHub runner reads too.
    pub fn write(self, report: &Report, summary: &str) -> Result<(), Failure> {
        if self.is_github {
            for line in annotations(report) {
                to_stderr(&line);
            }
        }
        let written = self.junit.map_or(Ok(()), |file| file.write(junit(report).as_bytes()));
        if let Some((path, mut file)) = self.summary {
            file.write_all(summary.as_bytes()).map_err(|error| {
                Failure::File(format!("cannot write {}: {error}", path.display()))
            })?;
        }
        written
    }

    /// Writes the reports of a command that measured nothing: its failure is the result.
    pub fn write_failure(self, title: &str, why: &str) {
        let report = Report::of_failure(title, why);
        let _ = self.write(&report, &markdown::of_failure(&report));
    }
}
