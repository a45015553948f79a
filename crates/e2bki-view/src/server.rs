//! The server: a page, its assets, and a WebSocket. It reads no files.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;

use axum::Router;
use axum::extract::{State, WebSocketUpgrade};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::sync::{Semaphore, watch};

use crate::error::{Error, Result};
use crate::guard::Guard;
use crate::request::MAX_MESSAGE;
use crate::scenes::Scenes;
use crate::{assets, connections, session};

/// Ports tried after the first.
const MORE_PORTS: u16 = 100;

/// Where to listen.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Address; anything but loopback needs a token, which the URL then holds.
    pub host: IpAddr,
    /// Port; 0 for any. Where it is taken, the next free one is used.
    pub port: u16,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self { host: Ipv4Addr::LOCALHOST.into(), port: 7878 }
    }
}

#[derive(Clone)]
struct Shared {
    show: Arc<Scenes>,
    guard: Arc<Guard>,
    /// WebSockets that may still be opened.
    free: Arc<Semaphore>,
}

/// A running server; it ends when this is dropped.
pub struct Server {
    address: SocketAddr,
    guard: Arc<Guard>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts serving on a thread of its own.
    pub fn start(options: &ServeOptions, show: Arc<Scenes>) -> Result<Self> {
        let failed = |e: std::io::Error| Error::Start(e.to_string());
        let listener = bind(options)?;
        let address = listener.local_addr().map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let guard = Arc::new(if options.host.is_loopback() { Guard { token: None } } else { Guard::with_token()? });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            // Encoding a tile uses all cores already.
            .max_blocking_threads(4)
            .build()
            .map_err(failed)?;
        let (stop, mut stopped) = watch::channel(false);
        let free = Arc::new(Semaphore::new(connections::MAX_CLIENTS));
        let router = router(Shared { show: show.clone(), guard: guard.clone(), free });
        std::thread::Builder::new()
            .name("e2bki-pack".into())
            .spawn({
                let stopped = stopped.clone();
                move || show.prepare(|| matches!(stopped.has_changed(), Ok(false)))
            })
            .map_err(failed)?;
        let thread = std::thread::Builder::new()
            .name("e2bki-view".into())
            .spawn(move || {
                runtime.block_on(async move {
                    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                    tokio::select! {
                        () = connections::serve(listener, router) => {}
                        _ = stopped.changed() => {}
                    }
                });
                runtime.shutdown_background();
            })
            .map_err(failed)?;
        Ok(Self { address, guard, stop, thread: Some(thread) })
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL to open in a browser, with the token if one is needed.
    pub fn url(&self) -> String {
        match &self.guard.token {
            Some(token) => format!("http://{}/?token={token}", self.address),
            None => format!("http://{}/", self.address),
        }
    }

    /// Serves until the process is ended.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

pub(crate) fn bind(options: &ServeOptions) -> Result<TcpListener> {
    let first = options.port;
    let last = if first == 0 { 0 } else { first.saturating_add(MORE_PORTS) };
    let mut ports = first..=last;
    loop {
        let port = ports.next().unwrap_or(last);
        match TcpListener::bind((options.host, port)) {
            Ok(listener) => return Ok(listener),
            Err(e) if e.kind() == std::io::ErrorKind::AddrInUse && port < last => {}
            Err(source) => return Err(Error::Bind { host: options.host, first, last: port, source }),
        }
    }
}

fn router(shared: Shared) -> Router {
    Router::new().route("/ws", get(socket)).fallback(page).with_state(shared)
}

/// The page and its assets; the page itself only for authorised clients.
async fn page(State(shared): State<Shared>, method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path();
    if path == "/" && !shared.guard.admits(&uri, &headers) {
        return refusal();
    }
    let Some((kind, contents)) = assets::find(path) else {
        return (StatusCode::NOT_FOUND, "not found\n").into_response();
    };
    if method != Method::GET && method != Method::HEAD {
        let allowed = [(header::ALLOW, "GET, HEAD")];
        return (StatusCode::METHOD_NOT_ALLOWED, allowed, "only GET and HEAD are served\n").into_response();
    }
    let head = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-cache"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; frame-ancestors 'none'",
        ),
    ];
    (head, contents).into_response()
}

async fn socket(
    State(shared): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
    upgrade: std::result::Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Response {
    if !shared.guard.admits(&uri, &headers) {
        return refusal();
    }
    match upgrade {
        Ok(upgrade) => {
            let Ok(place) = shared.free.try_acquire_owned() else { return full() };
            upgrade.max_message_size(MAX_MESSAGE).max_frame_size(MAX_MESSAGE).on_upgrade(move |socket| async move {
                session::run(socket, shared.show).await;
                drop(place);
            })
        }
        Err(rejection) => rejection.into_response(),
    }
}

fn refusal() -> Response {
    let why = "open the address that `e2bki view` printed, including its token\n";
    (StatusCode::FORBIDDEN, why).into_response()
}

fn full() -> Response {
    let why = format!("{} pages are open already; close one of them\n", connections::MAX_CLIENTS);
    (StatusCode::SERVICE_UNAVAILABLE, why).into_response()
}
