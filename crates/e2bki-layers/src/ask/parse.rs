//! Words to questions. Strict: what is not understood is said, with what could stand there.

use e2bki::ClassSet;

use super::{Comparison, Condition, GRAMMAR, Measure, Place, Question};
use crate::error::{Error, Result};

/// A word; quoted ones are names and nothing else.
#[derive(Debug, Clone, PartialEq)]
struct Word {
    text: String,
    quoted: bool,
}

/// The words that are left.
struct Words {
    all: Vec<Word>,
    at: usize,
}

fn refused<T>(what: impl std::fmt::Display) -> Result<T> {
    Err(Error::Refused(format!("{what}\n\nWhat can be asked:\n{GRAMMAR}")))
}

impl Words {
    fn of(text: &str) -> Result<Self> {
        let mut all: Vec<Word> = Vec::new();
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let (word, left) = match first {
                '"' => match rest[1..].split_once('"') {
                    Some((name, left)) => (Word { text: name.into(), quoted: true }, left),
                    None => return refused(format!("a quote is not closed: {rest}")),
                },
                '<' | '>' | ',' => {
                    let long = first != ',' && rest[1..].starts_with('=');
                    let (word, left) = rest.split_at(1 + usize::from(long));
                    (Word { text: word.into(), quoted: false }, left)
                }
                _ => {
                    let ends = |c: char| c.is_whitespace() || "<>,\"".contains(c);
                    let (word, left) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
                    (Word { text: word.into(), quoted: false }, left)
                }
            };
            all.push(word);
            rest = left.trim_start();
        }
        Ok(Self { all, at: 0 })
    }

    fn next(&mut self) -> Option<Word> {
        self.at += 1;
        self.all.get(self.at - 1).cloned()
    }

    /// Takes the next word if it is this one.
    fn take(&mut self, word: &str) -> bool {
        let there = self.all.get(self.at).is_some_and(|next| !next.quoted && next.text.eq_ignore_ascii_case(word));
        self.at += usize::from(there);
        there
    }

    fn need(&mut self, word: &str, after: &str) -> Result<()> {
        if self.take(word) { Ok(()) } else { refused(format!("`{word}` is missing after {after}, {}", self.here())) }
    }

    /// Where the next word is, for people.
    fn here(&self) -> String {
        match self.all.get(self.at) {
            Some(word) => format!("before `{}`", word.text),
            None => "at the end".into(),
        }
    }

    /// A number, with or without the metres behind it.
    fn number(&mut self, what: &str, metres: bool) -> Result<f64> {
        let here = self.here();
        let Some(word) = self.next() else { return refused(format!("{what} is missing at the end")) };
        let (text, has_unit) = match word.text.strip_suffix('m').filter(|_| metres) {
            Some(text) => (text, true),
            None => (word.text.as_str(), false),
        };
        let number = text.parse::<f64>().ok().filter(|v| v.is_finite() && !word.quoted);
        let Some(number) = number else { return refused(format!("{what} must be a number, {here}")) };
        if metres && !has_unit {
            self.need("m", what)?;
        }
        Ok(number)
    }

    /// A class of the map; nothing for `anything`.
    fn class(&mut self, classes: &ClassSet) -> Result<Option<usize>> {
        let known = || classes.names().join(", ");
        let Some(word) = self.next() else { return refused(format!("a class is missing at the end: {}", known())) };
        if !word.quoted && word.text.eq_ignore_ascii_case("anything") {
            return Ok(None);
        }
        match classes.find(&word.text) {
            Some(class) => Ok(Some(class)),
            None => refused(format!("`{}` is no class of the map; its classes are {}", word.text, known())),
        }
    }
}

/// One of a list of words with their meanings.
fn one_of<T: Copy>(word: Option<Word>, all: &[(&str, T)], what: &str) -> Result<T> {
    let text = word.filter(|word| !word.quoted).map(|word| word.text).unwrap_or_default();
    match all.iter().find(|(name, _)| name.eq_ignore_ascii_case(&text)) {
        Some((_, meaning)) => Ok(*meaning),
        None => {
            let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
            refused(format!("{what} must be one of {}; got `{text}`", names.join(", ")))
        }
    }
}

impl Question {
    /// Reads a question about a map of these classes.
    ///
    /// ```
    /// use e2bki_layers::ask::Question;
    /// let classes = e2bki::ClassSet::from_names(["grass", "tree"])?;
    /// let question = Question::parse("area of grass with u < 0.2 within 20 m of the way", &classes)?;
    /// assert!(question.needs_way());
    /// assert!(Question::parse("area of moss", &classes).unwrap_err().to_string().contains("grass, tree"));
    /// # Ok::<(), e2bki_layers::Error>(())
    /// ```
    pub fn parse(text: &str, classes: &ClassSet) -> Result<Self> {
        let mut words = Words::of(text)?;
        let measure = one_of(words.next(), &Measure::ALL, "a question begins with what is measured, which")?;
        words.need("of", "what is measured")?;
        let mut chosen = vec![words.class(classes)?];
        while words.take("or") {
            chosen.push(words.class(classes)?);
        }
        // Whoever asks for anything has asked for all of them.
        let chosen = chosen.into_iter().collect::<Option<Vec<usize>>>().unwrap_or_default();
        let mut conditions = Vec::new();
        if words.take("with") {
            let fields: Vec<(&str, usize)> = measure.fields().iter().copied().zip(0..).collect();
            loop {
                let field = one_of(words.next(), &fields, "what is compared here")?;
                let comparison = one_of(words.next(), &Comparison::ALL, "a comparison")?;
                let limit = words.number("what a field is compared with", false)?;
                conditions.push(Condition { field, comparison, limit });
                if !words.take("and") {
                    break;
                }
            }
        }
        let within = if words.take("within") {
            let metres = words.number("the distance after `within`", true)?;
            if metres < 0.0 {
                return refused(format!("a distance of {metres} m is below 0"));
            }
            words.need("of", "the distance")?;
            Some((metres, words.place(classes)?))
        } else {
            None
        };
        if words.at < words.all.len() {
            return refused(format!("the question is complete {}: what follows is not understood", words.here()));
        }
        Ok(Self { measure, classes: chosen, conditions, within, names: classes.names().to_vec() })
    }
}

impl Words {
    fn place(&mut self, classes: &ClassSet) -> Result<Place> {
        if self.take("the") {
            self.need("way", "`the`")?;
            return Ok(Place::Way);
        }
        // A class may have a number for a name: a comma makes it a place.
        if self.all.get(self.at + 1).is_some_and(|word| word.text == "," && !word.quoted) {
            let x = self.number("x of the place", false)?;
            self.take(",");
            return Ok(Place::At([x, self.number("y of the place", false)?]));
        }
        match self.class(classes)? {
            Some(class) => Ok(Place::Class(class)),
            None => refused("distances are to x,y or `the way` or a class, not to `anything`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn classes() -> ClassSet {
        ClassSet::from_names(["grass", "tree", "traffic sign", "dirt-road"]).unwrap()
    }

    fn parse(text: &str) -> Result<Question> {
        Question::parse(text, &classes())
    }

    #[test]
    fn questions_are_read() {
        let question = parse("area of grass or dirt-road with u<0.2 and height >= 0.5 within 20m of -3.5, 2").unwrap();
        assert_eq!((question.measure, question.classes), (Measure::Area, vec![0, 3]));
        let [first, second] = question.conditions[..] else { panic!() };
        assert_eq!(first, Condition { field: 0, comparison: Comparison::Less, limit: 0.2 });
        assert_eq!(second, Condition { field: 3, comparison: Comparison::AtLeast, limit: 0.5 });
        assert_eq!(question.within, Some((20.0, Place::At([-3.5, 2.0]))));
        let question = parse("Count OF \"traffic sign\" WITHIN 2 m of The Way").unwrap();
        assert_eq!((question.classes.as_slice(), question.within), (&[2][..], Some((2.0, Place::Way))));
        let question = parse("volume of grass or anything within 1e1 m of tree").unwrap();
        assert_eq!((question.classes.len(), question.within), (0, Some((10.0, Place::Class(1)))));
    }

    #[test]
    fn what_is_not_understood_is_said_with_what_could_stand_there() {
        for (text, part) in [
            ("", "area, volume, count, length"),
            ("size of grass", "`size`"),
            ("area grass", "`of` is missing"),
            ("area of", "a class is missing"),
            ("area of moss", "`moss` is no class of the map; its classes are grass, tree"),
            ("area of \"grass", "quote"),
            ("area of grass with", "u, low, high, height, points"),
            ("volume of tree with range < 2", "u, share, z, points; got `range`"),
            ("area of grass with u = 2", "<, <=, >, >="),
            ("area of grass with u <", "missing at the end"),
            ("area of grass with u < few", "must be a number"),
            ("area of grass with u < nan", "must be a number"),
            ("area of grass within 3 of tree", "`m` is missing"),
            ("area of grass within -3 m of tree", "below 0"),
            ("area of grass within 3 m of anything", "not to `anything`"),
            ("area of grass within 3 m of the road", "`way` is missing"),
            ("area of grass within 3 m of 1,tree", "y of the place"),
            ("area of grass please", "complete before `please`"),
        ] {
            let message = parse(text).unwrap_err().to_string();
            assert!(message.contains(part) && message.contains("What can be asked"), "{text}: {message}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "[a-z0-9 ,<>=\".m-]{0,60}") {
            parse(&text).ok();
        }
    }
}
