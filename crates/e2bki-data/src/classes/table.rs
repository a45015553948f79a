//! A set of classes and, for each id space, which ids mean which class.

use std::collections::BTreeMap;
use std::path::Path;

use e2bki::{ClassSet, LETHAL_COST};

use crate::error::{Error, Result};
use crate::files;

/// The class of points that have none.
pub const VOID: u32 = u32::MAX;

/// Largest label id: they are 16 bits wide.
const MAX_ID: u32 = 0xFFFF;

/// The tables that come with the program.
const BUILT_IN: [(&str, &str); 4] = [
    ("offroad7", include_str!("offroad7.toml")),
    ("urban11", include_str!("urban11.toml")),
    ("urban11-strict", include_str!("urban11-strict.toml")),
    ("semantickitti19", include_str!("semantickitti19.toml")),
];

/// Name of the ids that a recording itself explains.
const RECORDED: &str = "recorded";

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    // Looked for by ourselves: TOML would point at the first class, which has a name.
    name: Option<String>,
    #[serde(default)]
    class: Vec<Class>,
}

#[derive(serde::Deserialize)]
struct Class {
    name: String,
    color: Option<[u8; 3]>,
    cost: Option<i64>,
    traversable: Option<bool>,
    movable: Option<bool>,
    #[serde(flatten)]
    ids: BTreeMap<String, toml::Value>,
}

/// Classes with the label ids that mean them.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassTable {
    name: String,
    classes: ClassSet,
    spaces: BTreeMap<String, BTreeMap<u32, u32>>,
}

/// Class of every label id of one space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remap(Option<Vec<u32>>);

impl Remap {
    /// Ids that are classes already.
    pub const IDENTITY: Self = Self(None);

    /// Class of an id; [`VOID`] where it has none. Ids that are classes already stay as they are.
    pub fn class(&self, id: u32) -> u32 {
        match &self.0 {
            None => id,
            Some(table) => table.get(id as usize).copied().unwrap_or(VOID),
        }
    }
}

/// The classes with what the table says of driving on them and of whether they move.
fn with_properties(classes: ClassSet, table: &[Class]) -> std::result::Result<ClassSet, String> {
    const LETHAL: i64 = LETHAL_COST as i64;
    let mut costs = Vec::new();
    for class in table {
        let cost = match (class.cost, class.traversable) {
            (None, None) => continue,
            (None | Some(LETHAL), Some(false)) | (Some(LETHAL), None) => LETHAL_COST,
            (Some(cost @ 0..LETHAL), None | Some(true)) => cost as u8,
            (None, Some(true)) => return Err(format!("`{}` is traversable: give its `cost`, 0 to 99", class.name)),
            (Some(cost), _) => {
                return Err(format!(
                    "`{}`: a cost of {cost} does not fit; 0 to 99 for what is traversable, {LETHAL_COST} for what is not",
                    class.name
                ));
            }
        };
        costs.push((class.name.as_str(), cost));
    }
    let moves = |class: &&Class| class.movable.unwrap_or_else(|| ClassSet::is_movable_by_name(&class.name));
    let movable: Vec<&str> = table.iter().filter(moves).map(|class| class.name.as_str()).collect();
    classes.with_movable(&movable).and_then(|classes| classes.with_costs(costs)).map_err(|e| e.to_string())
}

impl ClassTable {
    /// The table of that name, or in that file.
    pub fn open(name_or_file: &str) -> Result<Self> {
        if let Some(table) = Self::built_in(name_or_file) {
            return table;
        }
        Self::read(Path::new(name_or_file))
    }

    /// The table in a file, whose name need not be text.
    pub fn read(path: &Path) -> Result<Self> {
        if !path.is_file() {
            return Err(Error::Classes {
                name: format!("`{}`", path.display()),
                what: format!("neither a file nor one of {}", Self::built_in_names().join(", ")),
            });
        }
        Self::from_toml(&files::text(path)?, &path.display().to_string())
    }

    /// A table that comes with the program.
    pub fn built_in(name: &str) -> Option<Result<Self>> {
        BUILT_IN.iter().find(|(known, _)| *known == name).map(|(name, text)| Self::from_toml(text, name))
    }

    /// Names of the tables that come with the program.
    pub fn built_in_names() -> Vec<&'static str> {
        BUILT_IN.iter().map(|(name, _)| *name).collect()
    }

    /// The text of a table that comes with the program, to copy and change.
    pub fn built_in_text(name: &str) -> Option<&'static str> {
        BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// A table from text; `origin` names it in errors.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self> {
        let bad = |what: String| Error::Classes { name: origin.to_string(), what };
        let file: File = toml::from_str(text).map_err(|error| bad(error.to_string()))?;
        let Some(name) = file.name else {
            return Err(bad(
                "the table has no `name`: write one before its first [[class]], as in name = \"yard\"".into()
            ));
        };
        if file.class.is_empty() {
            return Err(bad("the table has no classes: write each as [[class]] with name = \"grass\" under it".into()));
        }
        let names = ClassSet::from_names(file.class.iter().map(|c| c.name.clone())).map_err(|e| bad(e.to_string()))?;
        let colored =
            file.class.iter().enumerate().map(|(i, c)| (c.name.clone(), c.color.unwrap_or(names.colors()[i])));
        let classes = ClassSet::new(colored).map_err(|e| bad(e.to_string()))?;
        let classes = with_properties(classes, &file.class).map_err(&bad)?;
        let mut spaces: BTreeMap<String, BTreeMap<u32, u32>> = BTreeMap::new();
        for (c, class) in file.class.iter().enumerate() {
            for (space, ids) in &class.ids {
                let table = spaces.entry(space.clone()).or_default();
                let list = || bad(format!("`{}`: `{space}` must be a list of ids, as in [7, 9]", class.name));
                for id in ids.as_array().ok_or_else(list)? {
                    let id = id.as_integer().ok_or_else(list)?;
                    let Some(id) = u32::try_from(id).ok().filter(|id| *id <= MAX_ID) else {
                        return Err(bad(format!("`{}`: {space} id {id} is not from 0 to {MAX_ID}", class.name)));
                    };
                    if let Some(other) = table.insert(id, c as u32) {
                        let other = &file.class[other as usize].name;
                        return Err(bad(format!("{space} id {id} means both `{other}` and `{}`", class.name)));
                    }
                }
            }
        }
        Ok(Self { name, classes, spaces })
    }

    /// A table whose label ids are the classes themselves.
    pub fn plain(classes: ClassSet) -> Self {
        Self { name: "plain".into(), classes, spaces: BTreeMap::new() }
    }

    /// The table of ids with names, and the name of these ids. Names of a table that comes with the program, in its
    /// order, are that table; others become classes in the order of their ids.
    pub fn of_ids(names: &[(u16, String)]) -> Result<(Self, &'static str)> {
        let mut sorted: Vec<&(u16, String)> = names.iter().collect();
        sorted.sort();
        let in_order = sorted.iter().enumerate().all(|(i, (id, _))| usize::from(*id) == i);
        for known in Self::built_in_names() {
            let table = Self::open(known)?;
            if in_order && table.classes().names().iter().eq(sorted.iter().map(|(_, name)| name)) {
                return Ok((table, "classes"));
            }
        }
        let classes = ClassSet::from_names(sorted.iter().map(|(_, name)| name.clone()))?;
        let ids: BTreeMap<u32, u32> = sorted.iter().zip(0..).map(|((id, _), class)| (u32::from(*id), class)).collect();
        if ids.len() != sorted.len() {
            return Err(Error::Classes { name: "LabelInfo".into(), what: "an id has two names".into() });
        }
        let spaces = BTreeMap::from([(RECORDED.to_string(), ids)]);
        Ok((Self { name: RECORDED.into(), classes, spaces }, RECORDED))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The classes.
    pub fn classes(&self) -> &ClassSet {
        &self.classes
    }

    /// Meaning of the ids of a space; the space `classes` has the classes themselves as ids.
    pub fn remap(&self, space: &str) -> Result<Remap> {
        if space == "classes" {
            return Ok(Remap::IDENTITY);
        }
        let Some(ids) = self.spaces.get(space) else {
            let known: Vec<&str> = self.spaces.keys().map(String::as_str).chain(["classes"]).collect();
            return Err(Error::Classes {
                name: self.name.clone(),
                what: format!(
                    "it says nothing of ids of `{space}`, only of {}; choose other classes or add a list `{space} = […]` to each class in a file of your own",
                    known.join(", ")
                ),
            });
        };
        let most = ids.keys().next_back().copied().unwrap_or(0);
        Ok(Remap(Some((0..=most).map(|id| ids.get(&id).copied().unwrap_or(VOID)).collect())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_that_come_along_are_sound() {
        for (name, count) in [("offroad7", 7), ("urban11", 11), ("urban11-strict", 11), ("semantickitti19", 19)] {
            let table = ClassTable::open(name).unwrap();
            assert_eq!((table.name(), table.classes().len()), (name, count));
        }
        let offroad = ClassTable::open("offroad7").unwrap();
        let class = |id| offroad.remap("rellis3d").unwrap().class(id);
        let name = |id: u32| offroad.classes().names().get(class(id) as usize).map(String::as_str);
        assert_eq!(
            [name(15), name(6), name(23), name(19)].map(Option::unwrap),
            ["dirt", "puddle", "paved", "vegetation"]
        );
        for void in [0, 7, 18, 21, 27, 34, 40_000] {
            assert_eq!(class(void), VOID, "{void}");
        }
        let urban = ClassTable::open("urban11").unwrap();
        assert_eq!(urban.remap("cityscapes").unwrap().class(15), 10);
        assert_eq!(urban.remap("kitti360").unwrap().class(23), VOID);
        assert_eq!(urban.remap("classes").unwrap().class(3), 3);
        assert!(urban.remap("rellis3d").unwrap_err().to_string().contains("kitti360"));
    }

    #[test]
    fn the_classes_are_those_of_the_simulator() {
        for (kind, name) in [(e2bki_sim::WorldKind::Offroad, "offroad7"), (e2bki_sim::WorldKind::Urban, "urban11")] {
            let ours = ClassTable::open(name).unwrap();
            let theirs = e2bki_sim::classes(kind);
            assert_eq!(ours.classes().names(), theirs.iter().map(|c| c.name).collect::<Vec<_>>());
            assert_eq!(ours.classes().colors(), theirs.iter().map(|c| c.color).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_class_that_comes_along_has_a_cost() {
        for name in ClassTable::built_in_names() {
            let table = ClassTable::open(name).unwrap();
            let classes = table.classes();
            for (class, name) in classes.names().iter().enumerate() {
                assert!(classes.cost(class).is_some(), "{name}");
            }
        }
        let offroad = ClassTable::open("offroad7").unwrap();
        let goes = |name: &str| offroad.classes().find(name).and_then(|class| offroad.classes().is_traversable(class));
        assert_eq!(
            ["paved", "unpaved", "grass", "vegetation", "object"].map(goes).map(Option::unwrap),
            [true, true, true, false, false]
        );
        let urban = ClassTable::open("urban11").unwrap();
        let moves: Vec<&str> = (0..11)
            .filter(|class| urban.classes().is_movable(*class))
            .map(|class| urban.classes().names()[class].as_str())
            .collect();
        assert_eq!(moves, ["person", "car", "truck"]);
    }

    #[test]
    fn properties_of_classes_are_read_and_contradictions_named() {
        let table = |properties: &str| {
            let text = format!("name = \"x\"\n[[class]]\nname = \"shelf\"\n{properties}");
            ClassTable::from_toml(&text, "mine.toml")
        };
        let classes = table("movable = true\ncost = 30").unwrap().classes().clone();
        assert_eq!((classes.is_movable(0), classes.cost(0)), (true, Some(30)));
        assert_eq!(table("traversable = false").unwrap().classes().is_traversable(0), Some(false));
        assert_eq!(table("").unwrap().classes().cost(0), None);
        for wrong in [
            "cost = 101",
            "cost = 300",
            "cost = -1",
            "cost = 5\ntraversable = false",
            "traversable = true",
            "cost = 100\ntraversable = true",
        ] {
            let message = table(wrong).unwrap_err().to_string();
            assert!(message.contains("shelf") && message.contains("mine.toml"), "{wrong}: {message}");
        }
    }

    #[test]
    fn mistakes_in_a_table_are_named() {
        let message = |text: &str| ClassTable::from_toml(text, "mine.toml").unwrap_err().to_string();
        let class = |name: &str, ids: &str| format!("[[class]]\nname = \"{name}\"\nkitti360 = {ids}\n");
        assert!(message("name = 3").contains("mine.toml"));
        // What is missing is said, with what to write, instead of something that is there.
        let nameless = message(&class("a", "[1]"));
        assert!(nameless.contains("mine.toml") && nameless.contains("no `name`: write one"), "{nameless}");
        assert!(!nameless.contains("line 1"), "{nameless}");
        assert!(message("name = \"x\"").contains("no classes"), "{}", message("name = \"x\""));
        assert!(message("name = \"x\"\n[[class]]\ncost = 3").contains("missing field `name`"));
        let twice = format!("name = \"x\"\n{}{}", class("a", "[1]"), class("b", "[2, 1]"));
        assert!(message(&twice).contains("kitti360 id 1 means both `a` and `b`"), "{}", message(&twice));
        assert!(message(&format!("name = \"x\"\n{}", class("a", "[70000]"))).contains("70000"));
        assert!(message(&format!("name = \"x\"\n{}", class("a", "\"all\""))).contains("kitti360"));
        assert!(ClassTable::open("no-such-table").unwrap_err().to_string().contains("urban11"));
    }
}
