//! Tools whose figures we audit, and that we do not run.

use crate::command_line::{CommandLine, NO_LINE, Sets, flag};

/// The command line of ab.
pub(crate) const AB: CommandLine = CommandLine {
    tool: "ab",
    options: &[flag(&["-c"], Sets::Connections), flag(&["-t"], Sets::Duration)],
    defaults: &[(&["-c"], "1")],
    ..NO_LINE
};

/// The command line of fortio.
pub(crate) const FORTIO: CommandLine = CommandLine {
    tool: "fortio",
    options: &[
        flag(&["-c", "--c"], Sets::Connections),
        flag(&["-t", "--t"], Sets::Duration),
        flag(&["-qps", "--qps"], Sets::Rate),
        flag(&["-n", "--n"], Sets::Count),
    ],
    defaults: &[(&["-c"], "4")],
    ..NO_LINE
};
