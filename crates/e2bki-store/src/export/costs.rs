//! Costs of classes for a planner.

use e2bki::ClassSet;

use crate::error::{Error, Result};

/// Names of ground that vehicles usually drive on: free unless a table says otherwise.
const GROUND: [&str; 22] = [
    "road",
    "lane",
    "lane-marking",
    "parking",
    "sidewalk",
    "ground",
    "other-ground",
    "terrain",
    "grass",
    "dirt",
    "mud",
    "sand",
    "gravel",
    "asphalt",
    "concrete",
    "trail",
    "path",
    "floor",
    "snow",
    "pavement",
    "soil",
    "field",
];

/// The highest cost: occupied.
const MOST: u8 = 100;

/// Costs of classes from 0 (free) to 100 (occupied), by name. Classes that are not named cost nothing if they are
/// usual ground, and 100 otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CostTable {
    named: Vec<(String, u8)>,
}

impl CostTable {
    /// Adds an entry in the form NAME=COST.
    pub fn add(&mut self, entry: &str) -> Result<()> {
        let (name, cost) = entry
            .rsplit_once('=')
            .ok_or_else(|| Error::Refused(format!("a cost is written NAME=COST, as in grass=30; got `{entry}`")))?;
        let cost = cost.trim().parse().ok().filter(|cost| *cost <= MOST);
        let cost = cost.ok_or_else(|| Error::Refused(format!("a cost is a number from 0 to {MOST}; got `{entry}`")))?;
        self.named.push((name.trim().into(), cost));
        Ok(())
    }

    /// The cost of every class. Fails for names that the map does not have.
    pub fn of(&self, classes: &ClassSet) -> Result<Vec<u8>> {
        if let Some((name, _)) = self.named.iter().find(|(name, _)| classes.find(name).is_none()) {
            let known = classes.names().join(", ");
            return Err(Error::Refused(format!("the map has no class `{name}`; it has {known}")));
        }
        let usual = |name: &str| if GROUND.contains(&name.to_lowercase().as_str()) { 0 } else { MOST };
        Ok(classes
            .names()
            .iter()
            .map(|name| self.named.iter().rev().find(|(n, _)| n == name).map_or_else(|| usual(name), |(_, cost)| *cost))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_costs_win_and_mistakes_are_named() {
        let classes = ClassSet::from_names(["road", "tree", "grass"]).unwrap();
        assert_eq!(CostTable::default().of(&classes).unwrap(), [0, 100, 0]);
        let mut table = CostTable::default();
        table.add("grass=30").unwrap();
        table.add("tree = 60").unwrap();
        assert_eq!(table.of(&classes).unwrap(), [0, 60, 30]);
        assert!(table.add("grass").is_err() && table.add("grass=101").is_err() && table.add("grass=-1").is_err());
        table.add("gras=3").unwrap();
        assert!(table.of(&classes).unwrap_err().to_string().contains("`gras`"));
    }
}
