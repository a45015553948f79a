//! Requests of the page. Anything else is answered with an error.

use serde::Deserialize;

use crate::encode::Layer;

/// Maximum size of a client's message, bytes.
pub(crate) const MAX_MESSAGE: usize = 4096;

/// A message of the page.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Request {
    /// The bytes of a tile.
    Tile {
        /// Index of the map.
        map: usize,
        /// The layer.
        what: Layer,
        /// Which tile.
        tile: [i32; 2],
        /// Its level of detail; 0 is the finest.
        #[serde(default)]
        level: u8,
    },
    /// The belief at a position.
    Query {
        /// Id, repeated in the answer.
        id: u32,
        /// Index of the map.
        map: usize,
        /// World position, metres.
        at: [f64; 3],
    },
}

impl Request {
    /// Reads a message.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let request: Self = serde_json::from_str(text).map_err(|e| format!("not a request: {e}"))?;
        match request {
            Self::Query { at, .. } if at.iter().any(|v| !v.is_finite() || v.abs() > e2bki::WORLD_LIMIT_M) => {
                Err(format!("{at:?} is not a place"))
            }
            _ => Ok(request),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_requests_are_read() {
        let tile = r#"{"kind":"tile","map":0,"what":"voxels","tile":[-3,4]}"#;
        assert_eq!(Request::read(tile), Ok(Request::Tile { map: 0, what: Layer::Voxels, tile: [-3, 4], level: 0 }));
        for bad in [
            "",
            "null",
            "{}",
            r#"{"kind":"file","path":"/etc/passwd"}"#,
            r#"{"kind":"tile","map":-1,"what":"voxels","tile":[0,0]}"#,
            r#"{"kind":"tile","map":0,"what":"voxels","tile":[0,99999999999]}"#,
            r#"{"kind":"tile","map":0,"what":"voxels","tile":[0,0],"more":1}"#,
            r#"{"kind":"tile","map":0,"what":"voxels","tile":[0,0],"level":256}"#,
            r#"{"kind":"query","id":1,"map":0,"at":[0,0,1e300]}"#,
            r#"{"kind":"query","id":1,"map":0,"at":[0,0,null]}"#,
        ] {
            assert!(Request::read(bad).is_err(), "{bad}");
        }
    }
}
