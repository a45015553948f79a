//! Foxglove's protocol over loopback, as a client of it speaks.

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::net::TcpStream;
    use std::time::Duration;

    use e2bki_view::{Foxglove, FoxgloveTopic, ServeOptions};
    use serde_json::{Value, json};
    use tungstenite::client::IntoClientRequest;
    use tungstenite::{Message, WebSocket};

    struct Client(WebSocket<TcpStream>);

    impl Client {
        fn open(url: &str, origin: Option<&str>) -> Result<(Self, Option<String>), Box<tungstenite::Error>> {
            let mut request = url.into_client_request().unwrap();
            let headers = request.headers_mut();
            headers.insert("Sec-WebSocket-Protocol", "foxglove.sdk.v1".parse().unwrap());
            origin.map(|origin| headers.insert("Origin", origin.parse().unwrap()));
            let at = request.uri().authority().unwrap().to_string();
            let stream = TcpStream::connect(at).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let (socket, answer) = tungstenite::client(request, stream).map_err(|error| match error {
                tungstenite::HandshakeError::Failure(error) => Box::new(error),
                tungstenite::HandshakeError::Interrupted(_) => panic!("interrupted"),
            })?;
            let spoken = answer.headers().get("Sec-WebSocket-Protocol").map(|v| v.to_str().unwrap().to_string());
            Ok((Self(socket), spoken))
        }

        fn text(&mut self) -> Value {
            match self.0.read().unwrap() {
                Message::Text(text) => serde_json::from_str(&text).unwrap(),
                other => panic!("{other:?}"),
            }
        }

        fn data(&mut self) -> (u32, u64, Vec<u8>) {
            match self.0.read().unwrap() {
                Message::Binary(bytes) => {
                    assert_eq!(bytes[0], 1);
                    let (id, time) = (&bytes[1..5], &bytes[5..13]);
                    let (id, time) = (id.try_into().unwrap(), time.try_into().unwrap());
                    (u32::from_le_bytes(id), u64::from_le_bytes(time), bytes[13..].to_vec())
                }
                other => panic!("{other:?}"),
            }
        }

        fn say(&mut self, value: &Value) {
            self.0.send(Message::Text(value.to_string().into())).unwrap();
        }
    }

    fn topic(name: &str, latched: usize) -> FoxgloveTopic<'_> {
        FoxgloveTopic { name, kind: "std_msgs/msg/String", definition: "string data", latched }
    }

    fn start() -> Foxglove {
        Foxglove::start(&ServeOptions { port: 0, ..ServeOptions::default() }, "e2bki").unwrap()
    }

    #[test]
    fn topics_are_told_and_those_that_are_wanted_come() {
        let server = start();
        server.send(topic("/kept", 2), 1, b"one");
        server.send(topic("/kept", 2), 2, b"two");
        server.send(topic("/kept", 2), 3, b"three");
        let (mut client, spoken) = Client::open(&server.url(), Some("https://app.foxglove.dev")).unwrap();
        assert_eq!(spoken.as_deref(), Some("foxglove.sdk.v1"));
        let about = client.text();
        assert_eq!((&about["op"], &about["name"]), (&json!("serverInfo"), &json!("e2bki")));
        let told = client.text();
        assert_eq!(told["op"], "advertise");
        let channel = &told["channels"][0];
        let expected = json!({
            "id": 0, "topic": "/kept", "encoding": "cdr", "schemaName": "std_msgs/msg/String", "schema": "string data",
            "schemaEncoding": "ros2msg",
        });
        assert_eq!(channel, &expected);
        assert!(server.is_wanted("/kept") && server.is_wanted("/unheard-of"));
        client
            .say(&json!({"op": "subscribe", "subscriptions": [{"id": 7, "channelId": 0}, {"id": 8, "channelId": 99}]}));
        assert_eq!(client.data(), (7, 2, b"two".to_vec()));
        assert_eq!(client.data(), (7, 3, b"three".to_vec()));
        // A topic that comes later.
        server.send(topic("/passing", 0), 4, b"lost");
        let told = client.text();
        assert_eq!((&told["channels"][0]["topic"], &told["channels"][0]["id"]), (&json!("/passing"), &json!(1)));
        assert!(!server.is_wanted("/passing"));
        client.say(&json!({"op": "subscribe", "subscriptions": [{"id": 9, "channelId": 1}]}));
        client.say(&json!({"op": "unsubscribe", "subscriptionIds": [7, 123]}));
        client.say(&json!("nonsense"));
        while !server.is_wanted("/passing") {
            std::thread::sleep(Duration::from_millis(5));
        }
        server.send(topic("/passing", 0), 5, b"heard");
        assert_eq!(client.data(), (9, 5, b"heard".to_vec()));
        drop(client);
        let gone = (0..2000).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            !server.is_wanted("/passing")
        });
        assert!(gone, "who has left wants nothing");
    }

    #[test]
    fn who_is_slow_misses_messages_and_holds_up_nobody() {
        let server = start();
        let (mut slow, _) = Client::open(&server.url(), None).unwrap();
        server.send(topic("/t", 0), 0, &[]);
        // With the topics of the beginning, or after them: whichever came first.
        while slow.text()["channels"][0]["topic"] != "/t" {}
        slow.say(&json!({"op": "subscribe", "subscriptions": [{"id": 0, "channelId": 0}]}));
        while !server.is_wanted("/t") {
            std::thread::sleep(Duration::from_millis(5));
        }
        let large = vec![7; 1_000_000];
        for time in 1..=300 {
            server.send(topic("/t", 0), time, &large);
        }
        server.send(topic("/t", 0), 301, b"last");
        let (mut heard, mut kinds) = (0, BTreeMap::new());
        loop {
            match slow.0.read().unwrap() {
                Message::Binary(bytes) => {
                    heard += 1;
                    if bytes.len() == 17 {
                        break;
                    }
                }
                other => *kinds.entry(other.is_text()).or_insert(0) += 1,
            }
        }
        assert!((1..=301).contains(&heard), "{heard}");
    }

    #[test]
    fn other_sites_and_other_requests_are_refused() {
        let server = start();
        assert!(Client::open(&server.url(), Some("https://evil.example")).is_err());
        assert!(Client::open(&server.url(), Some("https://evilfoxglove.dev")).is_err());
        assert!(Client::open(&server.url(), Some("https://app.foxglove.dev.evil.example")).is_err());
        assert!(Client::open(&server.url(), Some("file://")).is_ok());
        let mut stream = TcpStream::connect(server.url().trim_start_matches("ws://")).unwrap();
        use std::io::{Read, Write};
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        write!(stream, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 426"), "{answer}");
    }
}
