//! Just enough drawing for a plot: lines and one-decimal numbers on a white sheet.
//! Kept tiny on purpose: the only picture it must draw is the reliability diagram.

use std::path::Path;

use image::{Rgb, RgbImage};

use crate::Error;

/// Digits 0 to 9 and a point as 3 × 5 dots, one row per three bits from the top.
const DIGITS: [u16; 11] =
    [0o75557, 0o26227, 0o71747, 0o71717, 0o55711, 0o74717, 0o74757, 0o71122, 0o75757, 0o75717, 0o00002];

pub(super) struct Canvas {
    sheet: RgbImage,
}

impl Canvas {
    pub(super) fn new(width: u32, height: u32) -> Canvas {
        Canvas { sheet: RgbImage::from_pixel(width, height, Rgb([255, 255, 255])) }
    }

    fn dot(&mut self, x: i64, y: i64, color: [u8; 3]) {
        if let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y))
            && x < self.sheet.width()
            && y < self.sheet.height()
        {
            self.sheet.put_pixel(x, y, Rgb(color));
        }
    }

    pub(super) fn line(&mut self, a: [f64; 2], b: [f64; 2], color: [u8; 3]) {
        let steps = (b[0] - a[0]).abs().max((b[1] - a[1]).abs()).ceil().max(1.0) as u32;
        for k in 0..=steps {
            let f = f64::from(k) / f64::from(steps);
            let p = [a[0] + (b[0] - a[0]) * f, a[1] + (b[1] - a[1]) * f];
            self.dot(p[0].round() as i64, p[1].round() as i64, color);
        }
    }

    pub(super) fn thick(&mut self, a: [f64; 2], b: [f64; 2], color: [u8; 3]) {
        for (dx, dy) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
            self.line([a[0] + dx, a[1] + dy], [b[0] + dx, b[1] + dy], color);
        }
    }

    /// Writes `tenths / 10` with its low corner at `at`.
    pub(super) fn number(&mut self, tenths: i32, at: [i64; 2]) {
        let glyphs = [tenths / 10, 10, tenths % 10];
        for (n, glyph) in glyphs.iter().enumerate() {
            let bits = DIGITS[(*glyph).clamp(0, 10) as usize];
            for k in 0..15 {
                if bits >> (14 - k) & 1 == 1 {
                    self.dot(at[0] + 4 * n as i64 + i64::from(k % 3), at[1] + i64::from(k / 3), [60, 60, 60]);
                }
            }
        }
    }

    pub(super) fn save(&self, path: &Path) -> Result<(), Error> {
        self.sheet.save(path).map_err(|source| Error::Image { path: path.to_path_buf(), source })
    }
}
