//! One client: answers its requests and sends it events.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::ws::{Message, WebSocket};
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Semaphore, mpsc};

use crate::request::Request;
use crate::scenes::Scenes;
use crate::tile::{Square, Tile};

/// Maximum number of pending requests of a client. One that sends more is disconnected.
const MAX_PENDING: usize = 64;
/// Tiles of one client that are encoded at the same time.
const MAX_ENCODING: usize = 2;
/// Time limit for sending a message: a client that does not read for so long is disconnected.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval of pings, and silence after which a client is taken to be gone.
const PING: Duration = Duration::from_secs(30);
const SILENCE: Duration = Duration::from_secs(120);

/// Serves a client until it leaves.
pub(crate) async fn run(mut socket: WebSocket, show: Arc<Scenes>) {
    let mut subscription = show.subscribe();
    let (outbox, mut ready) = mpsc::channel::<Message>(MAX_PENDING);
    let workers = Arc::new(Semaphore::new(MAX_ENCODING));
    if !send(&mut socket, Message::Text(show.hello().into())).await {
        return;
    }
    let mut ping = tokio::time::interval_at(tokio::time::Instant::now() + PING, PING);
    let mut heard = Instant::now();
    let mut pending = 0;
    loop {
        let message = tokio::select! {
            received = socket.recv() => {
                heard = Instant::now();
                match received {
                    Some(Ok(Message::Text(text))) => match Request::read(&text) {
                        Ok(_) if pending >= MAX_PENDING => return,
                        Ok(request) => {
                            pending += 1;
                            work(request, show.clone(), outbox.clone(), workers.clone());
                            continue;
                        }
                        Err(what) => error_message(&what),
                    },
                    Some(Ok(Message::Binary(_))) => error_message("requests are text"),
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                }
            }
            Some(message) = ready.recv() => {
                pending -= 1;
                message
            }
            event = subscription.events.recv() => match event {
                Ok(event) => Message::Text((*event).into()),
                // Too slow for single events: start over.
                Err(RecvError::Lagged(_)) => Message::Text(show.hello().into()),
                Err(RecvError::Closed) => return,
            },
            _ = ping.tick() => {
                if heard.elapsed() > SILENCE {
                    return;
                }
                Message::Ping(Default::default())
            }
        };
        if !send(&mut socket, message).await {
            return;
        }
    }
}

/// Sends a message; false if the client is gone or does not read.
async fn send(socket: &mut WebSocket, message: Message) -> bool {
    matches!(tokio::time::timeout(SEND_TIMEOUT, socket.send(message)).await, Ok(Ok(())))
}

/// Answers a request on another thread. Every request has exactly one answer.
fn work(request: Request, show: Arc<Scenes>, outbox: mpsc::Sender<Message>, workers: Arc<Semaphore>) {
    tokio::spawn(async move {
        let is_tile = matches!(request, Request::Tile { .. });
        // A click does not queue behind tiles.
        let permit = if is_tile { workers.acquire_owned().await.ok() } else { None };
        let done = tokio::task::spawn_blocking(move || reply(&request, &show)).await;
        drop(permit);
        let message = done.unwrap_or_else(|e| error_message(&format!("this request failed: {e}")));
        // A client that left needs no answer.
        drop(outbox.send(message).await);
    });
}

fn reply(request: &Request, show: &Scenes) -> Message {
    let map = match request {
        Request::Tile { map, .. } | Request::Query { map, .. } => *map,
    };
    let Some(scene) = show.scene(map) else { return error_message(&format!("there is no map {map}")) };
    match request {
        Request::Tile { what, tile, level, .. } => match scene.pack(map as u8, square(*level, *tile), *what) {
            Ok(Some(bytes)) => Message::Binary(bytes),
            Ok(None) => {
                let missing = json!({"kind": "missing", "map": map, "what": what, "tile": tile, "level": level});
                Message::Text(missing.to_string().into())
            }
            Err(error) => error_message(&error.to_string()),
        },
        Request::Query { id, at, .. } => match scene.answer(*at) {
            Ok(belief) => {
                let answer = json!({"kind": "answer", "id": id, "map": map, "belief": belief});
                Message::Text(answer.to_string().into())
            }
            Err(error) => error_message(&error.to_string()),
        },
    }
}

fn square(level: u8, tile: [i32; 2]) -> Square {
    Square { level, tile: Tile(tile) }
}

fn error_message(what: &str) -> Message {
    Message::Text(json!({"kind": "error", "what": what}).to_string().into())
}
