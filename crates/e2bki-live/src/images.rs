//! Pictures of a camera that wait for the scans of their time.

use std::collections::VecDeque;

use e2bki_bag::messages::{self, CameraInfo};
use e2bki_bag::wire::{Read, Wire};

/// Largest difference of the times of a scan and its picture, nanoseconds, as in recordings.
pub const SAME_VIEW_NS: u64 = 100_000_000;

/// Pictures that may wait, and their bytes: a further one drops the oldest.
const MOST: usize = 64;
const MOST_BYTES: usize = 256 << 20;

/// A clock that jumps back by more than this begins anew, nanoseconds.
const JUMP_NS: u64 = 5_000_000_000;

/// A picture as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Its time, nanoseconds.
    pub stamp: u64,
    /// Frame of its camera.
    pub frame: String,
    /// The message.
    pub message: Vec<u8>,
}

/// Pictures in the order of their times, and the calibration of their camera.
#[derive(Debug, Default)]
pub struct Images {
    waiting: VecDeque<Picture>,
    bytes: usize,
    info: Option<CameraInfo>,
    /// Pictures that came.
    pub received: u64,
    /// Pictures that were dropped before a scan of their time was mapped, as too many waited.
    pub dropped: u64,
}

impl Images {
    /// Takes a picture: `sensor_msgs/Image` or `CompressedImage`, which begin alike.
    pub fn take(&mut self, message: &[u8]) -> Read<()> {
        let header = messages::header(Wire::Cdr, message)?;
        let (stamp, frame) = (header.stamp, header.frame.to_string());
        if self.waiting.back().is_some_and(|last| last.stamp > stamp.saturating_add(JUMP_NS)) {
            self.waiting.clear();
            self.bytes = 0;
        }
        let at = self.waiting.partition_point(|picture| picture.stamp <= stamp);
        self.waiting.insert(at, Picture { stamp, frame, message: message.to_vec() });
        self.bytes += message.len();
        self.received += 1;
        while self.waiting.len() > 1 && (self.waiting.len() > MOST || self.bytes > MOST_BYTES) {
            self.forget_first();
            self.dropped += 1;
        }
        Ok(())
    }

    fn forget_first(&mut self) {
        self.bytes -= self.waiting.pop_front().map_or(0, |picture| picture.message.len());
    }

    /// Takes a `sensor_msgs/CameraInfo`: the latest counts.
    pub fn calibrate(&mut self, message: &[u8]) -> Read<()> {
        self.info = Some(CameraInfo::read(Wire::Cdr, message)?);
        Ok(())
    }

    /// The calibration, once it has come.
    pub fn info(&self) -> Option<&CameraInfo> {
        self.info.as_ref()
    }

    /// Whether what is still to come cannot be nearer to a time: a picture of it or of later is there.
    pub fn settled(&self, stamp: u64) -> bool {
        self.info.is_some() && self.waiting.back().is_some_and(|last| last.stamp >= stamp)
    }

    /// The picture whose time is nearest, the earlier of two, if it is near enough.
    pub fn nearest(&self, stamp: u64) -> Option<&Picture> {
        let near = self.waiting.iter().min_by_key(|picture| picture.stamp.abs_diff(stamp))?;
        (near.stamp.abs_diff(stamp) <= SAME_VIEW_NS).then_some(near)
    }

    /// A scan of this time was mapped: pictures of long before are of no use any more.
    pub fn pass(&mut self, stamp: u64) {
        while self.waiting.front().is_some_and(|first| first.stamp.saturating_add(SAME_VIEW_NS) < stamp) {
            self.forget_first();
        }
    }

    /// How they are doing, as diagnostics have it.
    pub fn values(&self) -> Vec<(String, String)> {
        let counts =
            [("received", self.received), ("waiting", self.len() as u64), ("dropped: too many wait", self.dropped)];
        counts.map(|(key, count)| (format!("pictures: {key}"), count.to_string())).to_vec()
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki_bag::compose;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;
    const START: u64 = 1_700_000_000_000_000_000;

    fn picture(stamp: u64) -> Vec<u8> {
        compose::image(stamp, "camera", [2, 1], "rgb8", &[0; 6])
    }

    #[test]
    fn a_scan_takes_the_nearest_picture_once_no_nearer_one_can_come() {
        let mut images = Images::default();
        for ms in [0, 95, 210] {
            images.take(&picture(START + ms * MS)).unwrap();
        }
        assert!(!images.settled(START), "there is no calibration");
        let info = CameraInfo {
            frame: "camera".into(),
            size: [2, 1],
            model: "plumb_bob".into(),
            distortion: Vec::new(),
            k: [1.0, 0.0, 1.0, 0.0, 1.0, 0.5, 0.0, 0.0, 1.0],
            p: [0.0; 12],
        };
        images.calibrate(&compose::camera_info(START, &info)).unwrap();
        assert!(images.settled(START + 210 * MS) && !images.settled(START + 211 * MS));
        let nearest = |ms: u64| images.nearest(START + ms * MS).map(|found| (found.stamp - START) / MS);
        assert_eq!([0, 40, 100, 300, 311].map(nearest), [Some(0), Some(0), Some(95), Some(210), None]);
        images.pass(START + 200 * MS);
        assert_eq!((images.len(), images.dropped), (1, 0), "what a scan passed was not dropped");
        assert!(images.take(&[1]).is_err() && images.calibrate(&[]).is_err());
        // A recording that begins again.
        images.take(&picture(START - 60_000 * MS)).unwrap();
        assert_eq!(images.len(), 1);
    }

    proptest! {
        #[test]
        fn the_newest_stay_and_the_rest_is_counted(order in prop::collection::vec(0_u64..4_000, 0..200)) {
            let mut images = Images::default();
            for ms in &order {
                images.take(&picture(START + ms * MS)).unwrap();
            }
            prop_assert_eq!(images.received, order.len() as u64);
            prop_assert_eq!(images.len() as u64 + images.dropped, order.len() as u64);
            prop_assert!(images.len() <= MOST && images.waiting.iter().is_sorted_by_key(|picture| picture.stamp));
            prop_assert_eq!(images.bytes, images.waiting.iter().map(|picture| picture.message.len()).sum::<usize>());
        }
    }
}
