//! A small S3 server on loopback over a folder: `s3s-fs`, whose conditional puts race, with one PUT at a time, so that of
//! several who create an object exactly one does, as in S3.

use std::io::{Error, Result};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, oneshot};

/// The one user of the server.
pub(crate) const USER: &str = "robot";
/// And the password.
pub(crate) const SECRET: &str = "of the fleet";

/// A server that runs until it is dropped.
pub(crate) struct Server {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Server {
    /// Serves a folder; every folder in it is a bucket. Port 0 is any that is free. `one_at_a_time` is what makes it honest.
    pub(crate) fn start(folder: &Path, port: u16, one_at_a_time: bool) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, port)))?;
        let address = listener.local_addr()?;
        let files = s3s_fs::FileSystem::new(folder).map_err(|e| Error::other(format!("{e:?}")))?;
        let (stop, stopped) = oneshot::channel();
        let serve = move || {
            runtime.block_on(async {
                tokio::select! {
                    ended = serve(listener, files, one_at_a_time) => ended,
                    _ = stopped => Ok(()),
                }
            })
        };
        Ok(Self { address, stop: Some(stop), thread: Some(std::thread::spawn(serve)) })
    }

    /// What a client has to know, in the names of the environment.
    pub(crate) fn options(&self) -> Vec<(String, String)> {
        let endpoint = format!("http://{}", self.address);
        let options = [
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
            ("AWS_ACCESS_KEY_ID", USER),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ALLOW_HTTP", "true"),
        ];
        options.map(|(key, value)| (key.into(), value.into())).into()
    }

    /// Waits until the server fails.
    #[allow(dead_code, reason = "the example waits, the tests do not")]
    pub(crate) fn wait(mut self) -> Result<()> {
        let ended = self.thread.take().map(JoinHandle::join);
        ended.unwrap_or(Ok(Ok(()))).unwrap_or_else(|_| Err(Error::other("the server stopped")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

async fn serve(listener: TcpListener, files: s3s_fs::FileSystem, one_at_a_time: bool) -> Result<()> {
    let mut builder = s3s::service::S3ServiceBuilder::new(files);
    builder.set_auth(s3s::auth::SimpleAuth::from_single(USER, SECRET));
    let service = builder.build();
    let turn = Arc::new(Mutex::new(()));
    loop {
        let (socket, _) = listener.accept().await?;
        let (service, turn) = (service.clone(), turn.clone());
        let answer = hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
            let (service, turn) = (service.clone(), turn.clone());
            async move {
                let waits = one_at_a_time && request.method() == hyper::Method::PUT;
                let _mine = if waits { Some(turn.lock().await) } else { None };
                hyper::service::Service::call(&service, request).await
            }
        });
        tokio::spawn(async move {
            // A client that goes away is its own affair.
            drop(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), answer).await);
        });
    }
}
