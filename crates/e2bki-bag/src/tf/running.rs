//! The tree of a robot that is running: transforms come one by one, old ones are forgotten, and its clock may be set back.

use super::{Edge, Transforms};
use crate::messages::TransformMessage;

/// A transform that is so much older than the newest of its frame was not late: the clock jumped back, nanoseconds.
const JUMP_NS: u64 = 5_000_000_000;

/// Most transforms of a frame that are kept.
const MOST_KEPT: usize = 1 << 16;

impl Transforms {
    /// Takes a transform of a running robot and forgets those of its frame that are more than `keep_s` older than the newest;
    /// the last one stays. Returns whether the frame's clock jumped back: what was known of the time after it is forgotten.
    pub fn add_running(&mut self, message: TransformMessage, fixed: bool, keep_s: f64) -> bool {
        let (child, stamp) = (message.child.clone(), message.stamp);
        let mut jumped = false;
        if !fixed && let Some(edge) = self.edges.get_mut(&child) {
            let newest = edge.moving.last_key_value().map_or(0, |(newest, _)| *newest);
            jumped = newest.saturating_sub(stamp) > JUMP_NS;
            if jumped {
                edge.moving.clear();
            }
        }
        self.add(message, fixed);
        if let Some(edge) = self.edges.get_mut(&child) {
            forget(edge, (keep_s.max(0.0) * 1e9) as u64);
        }
        jumped
    }

    /// Whether transforms that are still to come cannot change the answer for a time, as all frames between the two are fixed
    /// or known at that time or later. Not so while the two are not connected.
    pub fn settled(&self, target: &str, source: &str, time: u64) -> bool {
        let (up, down) = (self.names_to_root(source), self.names_to_root(target));
        let Some(common) = up.iter().find(|name| down.contains(name)) else { return false };
        let known = |edge: &Edge| {
            edge.fixed.is_some() || edge.moving.last_key_value().is_some_and(|(newest, _)| *newest >= time)
        };
        let between = [&up, &down].into_iter().flat_map(|names| names.iter().take_while(|name| *name != common));
        between.into_iter().all(|name| self.edges.get(*name).is_some_and(known))
    }
}

fn forget(edge: &mut Edge, keep_ns: u64) {
    let Some((newest, _)) = edge.moving.last_key_value() else { return };
    let oldest = newest.saturating_sub(keep_ns);
    while edge.moving.len() > 1
        && (edge.moving.len() > MOST_KEPT || edge.moving.first_key_value().is_some_and(|(stamp, _)| *stamp < oldest))
    {
        edge.moving.pop_first();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tf::Unknown;
    use e2bki::Pose;

    const S: u64 = 1_000_000_000;

    fn at(stamp: u64, parent: &str, child: &str, x: f64) -> TransformMessage {
        let pose = Pose::from_translation([x, 0.0, 0.0]).unwrap();
        TransformMessage { stamp, parent: parent.into(), child: child.into(), pose }
    }

    #[test]
    fn an_answer_is_settled_when_later_transforms_cannot_change_it() {
        let mut tree = Transforms::new(0.1);
        assert!(tree.settled("map", "map", 7) && !tree.settled("map", "lidar", 0));
        tree.add_running(at(0, "base", "lidar", 0.5), true, 10.0);
        assert!(!tree.settled("map", "lidar", S));
        tree.add_running(at(S, "map", "base", 1.0), false, 10.0);
        assert!(tree.settled("map", "lidar", S) && !tree.settled("map", "lidar", S + 1));
        // Within the tolerance there is an answer, but a better one may come.
        assert_eq!(tree.look_up("map", "lidar", S + 1).unwrap().translation()[0], 1.5);
        tree.add_running(at(2 * S, "map", "base", 3.0), false, 10.0);
        assert!(tree.settled("map", "lidar", S + 1) && tree.settled("lidar", "map", 2 * S));
        assert_eq!(tree.look_up("map", "lidar", S + S / 2).unwrap().translation()[0], 2.5);
    }

    #[test]
    fn old_transforms_are_forgotten_and_a_clock_may_jump_back() {
        let mut tree = Transforms::new(0.1);
        for k in 0..100 {
            assert!(!tree.add_running(at(k * S, "map", "base", k as f64), false, 10.0));
        }
        assert!(tree.look_up("map", "base", 95 * S).is_ok());
        assert!(matches!(tree.look_up("map", "base", 80 * S), Err(Unknown::Time { .. })));
        // A little late is late; far back is another clock.
        assert!(!tree.add_running(at(97 * S + 1, "map", "base", 97.0), false, 10.0));
        assert!(tree.add_running(at(3 * S, "map", "base", 3.0), false, 10.0));
        assert!(tree.settled("map", "base", 3 * S) && !tree.settled("map", "base", 4 * S));
        // A transform that is told once stays, however long ago it was.
        tree.add_running(at(S, "base", "arm", 1.0), false, 0.0);
        assert!(tree.look_up("base", "arm", S).is_ok());
        for k in 0..2 * MOST_KEPT as u64 {
            tree.add_running(at(10 * S + k, "map", "base", 0.0), false, 10.0);
        }
        assert!(tree.edges["base"].moving.len() <= MOST_KEPT);
    }
}
