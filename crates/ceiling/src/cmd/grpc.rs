//! `ceiling grpc list` and `ceiling grpc describe`: what a server of gRPC can be asked.

use crate::exit::{Code, Failure};
use crate::screen::to_stdout;
use clap::{Args, Subcommand};
use lab::ThisHost;
use plan::SchemaQuestion;
use plan::values::SymbolName;
use schema::{Described, ServiceRow};
use serde_json::json;

/// What a gRPC server can be asked: its services, methods and messages.
///
/// The server describes itself (server reflection, v1 or v1alpha), or a file has its schema. Then
/// measure a method: ceiling grpc://HOST:PORT/package.Service/Method -b JSON.
#[derive(Debug, Args)]
pub struct Grpc {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Lists services and their methods.
    List(List),
    /// Shows a service, a method or a message, with an example to send.
    Describe(Describe),
}

/// Lists the services of a server and their methods.
///
/// Exit codes: 0 good, 2 usage, 5 the server cannot be asked.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ceiling grpc list 127.0.0.1:50051
  ceiling grpc list grpcs://shop.example -H 'authorization: Bearer abc'
  ceiling grpc list --proto shop.proto      without a server")]
struct List {
    #[command(flatten)]
    question: SchemaQuestion,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// Shows what a service, a method or a message is, as a .proto file has it, and the command that
/// measures a method; without a name, all services.
///
/// Exit codes: 0 good, 2 usage, 5 the server cannot be asked.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ceiling grpc describe 127.0.0.1:50051 shop.Catalog/Read
  ceiling grpc describe 127.0.0.1:50051 shop.ReadRequest --json
  ceiling grpc describe --protoset shop.protoset --name shop.Catalog")]
struct Describe {
    #[command(flatten)]
    question: SchemaQuestion,

    /// A service, a method as package.Service/Method, or a message
    symbol: Option<SymbolName>,

    /// The same, where no server is given
    #[arg(long, value_name = "SYMBOL", conflicts_with = "symbol")]
    name: Option<SymbolName>,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(command: Grpc) -> Result<Code, Failure> {
    let text = match command.what {
        What::List(command) => {
            let rows = command.question.ask(Vec::new(), &ThisHost)?.rows();
            match command.json {
                true => model::json::pretty(&json!({ "services": rows })),
                false => rows.iter().map(service).collect(),
            }
        }
        What::Describe(command) => {
            let schema = command.question.ask(Vec::new(), &ThisHost)?;
            let all = match command.symbol.as_ref().or(command.name.as_ref()) {
                Some(symbol) => schema.describe(&symbol.0).map_err(Failure::Usage)?,
                None => {
                    let rows = schema.rows();
                    let names = rows.iter().map(|row| row.service.as_str());
                    let all = names.map(|name| schema.describe(name));
                    all.collect::<Result<Vec<_>, _>>().map_err(Failure::Usage)?.concat()
                }
            };
            match command.json {
                true => model::json::pretty(&json!({ "described": all })),
                false => described(&all, &command.question.place()),
            }
        }
    };
    to_stdout(&text)?;
    Ok(Code::Good)
}

/// A service and its methods, one a line.
fn service(row: &ServiceRow) -> String {
    let methods = row.methods.iter().map(|method| format!("  {}\n", method.line()));
    format!("{}\n{}", row.service, methods.collect::<String>())
}

/// All that was described, and how a method is measured.
fn described(all: &[Described], place: &str) -> String {
    let shown: Vec<&str> = all.iter().map(|one| one.proto.as_str()).collect();
    let first = all.first();
    let example = first.filter(|one| one.is_method()).and_then(|one| {
        let message = one.example.as_ref()?;
        Some(format!("\n\nceiling {place}/{} -b '{message}'", one.name))
    });
    format!("{}{}\n", shown.join("\n\n"), example.unwrap_or_default())
}
