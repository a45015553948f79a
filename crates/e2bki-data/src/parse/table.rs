//! Records with named number fields: what PLY and PCD files hold.

use std::borrow::Cow;

use super::Parsed;
use super::scalar::Scalar;
use crate::error::Flaw;

/// One field of every record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Name, as the file says.
    pub name: String,
    /// Type.
    pub kind: Scalar,
    /// Byte of the first record's value.
    pub offset: usize,
    /// Bytes from one record's value to the next.
    pub stride: usize,
}

/// Records with named fields.
#[derive(Debug, Clone)]
pub struct Table<'a> {
    /// Number of records.
    pub count: usize,
    /// Fields, in order of the file.
    pub fields: Vec<Field>,
    data: Cow<'a, [u8]>,
    big_endian: bool,
}

/// Names under which files keep a semantic id.
const LABELS: [&str; 8] =
    ["label", "semantic", "class", "classification", "sem_class", "scalar_label", "semantic_id", "class_id"];

impl<'a> Table<'a> {
    /// Checks that all fields of all records lie within the data.
    pub(super) fn new(count: usize, fields: Vec<Field>, data: Cow<'a, [u8]>, big_endian: bool) -> Parsed<Self> {
        if count > 0 && fields.is_empty() {
            return Err(Flaw::new(format!("its header promises {count} records without any field")));
        }
        for field in &fields {
            let end = count
                .saturating_sub(1)
                .checked_mul(field.stride)
                .and_then(|n| n.checked_add(field.offset))
                .and_then(|n| n.checked_add(field.kind.size()));
            if count > 0 && end.is_none_or(|end| end > data.len()) {
                return Err(Flaw::new(format!(
                    "its header promises {count} records, but {} bytes of data do not hold that many: the file is cut short",
                    data.len()
                )));
            }
        }
        Ok(Self { count, fields, data, big_endian })
    }

    /// A table of plain numbers, row by row.
    pub(super) fn from_rows(names: Vec<String>, values: &[f64]) -> Parsed<Table<'static>> {
        let stride = 8 * names.len();
        let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let count = if names.is_empty() { 0 } else { values.len() / names.len() };
        let field = |(i, name)| Field { name, kind: Scalar::F64, offset: 8 * i, stride };
        Table::new(count, names.into_iter().enumerate().map(field).collect(), Cow::Owned(data), false)
    }

    /// The field of that name; case does not matter.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name.eq_ignore_ascii_case(name))
    }

    /// A field's values.
    pub fn column(&self, field: &Field) -> impl Iterator<Item = f64> {
        let (kind, offset, stride) = (field.kind, field.offset, field.stride);
        (0..self.count)
            .map(move |i| kind.read(self.data.get(offset + i * stride..).unwrap_or_default(), self.big_endian))
    }

    /// Fields x, y, z.
    pub fn points(&self) -> Parsed<Vec<[f64; 3]>> {
        let named = |name: &str| self.field(name).ok_or_else(|| self.lacks(name));
        let (x, y, z) = (named("x")?, named("y")?, named("z")?);
        Ok(self.column(x).zip(self.column(y)).zip(self.column(z)).map(|((x, y), z)| [x, y, z]).collect())
    }

    /// Semantic ids, if a field of a usual name holds them; what is no id becomes 2³²−1.
    pub fn labels(&self) -> Option<Vec<u32>> {
        let field = LABELS.iter().find_map(|name| self.field(name))?;
        let id = |v: f64| if v >= 0.0 && v < f64::from(u32::MAX) { v as u32 } else { u32::MAX };
        Some(self.column(field).map(id).collect())
    }

    fn lacks(&self, name: &str) -> Flaw {
        let known: Vec<&str> = self.fields.iter().map(|f| f.name.as_str()).collect();
        Flaw::new(format!("no field `{name}`; its fields are {}", known.join(", ")))
    }
}

/// Numbers of text lines, `columns` in each; the lines are numbered from `first_line`.
pub(super) fn text_rows(text: &str, first_line: usize, count: usize, columns: usize) -> Parsed<Vec<f64>> {
    // A row takes at least two bytes a number, so a promise of more rows than that is refused before allocating.
    if count.saturating_mul(columns) > text.len() {
        return Err(Flaw::new(format!("its header promises {count} records, but the file ends before that")));
    }
    let mut values = Vec::with_capacity(count * columns);
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    for _ in 0..count {
        let Some((i, line)) = lines.next() else {
            return Err(Flaw::new(format!("its header promises {count} records, but the file ends before that")));
        };
        let before = values.len();
        for token in line.split_whitespace().take(columns) {
            let value = token.parse::<f64>();
            values.push(value.map_err(|_| Flaw::at_line(first_line + i, format!("`{token}` is not a number")))?);
        }
        if values.len() - before != columns {
            let found = values.len() - before;
            return Err(Flaw::at_line(first_line + i, format!("{columns} numbers expected, {found} found")));
        }
    }
    Ok(values)
}
