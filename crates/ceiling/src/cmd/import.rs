//! `ceiling import KIND FILE`: writes a flow from what other programs keep of requests.

use crate::exit::{Code, Failure};
use crate::outputs::Replaced;
use crate::screen::{to_stderr, to_stdout};
use clap::Args;
use import::KINDS;
use plan::typed;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

typed! {
    /// A kind of file.
    option KindName(String), "curl, har, http, openapi or postman", "har",
        |text| KINDS.iter().any(|kind| kind.name == text).then(|| text.to_string());
    /// What is read.
    file SourceFile(PathBuf), "a file, or - for the standard input", "shop.har";
    /// The server whose requests are taken.
    text ServerUrl(String), "the URL of a server", "https://api.shop.example";
    /// What is written.
    file FlowOut(PathBuf), "a file", "shop.hurl";
}

/// Writes a flow from requests that you have, as text for you to edit.
///
/// The requests of one server become the steps of a flow, with that server as {{base}} and every
/// secret as a variable. What could not be taken over is a comment in the flow, at its place, and
/// is counted on stderr. Nothing is sent.
///
/// Exit codes: 0 a flow was written, 1 it could not be written, 2 usage, or the file is not of its
/// kind.
#[derive(Debug, Args)]
#[command(after_help = "\
Kinds:
  curl     command lines of curl, as browsers copy them (Copy as cURL, bash)
  har      what a browser recorded: developer tools, Network, Save all as HAR
  http     a request file (.http, .rest) of JetBrains, Visual Studio or VS Code
  openapi  a description of an API: OpenAPI 3.0 or 3.1, JSON or YAML
  postman  a collection of Postman (v2.1)

Examples:
  ceiling import har shop.har -o shop.hurl
  ceiling import har all.har --server https://api.shop.example -o shop.hurl
  xclip -o | ceiling import curl - | less
  ceiling try shop.hurl --variable base=http://127.0.0.1:8083")]
pub struct Import {
    /// What the file is: curl, har, http, openapi or postman
    #[arg(value_name = "KIND")]
    kind: KindName,

    /// The file, or - for the standard input
    #[arg(value_name = "FILE")]
    file: SourceFile,

    /// Take the requests of this server; that of most requests when not given
    #[arg(long, value_name = "URL")]
    server: Option<ServerUrl>,

    /// Write the flow to this file, which must not be there; standard output when not given
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    out: Option<FlowOut>,
}

fn open(path: &Path) -> Result<File, Failure> {
    File::open(path).map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
}

pub fn run(command: &Import) -> Result<Code, Failure> {
    let path = command.file.as_path();
    let is_input = path == Path::new("-");
    let wrong = |why: String| Failure::Usage(format!("{}, {why}", path.display()));
    let mut input: Box<dyn BufRead> = match is_input {
        true => Box::new(io::stdin().lock()),
        false => Box::new(BufReader::new(open(path)?)),
    };
    let kind = KINDS.iter().find(|kind| kind.name == command.kind.0);
    let kind =
        kind.ok_or_else(|| Failure::Usage(format!("no kind is called {}", command.kind.0)))?;
    let server = command.server.as_ref().map(|server| server.0.as_str());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = if is_input { "the standard input" } else { &name };
    let written =
        import::import(kind, name, &mut input, server).map_err(|why| wrong(why.to_string()))?;
    match &command.out {
        None => to_stdout(&written.text)?,
        Some(out) => {
            // A person may have edited it.
            if out.0.is_file() {
                let why = "it is there already; give another name, or delete it first";
                return Err(Failure::File(format!("{}: {why}", out.0.display())));
            }
            Replaced::open("-o", &out.0)?.write(written.text.as_bytes())?;
        }
    }
    for line in written.summary {
        to_stderr(&line);
    }
    Ok(Code::Good)
}
