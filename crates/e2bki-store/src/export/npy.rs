//! Arrays in NumPy's own format: a header in words, then the values.

/// An array of whole rows.
pub(super) fn array(kind: &str, rows: usize, columns: Option<usize>, data: impl IntoIterator<Item = u8>) -> Vec<u8> {
    let shape: Vec<usize> = std::iter::once(rows).chain(columns).collect();
    shaped(kind, &shape, data)
}

/// An array of any shape, the last axis fastest.
pub(super) fn shaped(kind: &str, shape: &[usize], data: impl IntoIterator<Item = u8>) -> Vec<u8> {
    // As Python prints a tuple: one value is followed by a comma.
    let inner: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let shape = format!("({}{})", inner.join(", "), if shape.len() == 1 { "," } else { "" });
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    // The values begin at a multiple of 64, after ten bytes and the text with its line end.
    text += &" ".repeat(63 - (10 + text.len()) % 64);
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(data);
    bytes
}

/// The values of an array that must be of this kind and width, in whole rows.
pub(super) fn values<'a>(bytes: &'a [u8], kind: &str, width: usize, columns: usize) -> Result<&'a [u8], String> {
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or("it is not a NumPy array")?;
    let (start, text) = match rest {
        [1, _, low, high, ..] => (10, usize::from(u16::from_le_bytes([*low, *high]))),
        [2 | 3, _, a, b, c, d, ..] => (12, u32::from_le_bytes([*a, *b, *c, *d]) as usize),
        _ => return Err("its version is not known".into()),
    };
    let end = text.checked_add(start).filter(|end| *end <= bytes.len()).ok_or("its header is cut off")?;
    let header = String::from_utf8_lossy(&bytes[start..end]);
    if !header.contains(&format!("'descr': '{kind}'")) || !header.contains("'fortran_order': False") {
        return Err(format!("it must be an array of {kind} by rows; it says {}", header.trim_end()));
    }
    let shape = header.split_once("'shape': (").and_then(|(_, rest)| rest.split_once(')')).map(|(shape, _)| shape);
    let shape: Option<Vec<usize>> = shape.and_then(|shape| {
        shape.split(',').map(str::trim).filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect()
    });
    let (rows, wide) = match shape.as_deref() {
        Some([rows]) => (*rows, 1),
        Some([rows, wide]) => (*rows, *wide),
        _ => return Err("its shape cannot be read".into()),
    };
    let size = rows.checked_mul(wide).and_then(|count| count.checked_mul(width));
    if wide != columns || size != Some(bytes.len() - end) {
        return Err(format!("it must have {columns} columns and as many values as its shape says"));
    }
    Ok(&bytes[end..])
}
