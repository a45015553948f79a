//! One browser: what it asks for is answered, what is new it is told.

use std::sync::Arc;

use axum::extract::ws::{Message, WebSocket};
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Semaphore, mpsc};

use crate::request::Request;
use crate::show::Show;
use crate::tile::Tile;

/// Requests of one browser that may be under way; it asks for more when it has these. Who sends more is disconnected.
const UNDER_WAY: usize = 64;
/// Tiles of one browser that are packed at the same time.
const PACKED_AT_ONCE: usize = 2;

/// Talks to a browser until it leaves.
pub(crate) async fn run(mut socket: WebSocket, show: Arc<Show>) {
    let mut watch = show.watch();
    let (outbox, mut ready) = mpsc::channel::<Message>(UNDER_WAY);
    let workers = Arc::new(Semaphore::new(PACKED_AT_ONCE));
    if socket.send(Message::Text(show.hello().into())).await.is_err() {
        return;
    }
    let mut under_way = 0;
    loop {
        let message = tokio::select! {
            received = socket.recv() => match received {
                Some(Ok(Message::Text(text))) => match Request::read(&text) {
                    Ok(_) if under_way >= UNDER_WAY => return,
                    Ok(request) => {
                        under_way += 1;
                        work(request, show.clone(), outbox.clone(), workers.clone());
                        continue;
                    }
                    Err(what) => complaint(&what),
                },
                Some(Ok(Message::Binary(_))) => complaint("requests are text"),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
            },
            Some(message) = ready.recv() => {
                under_way -= 1;
                message
            }
            news = watch.news.recv() => match news {
                Ok(news) => Message::Text((*news).into()),
                // Too slow for single news: begin anew.
                Err(RecvError::Lagged(_)) => Message::Text(show.hello().into()),
                Err(RecvError::Closed) => return,
            },
        };
        if socket.send(message).await.is_err() {
            return;
        }
    }
}

/// Answers a request on another thread. Every request has exactly one answer.
fn work(request: Request, show: Arc<Show>, outbox: mpsc::Sender<Message>, workers: Arc<Semaphore>) {
    tokio::spawn(async move {
        let is_tile = matches!(request, Request::Tile { .. });
        // A click does not queue behind tiles.
        let permit = if is_tile { workers.acquire_owned().await.ok() } else { None };
        let done = tokio::task::spawn_blocking(move || reply(&request, &show)).await;
        drop(permit);
        let message = done.unwrap_or_else(|e| complaint(&format!("this request failed: {e}")));
        // A browser that left needs no answer.
        drop(outbox.send(message).await);
    });
}

fn reply(request: &Request, show: &Show) -> Message {
    let map = match request {
        Request::Tile { map, .. } | Request::Query { map, .. } => *map,
    };
    let Some(scene) = show.scene(map) else { return complaint(&format!("there is no map {map}")) };
    match request {
        Request::Tile { what, tile, .. } => match scene.pack(map as u8, Tile(*tile), *what) {
            Ok(Some(bytes)) => Message::Binary(bytes),
            Ok(None) => {
                Message::Text(json!({"kind": "missing", "map": map, "what": what, "tile": tile}).to_string().into())
            }
            Err(error) => complaint(&error.to_string()),
        },
        Request::Query { id, at, .. } => match scene.answer(*at) {
            Ok(belief) => {
                let answer = json!({"kind": "answer", "id": id, "map": map, "belief": belief});
                Message::Text(answer.to_string().into())
            }
            Err(error) => complaint(&error.to_string()),
        },
    }
}

fn complaint(what: &str) -> Message {
    Message::Text(json!({"kind": "error", "what": what}).to_string().into())
}
