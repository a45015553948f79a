//! Images with the classes of their pixels: what networks learn from.

use image::RgbImage;

use super::open::Dataset;
use crate::classes::VOID;
use crate::error::{Flaw, Result};

/// An image and the class of each of its pixels, row by row; [`VOID`] for none.
#[derive(Debug, Clone)]
pub struct LabelledImage {
    /// The colours.
    pub image: RgbImage,
    /// The classes.
    pub classes: Vec<u32>,
}

impl Dataset {
    /// The camera image of a frame with the dataset's own labels of its pixels; nothing where either is missing.
    pub fn labelled_image(&self, index: usize) -> Result<Option<LabelledImage>> {
        let entry = self.entry(index)?;
        let (Some(image), Some(labels)) = (&entry.image, &entry.image_labels) else { return Ok(None) };
        let remap = self.table().remap(self.ids())?;
        let picture = image.picture()?;
        let ids = labels.label_image()?;
        let size = [picture.width() as usize, picture.height() as usize];
        if size != [ids.width, ids.height] {
            let what = format!("it is {}×{}, but the image is {}×{}", ids.width, ids.height, size[0], size[1]);
            return Err(labels.flaw(Flaw::new(what)));
        }
        let count = self.classes().len() as u32;
        let class = |id: &u16| Some(remap.class(u32::from(*id))).filter(|c| *c < count).unwrap_or(VOID);
        Ok(Some(LabelledImage { image: picture, classes: ids.ids.iter().map(class).collect() }))
    }
}
