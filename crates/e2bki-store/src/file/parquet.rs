//! Parquet's page headers and footer, by the letter of the format: plain pages, no nulls, no compression.

use super::columns::{Kind, Values};
use super::delta;
use super::header::TileInfo;
use super::thrift::{Writer, varint};

const PLAIN: i32 = 0;
const RLE: i32 = 3;
const DELTA_BINARY_PACKED: i32 = 5;
const RLE_DICTIONARY: i32 = 8;

const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;

/// A column of a row group.
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    /// Bytes of the dictionary page before the data page.
    dictionary: usize,
    /// Smallest and largest value, as Parquet writes them.
    range: Option<([u8; 8], [u8; 8])>,
}

impl Kind {
    fn type_code(self) -> i32 {
        match self {
            Kind::Flag => 0,
            Kind::Whole => 2,
            Kind::Float => 4,
            Kind::Double => 5,
            Kind::Class => 6,
        }
    }

    fn encoding(self) -> i32 {
        match self {
            Kind::Whole => DELTA_BINARY_PACKED,
            Kind::Class => RLE_DICTIONARY,
            Kind::Flag | Kind::Float | Kind::Double => PLAIN,
        }
    }
}

/// The header of a data page of so many values and bytes.
fn page_header(kind: Kind, rows: usize, bytes: usize) -> Vec<u8> {
    let mut header = Writer::new();
    header.i32(1, DATA_PAGE);
    header.i32(2, bytes as i32);
    header.i32(3, bytes as i32);
    header.inner(5, |page| {
        page.i32(1, rows as i32);
        page.i32(2, kind.encoding());
        page.i32(3, RLE);
        page.i32(4, RLE);
    });
    header.finish()
}

/// The values' bytes inside of a column that is a data page of so many rows; nothing if it is not exactly that.
pub(super) fn page_data(kind: Kind, rows: usize, column: &[u8]) -> Option<&[u8]> {
    (0..64_usize.min(column.len())).find_map(|len| {
        let header = page_header(kind, rows, column.len() - len);
        (header.len() == len && column.starts_with(&header)).then(|| &column[len..])
    })
}

/// A column as pages.
pub(super) fn encode(values: &Values, names: &[String]) -> Chunk {
    let (kind, rows, data) = match values {
        Values::Whole(values) => {
            let mut data = Vec::with_capacity(values.len() * 5);
            delta::encode(values, &mut data);
            (Kind::Whole, values.len(), data)
        }
        Values::Double(values) => (Kind::Double, values.len(), values.iter().flat_map(|v| v.to_le_bytes()).collect()),
        Values::Float(values) => (Kind::Float, values.len(), values.iter().flat_map(|v| v.to_le_bytes()).collect()),
        Values::Flag(values) => {
            let byte = |flags: &[bool]| flags.iter().rev().fold(0, |byte, flag| byte << 1 | u8::from(*flag));
            (Kind::Flag, values.len(), values.chunks(8).map(byte).collect())
        }
        Values::Class(values) => (Kind::Class, values.len(), dictionary_indices(values, names.len())),
    };
    let mut bytes = if kind == Kind::Class { dictionary_page(names) } else { Vec::new() };
    let dictionary = bytes.len();
    bytes.extend(page_header(kind, rows, data.len()));
    bytes.extend(data);
    Chunk { bytes, dictionary, range: range_of(values) }
}

fn dictionary_page(names: &[String]) -> Vec<u8> {
    let mut data = Vec::new();
    for name in names {
        data.extend((name.len() as u32).to_le_bytes());
        data.extend(name.as_bytes());
    }
    let mut header = Writer::new();
    header.i32(1, DICTIONARY_PAGE);
    header.i32(2, data.len() as i32);
    header.i32(3, data.len() as i32);
    header.inner(7, |page| {
        page.i32(1, names.len() as i32);
        page.i32(2, PLAIN);
    });
    let mut page = header.finish();
    page.extend(data);
    page
}

/// Numbers below `count`, bit-packed in one run of groups of eight.
fn dictionary_indices(values: &[usize], count: usize) -> Vec<u8> {
    let width = (usize::BITS - count.saturating_sub(1).leading_zeros()).max(1) as usize;
    let mut bytes = vec![width as u8];
    let groups = values.len().div_ceil(8);
    varint(&mut bytes, (groups as u64) << 1 | 1);
    let start = bytes.len();
    bytes.resize(start + groups * width, 0);
    for (i, value) in values.iter().enumerate() {
        for bit in (0..width).filter(|bit| value >> bit & 1 == 1) {
            let at = i * width + bit;
            bytes[start + at / 8] |= 1 << (at % 8);
        }
    }
    bytes
}

fn range_of(values: &Values) -> Option<([u8; 8], [u8; 8])> {
    match values {
        Values::Whole(values) => Some((values.iter().min()?.to_le_bytes(), values.iter().max()?.to_le_bytes())),
        Values::Double(values) if values.iter().all(|v| v.is_finite()) => {
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            (!values.is_empty()).then(|| (least.to_le_bytes(), most.to_le_bytes()))
        }
        _ => None,
    }
}

/// What the footer says of row groups, as its bytes: a long drive has thousands, whose columns took several times as much.
pub(super) struct RowGroups<'a> {
    columns: &'a [(String, Kind)],
    written: Writer,
    count: usize,
    rows: i64,
}

impl<'a> RowGroups<'a> {
    pub(super) fn new(columns: &'a [(String, Kind)]) -> Self {
        Self { columns, written: Writer::new(), count: 0, rows: 0 }
    }

    /// The next one: the tile, where its columns begin, and the columns without their bytes.
    pub(super) fn push(&mut self, info: &TileInfo, start: u64, chunks: &[Chunk]) {
        self.count += 1;
        self.rows += i64::from(info.rows);
        self.written.element(|element| row_group(element, self.columns, (info, start, chunks)));
    }
}

/// The footer: schema, row groups, the header as metadata.
pub(super) fn footer(groups: RowGroups<'_>, header: &str) -> Vec<u8> {
    let columns = groups.columns;
    let mut file = Writer::new();
    file.i32(1, 2);
    // The root first, then every column.
    let nodes: Vec<Option<&(String, Kind)>> = std::iter::once(None).chain(columns.iter().map(Some)).collect();
    file.list_of(2, &nodes, |element, node| match node {
        None => {
            element.binary(4, b"primitives");
            element.i32(5, columns.len() as i32);
        }
        Some((name, kind)) => {
            element.i32(1, kind.type_code());
            element.i32(3, 0);
            element.binary(4, name.as_bytes());
            if *kind == Kind::Class {
                element.i32(6, 0);
                element.inner(10, |logical| logical.inner(1, |_| ()));
            }
        }
    });
    file.i64(3, groups.rows);
    file.list_of_written(4, groups.count, &groups.written.bytes);
    file.list_of(5, &[header], |element, header| {
        element.binary(1, b"e2bki");
        element.binary(2, header.as_bytes());
    });
    file.binary(6, format!("e2bki version {}", env!("CARGO_PKG_VERSION")).as_bytes());
    // The smallest and largest values are in the order of their type.
    file.list_of(7, columns, |order, _| order.inner(1, |_| ()));
    file.finish()
}

fn row_group(element: &mut Writer, columns: &[(String, Kind)], (info, start, chunks): (&TileInfo, u64, &[Chunk])) {
    let mut offset = start;
    let placed: Vec<(u64, &(String, Kind), &Chunk, u32)> = columns
        .iter()
        .zip(chunks)
        .zip(&info.lengths)
        .map(|((column, chunk), length)| {
            let start = offset;
            offset += u64::from(*length);
            (start, column, chunk, *length)
        })
        .collect();
    let rows = i64::from(info.rows);
    element.list_of(1, &placed, |column, (start, (name, kind), chunk, length)| {
        column.i64(2, *start as i64);
        column.inner(3, |meta| {
            meta.i32(1, kind.type_code());
            match kind {
                Kind::Class => meta.list_of_i32(2, &[PLAIN, RLE_DICTIONARY]),
                _ => meta.list_of_i32(2, &[kind.encoding()]),
            }
            meta.list_of_binary(3, &[name.as_bytes()]);
            meta.i32(4, 0);
            meta.i64(5, rows);
            meta.i64(6, i64::from(*length));
            meta.i64(7, i64::from(*length));
            meta.i64(9, *start as i64 + chunk.dictionary as i64);
            if chunk.dictionary > 0 {
                meta.i64(11, *start as i64);
            }
            if let Some((least, most)) = &chunk.range {
                meta.inner(12, |statistics| {
                    statistics.i64(3, 0);
                    statistics.binary(5, most);
                    statistics.binary(6, least);
                });
            }
        });
    });
    element.i64(2, info.bytes() as i64);
    element.i64(3, rows);
}

impl Chunk {
    /// Gives the bytes away; what the footer needs stays.
    pub(super) fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}
