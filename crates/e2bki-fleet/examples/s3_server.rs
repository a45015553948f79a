//! An S3 server for trials of a fleet on one machine:
//! `cargo run --release -p e2bki-fleet --features s3-server --example s3_server -- FOLDER [PORT]`.
//! Every folder in FOLDER is a bucket. Prints what clients need in their environment, then serves until it is stopped.

#[path = "../tests/server/mod.rs"]
mod server;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let wrong = || std::io::Error::other("give a folder, and a port if it must be a certain one");
    let folder = arguments.next().ok_or_else(wrong)?;
    let port = arguments.next().map_or(Ok(0), |port| port.parse()).map_err(|_| wrong())?;
    let server = server::Server::start(folder.as_ref(), port, true)?;
    for (name, value) in server.options() {
        println!("export {name}='{value}'");
    }
    server.wait()
}
