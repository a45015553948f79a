//! Access control: on the loopback interface any user of this machine, elsewhere whoever has the token.
//!
//! A page of another site, opened in a browser on this machine, can reach the loopback interface too. It cannot forge the
//! headers Host and Origin, so both must be ours.

use axum::http::{HeaderMap, Uri, header};

use crate::error::{Error, Result};

/// Credentials that a request needs.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    pub(crate) token: Option<String>,
}

impl Guard {
    /// A guard with a fresh token.
    pub(crate) fn with_token() -> Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|e| Error::Start(format!("no random numbers for a token: {e}")))?;
        Ok(Self { token: Some(bytes.iter().map(|b| format!("{b:02x}")).collect()) })
    }

    /// Whether a request for maps may be answered.
    pub(crate) fn admits(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
        let origin = headers.get(header::ORIGIN).map(|value| value.to_str().unwrap_or(""));
        let same_site = origin.is_none_or(|origin| host.is_some_and(|host| origin == format!("http://{host}")));
        same_site
            && match &self.token {
                Some(token) => given(uri).is_some_and(|given| same(given.as_bytes(), token.as_bytes())),
                None => host.is_some_and(is_loopback),
            }
    }
}

/// The token in `?token=…`.
fn given(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix("token="))
}

/// Constant-time comparison.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (x, y)| all | (x ^ y)) == 0
}

fn is_loopback(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(
        host,
        |(name, port)| {
            if port.bytes().all(|b| b.is_ascii_digit()) { name } else { host }
        },
    );
    matches!(name, "localhost" | "[::1]") || name.parse::<std::net::Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(host: &str, origin: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        headers
    }

    #[test]
    fn loopback_needs_our_own_host_and_origin() {
        let (guard, uri) = (Guard { token: None }, Uri::from_static("/ws"));
        for host in ["localhost:7878", "127.0.0.1:7878", "127.0.0.1", "[::1]:80", "[::1]"] {
            assert!(guard.admits(&uri, &headers(host, None)), "{host}");
            assert!(guard.admits(&uri, &headers(host, Some(&format!("http://{host}")))), "{host}");
        }
        assert!(!guard.admits(&uri, &headers("evil.example:7878", None)));
        assert!(!guard.admits(&uri, &headers("127.0.0.1.evil.example", None)));
        assert!(!guard.admits(&uri, &headers("localhost:7878", Some("http://evil.example"))));
        assert!(!guard.admits(&uri, &headers("localhost:7878", Some("null"))));
        assert!(!guard.admits(&uri, &HeaderMap::new()));
    }

    #[test]
    fn elsewhere_the_token_is_needed() {
        let guard = Guard::with_token().unwrap();
        let token = guard.token.clone().unwrap();
        assert_eq!(token.len(), 32);
        assert_ne!(Some(token.clone()), Guard::with_token().unwrap().token);
        let here = headers("robot:7878", Some("http://robot:7878"));
        for (uri, expected) in [
            (format!("/ws?token={token}"), true),
            (format!("/ws?a=b&token={token}"), true),
            ("/ws".into(), false),
            ("/ws?token=".into(), false),
            (format!("/ws?token={}", &token[1..]), false),
            (format!("/ws?token={token}0"), false),
        ] {
            assert_eq!(guard.admits(&uri.parse().unwrap(), &here), expected, "{uri}");
        }
        let uri = format!("/ws?token={token}").parse().unwrap();
        assert!(!guard.admits(&uri, &headers("robot:7878", Some("http://evil.example"))));
    }
}
