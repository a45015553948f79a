//! What robots tell each other about their maps.

use std::time::Duration;

use e2bki::Mapper;
use e2bki_live::Sharing;
use e2bki_live::share::Message;

fn sharing(run: &str, map: &Mapper) -> Sharing {
    Sharing::new(run.into(), (true, true), map, 1e9).unwrap_or_else(|e| panic!("{e}"))
}

/// Any bytes as a message, to a robot that has a map of its own.
pub(crate) fn message(data: &[u8]) {
    if let Ok(message) = Message::decode(data) {
        assert_eq!(Message::decode(&message.encode()), Ok(message));
    }
    let mut map = (crate::seeds::empty(), 0);
    crate::seeds::add(&mut map.0, 0);
    let mut sharing = sharing("ours", &map.0);
    sharing.take(&mut map, data, Duration::ZERO);
    // Once more: it is known by then.
    let (primitives, frames) = (map.0.len(), map.0.frames());
    sharing.take(&mut map, data, Duration::ZERO);
    assert_eq!((map.0.len(), map.0.frames()), (primitives, frames));
    for state in map.0.states() {
        state.check(2, u64::MAX).unwrap_or_else(|e| panic!("{e}"));
    }
    sharing.messages(&map.0, Duration::from_secs(2));
}

/// What another robot says.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut map = crate::seeds::empty();
    (0..3).for_each(|place| crate::seeds::add(&mut map, place));
    let mut sharing = sharing("theirs", &map);
    let changes = map.changes_since(0);
    sharing.changed(&map, &changes);
    sharing.messages(&map, Duration::from_secs(1))
}
