//! Connections that cannot use up the server: bounded in number, size and time.
//!
//! A client that connects and sends half a request, or nothing, holds a socket. Of connections that are not WebSockets only
//! [`MAX_PENDING`] are kept: the oldest goes when another comes. A whole request takes milliseconds, so the oldest is a stalled
//! one, and a browser whose idle connection goes opens another. WebSockets have their own limit ([`MAX_CLIENTS`]).

use std::collections::VecDeque;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// Most connections that have not become WebSockets.
pub(crate) const MAX_PENDING: usize = 128;
/// Most WebSockets.
pub(crate) const MAX_CLIENTS: usize = 64;
/// Time for the head of a request, and of an idle connection until the next one.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// Time for everything before a connection ends or becomes a WebSocket.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest head of a request, bytes, and most headers in it.
const MAX_HEAD: usize = 16 << 10;
const MAX_HEADERS: usize = 64;
/// Pause after the system refused a connection, as when it is out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections for ever.
pub(crate) async fn serve(listener: TcpListener, router: Router) {
    let mut pending: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        pending.retain(|connection| !connection.is_finished());
        while pending.len() >= MAX_PENDING {
            if let Some(oldest) = pending.pop_front() {
                oldest.abort();
            }
        }
        pending.push_back(tokio::spawn(connection(stream, router.clone())).abort_handle());
    }
}

/// One connection, until it ends or becomes a WebSocket, which goes on by itself.
async fn connection(stream: TcpStream, router: Router) {
    let http = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .with_upgrades();
    // A failed connection does not concern the others.
    drop(tokio::time::timeout(CONNECTION_TIMEOUT, http).await);
}
