//! What robots tell each other about their maps.

use std::time::Duration;

use e2bki::free::Counters;
use e2bki::{Config, Mapper};
use e2bki_live::Sharing;
use e2bki_live::share::Message;

fn sharing(run: &str, map: &Mapper) -> Sharing {
    Sharing::new(run.into(), (true, true), map, 1e9).unwrap_or_else(|e| panic!("{e}"))
}

/// A map without anything in it, that counts free space.
fn empty() -> Mapper {
    Mapper::new(crate::seeds::empty().classes().clone(), Config::for_scans()).unwrap_or_else(|e| panic!("{e}"))
}

fn counts(map: &Mapper) -> Vec<u8> {
    map.free_space().map_or_else(Vec::new, Counters::to_bytes)
}

/// Any bytes as a message, to a robot that has a map of its own.
pub(crate) fn message(data: &[u8]) {
    if let Ok(message) = Message::decode(data) {
        assert_eq!(Message::decode(&message.encode()), Ok(message));
    }
    let mut map = (empty(), 0);
    crate::seeds::add(&mut map.0, 0);
    let mut sharing = sharing("ours", &map.0);
    sharing.take(&mut map, data, Duration::ZERO);
    // Once more: it is known by then.
    let (primitives, frames, counted) = (map.0.len(), map.0.frames(), counts(&map.0));
    sharing.take(&mut map, data, Duration::ZERO);
    assert_eq!((map.0.len(), map.0.frames()), (primitives, frames));
    assert_eq!(counts(&map.0), counted);
    assert!(Counters::from_bytes(&counted).is_ok(), "what was counted cannot be kept");
    for state in map.0.states() {
        state.check(2, u64::MAX).unwrap_or_else(|e| panic!("{e}"));
    }
    sharing.messages(&map.0, Duration::from_secs(2));
}

/// What another robot says.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut map = empty();
    (0..3).for_each(|place| crate::seeds::add(&mut map, place));
    let mut sharing = sharing("theirs", &map);
    let changes = map.changes_since(0);
    sharing.changed(&map, &changes);
    sharing.messages(&map, Duration::from_secs(1))
}
