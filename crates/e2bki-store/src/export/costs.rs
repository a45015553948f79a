//! Costs of classes for a planner.

use e2bki::ClassSet;

use crate::error::{Error, Result};

/// The highest cost: occupied.
const MOST: u8 = 100;

/// Costs of classes from 0 (free) to 100 (occupied), by name. Classes that are not named cost what the map's classes carry.
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

    /// Adds what classes carry, below what was added already.
    pub fn fall_back(&mut self, classes: &ClassSet) {
        let carried = classes.names().iter().enumerate();
        self.named.splice(0..0, carried.filter_map(|(class, name)| Some((name.clone(), classes.cost(class)?))));
    }

    /// The cost of every class. Fails for names that the map does not have, and for classes whose cost nobody has said.
    pub fn of(&self, classes: &ClassSet) -> Result<Vec<u8>> {
        if let Some((name, _)) = self.named.iter().find(|(name, _)| classes.find(name).is_none()) {
            let known = classes.names().join(", ");
            return Err(Error::Refused(format!("the map has no class `{name}`; it has {known}")));
        }
        let named = |name: &String| self.named.iter().rev().find(|(n, _)| n == name).map(|(_, cost)| *cost);
        let each = classes.names().iter().enumerate().map(|(class, name)| {
            named(name).or_else(|| classes.cost(class)).ok_or_else(|| {
                Error::Refused(format!(
                    "nobody has said what `{name}` costs: give --cost {name}=0 (free) to {name}=100"
                ))
            })
        });
        each.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_costs_win_and_mistakes_are_named() {
        let classes = ClassSet::from_names(["road", "tree", "grass"]).unwrap();
        let unknown = CostTable::default().of(&classes).unwrap_err().to_string();
        assert!(unknown.contains("`road`") && unknown.contains("--cost"), "{unknown}");
        let classes = classes.with_costs([("road", 0), ("tree", 100), ("grass", 0)]).unwrap();
        assert_eq!(CostTable::default().of(&classes).unwrap(), [0, 100, 0]);
        let mut carried = CostTable::default();
        carried.add("grass=7").unwrap();
        carried.fall_back(&classes);
        assert_eq!(carried.of(&ClassSet::from_names(["road", "tree", "grass"]).unwrap()).unwrap(), [0, 100, 7]);
        let mut table = CostTable::default();
        table.add("grass=30").unwrap();
        table.add("tree = 60").unwrap();
        assert_eq!(table.of(&classes).unwrap(), [0, 60, 30]);
        assert!(table.add("grass").is_err() && table.add("grass=101").is_err() && table.add("grass=-1").is_err());
        table.add("gras=3").unwrap();
        assert!(table.of(&classes).unwrap_err().to_string().contains("`gras`"));
    }
}
