//! A server of tonic whose calls are those of the standard health service, with its schema. It
//! writes a line for each call.
//!
//! tonic-server PORT LOG

use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server;
use tonic_health::pb::FILE_DESCRIPTOR_SET;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, port, log] = &words[..] else { panic!("tonic-server PORT LOG") };
    let port = port.parse().expect("a port");
    let log = Arc::new(File::create(log).expect("a file"));
    let (_, health) = tonic_health::server::health_reporter();
    let health = InterceptedService::new(health, move |request| {
        (&*log).write_all(b"call\n").expect("room for the log");
        Ok(request)
    });
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
        .build_v1()
        .expect("the set of tonic-health");
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let server = Server::builder().add_service(health).add_service(reflection);
    server.serve(address).await.expect("a free port");
}
