//! What driving on each class costs: said by the class table, the robot's file, or the table that has the same classes.

use e2bki::{ClassSet, LETHAL_COST};
use e2bki_data::ClassTable;

use crate::error::{Error, Result};
use crate::robot::Robot;

/// What to do with classes whose cost nobody has said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownClasses {
    /// Refuse.
    #[default]
    Refuse,
    /// Take them for obstacles; [`ClassCosts::assumed`] says which.
    Lethal,
}

/// The cost of every class of a map.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassCosts {
    /// From 0, the best ground, to 1, an obstacle.
    cost: Vec<f32>,
    /// Classes from the costliest to the cheapest.
    order: Vec<usize>,
    /// Classes that were taken for obstacles because nobody has said what they cost.
    pub assumed: Vec<String>,
}

impl ClassCosts {
    /// The costs for a robot. What its file says goes before what the classes carry, and that before the built-in table of
    /// the same classes.
    pub fn of(classes: &ClassSet, robot: &Robot, unknown: UnknownClasses) -> Result<Self> {
        if let Some(name) = robot.costs.keys().find(|name| classes.find(name).is_none()) {
            let known = classes.names().join(", ");
            return Err(Error::Refused(format!(
                "the robot has a cost for `{name}`, but the map's classes are {known}"
            )));
        }
        let known = with_known_costs(classes.clone())?;
        let (mut cost, mut missing) = (Vec::new(), Vec::new());
        for (class, name) in classes.names().iter().enumerate() {
            let said = robot.costs.get(name).copied().or_else(|| known.cost(class));
            if said.is_none() {
                missing.push(name.clone());
            }
            cost.push(f32::from(said.unwrap_or(LETHAL_COST)) / f32::from(LETHAL_COST));
        }
        if !missing.is_empty() && unknown == UnknownClasses::Refuse {
            let list: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
            return Err(Error::UnknownCosts(list.join(", ")));
        }
        let mut order: Vec<usize> = (0..cost.len()).collect();
        order.sort_by(|a, b| cost[*b].total_cmp(&cost[*a]));
        Ok(Self { cost, order, assumed: missing })
    }

    /// Cost of a class, 0 to 1.
    pub fn cost(&self, class: usize) -> f32 {
        self.cost.get(class).copied().unwrap_or(1.0)
    }

    /// Whether a class is an obstacle.
    pub fn is_lethal(&self, class: usize) -> bool {
        self.cost(class) >= 1.0
    }

    /// Classes from the costliest to the cheapest.
    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }

    /// Number of classes.
    pub(crate) fn len(&self) -> usize {
        self.cost.len()
    }

    /// Share of obstacles in probabilities of the classes.
    pub(crate) fn lethal_share(&self, probability: impl Iterator<Item = f32>) -> f32 {
        let (mut lethal, mut all) = (0.0, 0.0);
        for (class, p) in probability.enumerate() {
            all += p;
            if self.is_lethal(class) {
                lethal += p;
            }
        }
        if all > 0.0 { lethal / all } else { 1.0 }
    }
}

/// The same classes; where they carry no cost at all and a table that comes with the program has the very same classes,
/// with its costs.
pub fn with_known_costs(classes: ClassSet) -> Result<ClassSet> {
    if (0..classes.len()).any(|class| classes.cost(class).is_some()) {
        return Ok(classes);
    }
    for table in ClassTable::built_in_names().into_iter().filter_map(ClassTable::built_in) {
        let table = table.map_err(|e| Error::Refused(e.to_string()))?;
        if table.classes().names() == classes.names() {
            let costs = classes.names().iter().enumerate();
            let costs: Vec<(String, u8)> =
                costs.filter_map(|(class, name)| Some((name.clone(), table.classes().cost(class)?))).collect();
            return Ok(classes.with_costs(costs)?);
        }
    }
    Ok(classes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roads_of_the_off_road_table_are_free_and_trees_are_not() {
        let names = ["puddle", "object", "paved", "unpaved", "dirt", "grass", "vegetation"];
        let classes = ClassSet::from_names(names).unwrap();
        let costs = ClassCosts::of(&classes, &Robot::default(), UnknownClasses::Refuse).unwrap();
        let lethal: Vec<bool> = (0..7).map(|class| costs.is_lethal(class)).collect();
        assert_eq!(lethal, [false, true, false, false, false, false, true]);
        assert_eq!(costs.cost(2), 0.0);
        assert!(costs.order()[..2].iter().all(|class| costs.is_lethal(*class)));
    }

    #[test]
    fn nothing_is_silently_free_or_blocked() {
        let classes = ClassSet::from_names(["road", "lava"]).unwrap().with_costs([("road", 0)]).unwrap();
        let message = ClassCosts::of(&classes, &Robot::default(), UnknownClasses::Refuse).unwrap_err().to_string();
        assert!(message.contains("`lava`") && !message.contains("`road`"), "{message}");
        let costs = ClassCosts::of(&classes, &Robot::default(), UnknownClasses::Lethal).unwrap();
        assert_eq!((costs.assumed.as_slice(), costs.is_lethal(1)), (&["lava".to_string()][..], true));
        let mut robot = Robot::default();
        robot.costs.insert("lava".into(), 90);
        let costs = ClassCosts::of(&classes, &robot, UnknownClasses::Refuse).unwrap();
        assert!((costs.cost(1) - 0.9).abs() < 1e-6 && costs.assumed.is_empty());
        robot.costs.insert("boat".into(), 1);
        assert!(ClassCosts::of(&classes, &robot, UnknownClasses::Lethal).unwrap_err().to_string().contains("boat"));
    }
}
