//! ZIP archives without compression, which is what NumPy's `savez` writes: enough for arrays, and nothing can explode.

/// Entries as one archive.
pub(super) fn archive(entries: &[(String, Vec<u8>)]) -> Result<Vec<u8>, String> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in entries {
        let offset = u32::try_from(bytes.len()).ok();
        let size = u32::try_from(data.len()).ok();
        let (Some(offset), Some(size)) = (offset, size) else {
            return Err("the archive would be larger than 4 GB: export a region".into());
        };
        let mut common = Vec::new();
        // Version 2.0, no flags, stored, the earliest date there is: the same map is the same file.
        for value in [20_u16, 0, 0, 0, 0x21] {
            common.extend(value.to_le_bytes());
        }
        for value in [crc32fast::hash(data), size, size] {
            common.extend(value.to_le_bytes());
        }
        common.extend((name.len() as u16).to_le_bytes());
        common.extend(0_u16.to_le_bytes());
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&common);
        bytes.extend(name.as_bytes());
        bytes.extend(data);
        directory.extend(b"PK\x01\x02");
        directory.extend(20_u16.to_le_bytes());
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let start = u32::try_from(bytes.len()).map_err(|_| "the archive would be larger than 4 GB: export a region")?;
    let (count, size) = ((entries.len() as u16).to_le_bytes(), (directory.len() as u32).to_le_bytes());
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06");
    bytes.extend([0; 4]);
    bytes.extend(count);
    bytes.extend(count);
    bytes.extend(size);
    bytes.extend(start.to_le_bytes());
    bytes.extend([0; 2]);
    Ok(bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?)))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize)
}

/// The entries of an archive without compression, in place.
pub(super) fn entries(bytes: &[u8]) -> Result<Vec<(String, &[u8])>, String> {
    // The end record is 22 bytes and may be followed by a comment.
    let from = bytes.len().saturating_sub(22 + 65_535);
    let end = (from..bytes.len().saturating_sub(21)).rev().find(|at| bytes[*at..].starts_with(b"PK\x05\x06"));
    let end = end.ok_or("it is not a ZIP archive, or it is cut off")?;
    let broken = || "its directory is broken".to_string();
    let count = u16_at(bytes, end + 10).ok_or_else(broken)?;
    let mut at = u32_at(bytes, end + 16).ok_or_else(broken)?;
    let mut found = Vec::new();
    // Entries that share their bytes would cost the square of the file's size.
    let mut left = bytes.len();
    for _ in 0..count {
        if !bytes.get(at..).is_some_and(|rest| rest.starts_with(b"PK\x01\x02")) {
            return Err(broken());
        }
        let field = |offset: usize| u16_at(bytes, at + offset).ok_or_else(broken);
        let (method, name_len, extra, comment) = (field(10)?, field(28)?, field(30)?, field(32)?);
        let wide = |offset: usize| u32_at(bytes, at + offset).ok_or_else(broken);
        let (sum, size, local) = (wide(16)?, wide(24)?, wide(42)?);
        let name = bytes.get(at + 46..at + 46 + name_len).ok_or_else(broken)?;
        let name = String::from_utf8_lossy(name).into_owned();
        if method != 0 {
            return Err(format!("`{name}` is compressed; only arrays saved without compression can be read"));
        }
        let start = local
            + 30
            + u16_at(bytes, local + 26).ok_or_else(broken)?
            + u16_at(bytes, local + 28).ok_or_else(broken)?;
        let data = bytes.get(start..start.saturating_add(size)).ok_or_else(|| format!("`{name}` is cut off"))?;
        left = left.checked_sub(size).ok_or("its entries overlap")?;
        if crc32fast::hash(data) as usize != sum {
            return Err(format!("`{name}` is damaged: its checksum does not match"));
        }
        found.push((name, data));
        at += 46 + name_len + extra + comment;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_stored_comes_back_and_damage_is_noticed(
            data in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..5),
            flip in any::<prop::sample::Index>(),
        ) {
            let all: Vec<(String, Vec<u8>)> = data.into_iter().enumerate().map(|(i, d)| (format!("a{i}"), d)).collect();
            let mut bytes = archive(&all).unwrap();
            let same = |bytes: &[u8]| entries(bytes).is_ok_and(|found| {
                found.len() == all.len() && found.iter().zip(&all).all(|(a, b)| a.1 == b.1.as_slice())
            });
            prop_assert!(same(&bytes));
            // Whatever happens to a byte, contents are never silently different.
            let at = flip.index(bytes.len());
            bytes[at] ^= 0x10;
            if let Ok(found) = entries(&bytes) {
                for (name, data) in found {
                    prop_assert!(all.iter().all(|(n, d)| *n != name || d.as_slice() == data));
                }
            }
        }

        #[test]
        fn entries_that_share_their_bytes_are_refused(copies in 2_u16..9) {
            let one = archive(&[("a".into(), vec![7; 5000])]).unwrap();
            let end = one.len() - 22;
            let start = u32_at(&one, end + 16).unwrap();
            let mut bytes = one[..start].to_vec();
            (0..copies).for_each(|_| bytes.extend(&one[start..end]));
            let mut last = one[end..].to_vec();
            last[10..12].copy_from_slice(&copies.to_le_bytes());
            bytes.extend(last);
            prop_assert_eq!(entries(&bytes), Err("its entries overlap".to_string()));
        }

        #[test]
        fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut bytes = bytes;
            entries(&bytes).ok();
            bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0\0\0\0\0\0\0\0\0\0\0");
            entries(&bytes).ok();
        }
    }
}
