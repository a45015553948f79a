//! The little of Thrift's compact protocol that Parquet's footers need. Writing only: our reader does not read them.

/// A struct, or nested structs, being written.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) bytes: Vec<u8>,
    /// Number of the latest field of every open struct.
    latest: Vec<i16>,
}

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A variable-length unsigned number.
pub(super) fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Signed numbers with small magnitudes first.
pub(super) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

impl Writer {
    /// The outermost struct.
    pub(super) fn new() -> Self {
        Self { bytes: Vec::new(), latest: vec![0] }
    }

    fn field(&mut self, number: i16, kind: u8) {
        let latest = self.latest.last().copied().unwrap_or(0);
        let step = number - latest;
        if (1..=15).contains(&step) {
            self.bytes.push((step as u8) << 4 | kind);
        } else {
            self.bytes.push(kind);
            varint(&mut self.bytes, zigzag(i64::from(number)));
        }
        if let Some(latest) = self.latest.last_mut() {
            *latest = number;
        }
    }

    pub(super) fn i32(&mut self, number: i16, value: i32) {
        self.field(number, I32);
        varint(&mut self.bytes, zigzag(i64::from(value)));
    }

    pub(super) fn i64(&mut self, number: i16, value: i64) {
        self.field(number, I64);
        varint(&mut self.bytes, zigzag(value));
    }

    pub(super) fn binary(&mut self, number: i16, value: &[u8]) {
        self.field(number, BINARY);
        self.element_binary(value);
    }

    pub(super) fn list_of_i32(&mut self, number: i16, values: &[i32]) {
        self.list(number, I32, values.len());
        values.iter().for_each(|value| varint(&mut self.bytes, zigzag(i64::from(*value))));
    }

    pub(super) fn list_of_binary(&mut self, number: i16, values: &[&[u8]]) {
        self.list(number, BINARY, values.len());
        values.iter().for_each(|value| self.element_binary(value));
    }

    /// A struct as a field.
    pub(super) fn inner(&mut self, number: i16, fill: impl FnOnce(&mut Self)) {
        self.field(number, STRUCT);
        self.element(fill);
    }

    /// A list of structs as a field.
    pub(super) fn list_of<T>(&mut self, number: i16, values: &[T], mut fill: impl FnMut(&mut Self, &T)) {
        self.list(number, STRUCT, values.len());
        values.iter().for_each(|value| self.element(|writer| fill(writer, value)));
    }

    /// The same of structs that were written before, one after the other, by [`Self::element`].
    pub(super) fn list_of_written(&mut self, number: i16, count: usize, elements: &[u8]) {
        self.list(number, STRUCT, count);
        self.bytes.extend(elements);
    }

    fn list(&mut self, number: i16, kind: u8, len: usize) {
        self.field(number, LIST);
        if len < 15 {
            self.bytes.push((len as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            varint(&mut self.bytes, len as u64);
        }
    }

    /// A struct without a number, as in a list.
    pub(super) fn element(&mut self, fill: impl FnOnce(&mut Self)) {
        self.latest.push(0);
        fill(self);
        self.latest.pop();
        self.bytes.push(0);
    }

    fn element_binary(&mut self, value: &[u8]) {
        varint(&mut self.bytes, value.len() as u64);
        self.bytes.extend(value);
    }

    /// The bytes of the outermost struct.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}
