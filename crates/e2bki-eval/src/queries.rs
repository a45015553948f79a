//! Places to ask a map about, with the true class of each.

/// Queries in a volume (`D` = 3) or a plane (`D` = 2).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Queries<const D: usize> {
    places: Vec<[f64; D]>,
    truths: Vec<u16>,
    said: Vec<Option<(u16, f32)>>,
}

impl<const D: usize> Queries<D> {
    /// Adds a query. Classes above 65535 are left out.
    pub fn push(&mut self, place: [f64; D], truth: usize, said: Option<(usize, f64)>) {
        let Ok(truth) = u16::try_from(truth) else { return };
        self.places.push(place);
        self.truths.push(truth);
        self.said.push(said.and_then(|(label, sure)| Some((u16::try_from(label).ok()?, sure as f32))));
    }

    /// Where to ask.
    pub fn places(&self) -> &[[f64; D]] {
        &self.places
    }

    /// True classes.
    pub fn truths(&self) -> &[u16] {
        &self.truths
    }

    /// The network's label and confidence at first sight.
    pub fn said(&self, query: usize) -> Option<(usize, f64)> {
        self.said.get(query).copied().flatten().map(|(label, sure)| (usize::from(label), f64::from(sure)))
    }

    /// Number of queries.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}
