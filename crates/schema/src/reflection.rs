//! Schemas from a server that describes itself: server reflection, v1 and v1alpha
//! (<https://github.com/grpc/grpc/blob/master/doc/server-reflection.md>).
//!
//! Every question is a stream of its own with one message, so that a connection that makes calls
//! can ask.

use crate::message::framed;
use model::call::CallStatus;
use prost::Message;
use prost_types::{FileDescriptorProto, FileDescriptorSet};
use std::collections::BTreeSet;

/// Makes one call: the path and the message, with its prefix; returns how it ended, or why it did
/// not.
pub type Call<'a> = &'a mut dyn FnMut(&str, &[u8]) -> Result<Reply, String>;

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Its status.
    pub status: CallStatus,
    /// The message with its prefix; empty without one.
    pub body: Vec<u8>,
}

/// The versions, the newer first; their messages are the same.
const PATHS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];
/// Most files that a server may describe.
const FILES_MAX: usize = 10_000;
/// Most bytes of them all.
const BYTES_MAX: usize = 64 << 20;

/// `ServerReflectionRequest`, of which one field is set.
#[derive(Clone, PartialEq, Message)]
struct Question {
    #[prost(string, optional, tag = "3")]
    file_by_filename: Option<String>,
    #[prost(string, optional, tag = "4")]
    file_containing_symbol: Option<String>,
    #[prost(string, optional, tag = "7")]
    list_services: Option<String>,
}

/// `ServerReflectionResponse`.
#[derive(Clone, PartialEq, Message)]
struct Answer {
    #[prost(message, optional, tag = "4")]
    files: Option<Files>,
    #[prost(message, optional, tag = "6")]
    services: Option<Services>,
    #[prost(message, optional, tag = "7")]
    error: Option<Trouble>,
}

#[derive(Clone, PartialEq, Message)]
struct Files {
    #[prost(bytes = "vec", repeated, tag = "1")]
    file: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct Services {
    #[prost(message, repeated, tag = "1")]
    service: Vec<Named>,
}

#[derive(Clone, PartialEq, Message)]
struct Named {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Trouble {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

/// A server that describes itself.
struct Server<'a> {
    call: Call<'a>,
    path: &'static str,
    files: Vec<FileDescriptorProto>,
    /// Their names.
    names: BTreeSet<String>,
    /// Bytes of all files that came, also of those that were there.
    bytes: usize,
}

/// A set of descriptors: of all that these symbols need, or of all services where there are none,
/// or one that the server does not have. A symbol is a service or a message.
pub fn reflect(symbols: &[String], call: Call<'_>) -> Result<Vec<u8>, String> {
    let mut server =
        Server { call, path: PATHS[0], files: Vec::new(), names: BTreeSet::new(), bytes: 0 };
    let names = server.services()?;
    let mut is_all_there = !symbols.is_empty();
    for symbol in symbols {
        is_all_there &= server.describe(symbol)?;
    }
    if !is_all_there {
        for name in &names {
            server.describe(name)?;
        }
    }
    server.imports()?;
    Ok(FileDescriptorSet { file: server.files }.encode_to_vec())
}

impl Server<'_> {
    /// The names of all services. Finds out which version is spoken.
    fn services(&mut self) -> Result<Vec<String>, String> {
        let question = Question { list_services: Some(String::new()), ..Question::default() };
        for path in PATHS {
            self.path = path;
            match self.ask_once(&question)? {
                Ok(answer) => {
                    let services = answer.services.unwrap_or_default().service;
                    return Ok(services.into_iter().map(|service| service.name).collect());
                }
                Err(CallStatus::Unimplemented) => {}
                Err(status) => return Err(ended(status)),
            }
        }
        Err("the server does not describe itself (no server reflection); turn that on, or give its \
             schema: --proto FILE or --protoset FILE"
            .to_string())
    }

    /// Asks for what a symbol needs; whether the server has it.
    fn describe(&mut self, symbol: &str) -> Result<bool, String> {
        let file_containing_symbol = Some(symbol.to_string());
        let answer = self.ask(&Question { file_containing_symbol, ..Question::default() })?;
        match answer {
            Ok(answer) => self.add(answer).map(|()| true),
            Err(_) => Ok(false),
        }
    }

    /// What a server answers, or what it says is wrong.
    fn ask(&mut self, question: &Question) -> Result<Result<Answer, String>, String> {
        let answer = self.ask_once(question)?.map_err(ended)?;
        Ok(match answer.error {
            Some(trouble) => Err(trouble.message),
            None => Ok(answer),
        })
    }

    fn ask_once(&mut self, question: &Question) -> Result<Result<Answer, CallStatus>, String> {
        let reply = (self.call)(self.path, &framed(&question.encode_to_vec()))?;
        if reply.status != CallStatus::Ok {
            return Ok(Err(reply.status));
        }
        let message = reply.body.get(5..).unwrap_or_default();
        let answer = Answer::decode(message);
        answer.map(Ok).map_err(|error| format!("server reflection sent no answer: {error}"))
    }

    fn add(&mut self, answer: Answer) -> Result<(), String> {
        for bytes in answer.files.unwrap_or_default().file {
            self.bytes += bytes.len();
            if self.bytes > BYTES_MAX {
                return Err(format!(
                    "the server describes itself in more than {} MiB",
                    BYTES_MAX >> 20
                ));
            }
            let file = FileDescriptorProto::decode(&bytes[..]);
            let file = file.map_err(|error| format!("the server sent no descriptor: {error}"))?;
            if self.names.insert(file.name().to_string()) {
                self.files.push(file);
            }
            if self.files.len() > FILES_MAX {
                return Err(format!("the server describes more than {FILES_MAX} files"));
            }
        }
        Ok(())
    }

    /// Asks for the files that others import, until all are there.
    fn imports(&mut self) -> Result<(), String> {
        let (mut asked, mut at) = (BTreeSet::new(), 0);
        while let Some(file) = self.files.get(at) {
            for name in file.dependency.clone() {
                if self.names.contains(&name) || !asked.insert(name.clone()) {
                    continue;
                }
                if asked.len() > FILES_MAX {
                    return Err(format!("the server imports more than {FILES_MAX} files"));
                }
                let file_by_filename = Some(name.clone());
                match self.ask(&Question { file_by_filename, ..Question::default() })? {
                    Ok(answer) => self.add(answer)?,
                    Err(why) => {
                        return Err(format!("the server does not have its file {name}: {why}"));
                    }
                }
            }
            at += 1;
        }
        Ok(())
    }
}

fn ended(status: CallStatus) -> String {
    let hint = match status {
        CallStatus::Unauthenticated | CallStatus::PermissionDenied => {
            "; give the metadata that it asks for, for example -H 'authorization: Bearer ..'"
        }
        _ => "; give its schema: --proto FILE or --protoset FILE",
    };
    format!("server reflection ended with {}{hint}", status.name())
}
