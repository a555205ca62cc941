//! What a server of gRPC can be asked: its services, methods and messages.
//!
//! What this room is for: reading schemas, from `.proto` files, from sets of descriptors and from a
//! server that describes itself; turning JSON into the messages of a method and back, or into the
//! fields that its replies must have; and telling what there is.
//! In: files and names, replies of a server, JSON, messages. Out: a set of descriptors, messages
//! with their prefix, JSON, numbers of fields, text and documents.
//! Never: a connection; who has one passes the replies on.

mod example;
mod fields;
mod message;
mod near;
mod reflection;
mod show;
mod sources;
mod tell;

pub use message::framed;
pub use reflection::{Call, Reply, reflect};
pub use sources::compile;
pub use tell::{Described, ServiceRow};

use model::call::Replies;
use model::field::Field;
use near::near;
use prost_reflect::{DescriptorPool, MethodDescriptor, ServiceDescriptor};

/// Services, methods and messages.
#[derive(Debug, Clone)]
pub struct Schema {
    pool: DescriptorPool,
}

/// One method of a service.
#[derive(Debug, Clone)]
pub struct Method {
    descriptor: MethodDescriptor,
}

impl Schema {
    /// Reads a set of descriptors, such as `protoc --include_imports --descriptor_set_out` writes.
    pub fn of_set(set: &[u8]) -> Result<Self, String> {
        let pool = DescriptorPool::decode(set).map_err(|error| one_line(&error))?;
        Ok(Self { pool })
    }

    /// A set of descriptors with all of it.
    pub fn to_set(&self) -> Vec<u8> {
        self.pool.encode_to_vec()
    }

    fn services(&self) -> impl Iterator<Item = ServiceDescriptor> {
        self.pool.services()
    }

    /// The method at a path like `/package.Service/Method`; why there is none, with what is meant
    /// perhaps.
    pub fn method(&self, path: &str) -> Result<Method, String> {
        let names = path.trim_start_matches('/').rsplit_once('/');
        let Some((service, method)) = names.filter(|(_, method)| !method.is_empty()) else {
            let some = self.services().flat_map(|service| {
                let path = |method: MethodDescriptor| path_of(&method);
                service.methods().map(path).collect::<Vec<_>>()
            });
            let some = { some }.find(|path| !path.contains("grpc.reflection."));
            return Err(format!(
                "'{path}' names no method; a call is grpc://HOST:PORT/package.Service/Method, for \
                 example {}",
                some.unwrap_or_else(|| "/shop.Catalog/Read".to_string())
            ));
        };
        let Some(known) = self.services().find(|one| one.full_name() == service) else {
            let names: Vec<String> =
                self.services().map(|one| one.full_name().to_string()).collect();
            return Err(format!("there is no service {service}{}", near(service, &names)));
        };
        let Some(descriptor) = known.methods().find(|one| one.name() == method) else {
            let names: Vec<String> = known.methods().map(|one| one.name().to_string()).collect();
            return Err(format!("{service} has no method {method}{}", near(method, &names)));
        };
        Ok(Method { descriptor })
    }
}

impl Method {
    /// How many messages its reply is.
    pub fn replies(&self) -> Replies {
        let method = &self.descriptor;
        match (method.is_client_streaming(), method.is_server_streaming()) {
            (_, false) => Replies::One,
            (false, true) => Replies::Stream,
            (true, true) => Replies::Each,
        }
    }

    /// Its message as JSON describes it, with the prefix that a call has; of a method that streams
    /// its requests, all messages of a list. What is wrong with the JSON otherwise.
    pub fn messages(&self, json: &[u8]) -> Result<Vec<u8>, String> {
        let input = self.descriptor.input();
        if self.descriptor.is_client_streaming() {
            return message::listed(&input, json);
        }
        message::encoded(&input, json).map_err(|why| match json.trim_ascii().first() {
            Some(b'[') => format!(
                "the message is no {} but a list, and the method takes one; for example '{}'",
                input.full_name(),
                self.example()
            ),
            _ => why,
        })
    }

    /// The fields that a reply must have according to JSON; what is wrong with the JSON otherwise.
    pub fn fields(&self, json: &[u8]) -> Result<Vec<Field>, String> {
        fields::of(&self.descriptor.output(), json)
    }

    /// The messages of a request as JSON, in at most so many bytes.
    pub fn show_request(&self, body: &[u8], room: usize) -> Vec<String> {
        show::shown(&self.descriptor.input(), body, room)
    }

    /// The messages of a reply as JSON, in at most so many bytes.
    pub fn show_reply(&self, body: &[u8], room: usize) -> Vec<String> {
        show::shown(&self.descriptor.output(), body, room)
    }

    /// What it takes, as JSON.
    pub fn example(&self) -> String {
        example::of_method(&self.descriptor).to_string()
    }
}

/// The path of a call.
fn path_of(method: &MethodDescriptor) -> String {
    format!("/{}/{}", method.parent_service().full_name(), method.name())
}

/// The text of an error in one line.
fn one_line(error: &dyn std::fmt::Display) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}
