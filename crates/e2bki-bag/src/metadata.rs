//! `metadata.yaml` of rosbag2: the few keys that are needed to read a folder.

/// What it says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Metadata {
    pub(crate) storage: String,
    pub(crate) files: Vec<String>,
    pub(crate) compression_format: String,
    pub(crate) compression_mode: String,
    /// Messages of all files.
    pub(crate) messages: Option<u64>,
}

/// Takes quotes and a comment off a plain value.
fn value(text: &str) -> String {
    let text = text.trim();
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.split(quote).next()) {
            return inner.to_string();
        }
    }
    text.split(" #").next().unwrap_or_default().trim().to_string()
}

impl Metadata {
    /// Reads the text. It is written by a program, always in the same form: a key to a line, lists of names as `- name` or
    /// `[name, name]`. Quality-of-service profiles, which hold YAML within YAML, have none of these keys.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut found = Self::default();
        let mut in_files = None;
        let (mut known, mut counted) = (false, None);
        for line in text.lines() {
            let indent = line.len() - line.trim_start().len();
            let line = line.trim();
            if let (Some(least), Some(item)) = (in_files, line.strip_prefix("- "))
                && indent >= least
            {
                found.files.push(value(item));
                continue;
            }
            in_files = None;
            let Some((key, rest)) = line.split_once(':') else { continue };
            match key {
                "rosbag2_bagfile_information" => known = true,
                // Those of topics and files stand farther to the right than that of all.
                "message_count" if counted.is_none_or(|least| indent < least) => {
                    (counted, found.messages) = (Some(indent), value(rest).parse().ok());
                }
                "storage_identifier" => found.storage = value(rest),
                "compression_format" => found.compression_format = value(rest),
                "compression_mode" => found.compression_mode = value(rest),
                "relative_file_paths" => match rest.trim().strip_prefix('[') {
                    Some(list) => {
                        let names = list.trim_end_matches(']').split(',').map(value);
                        found.files.extend(names.filter(|name| !name.is_empty()));
                    }
                    None => in_files = Some(indent),
                },
                _ => {}
            }
        }
        if !known {
            return Err("it is not of rosbag2: there is no key rosbag2_bagfile_information".into());
        }
        if found.files.is_empty() {
            return Err("it names no files in relative_file_paths".into());
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_lists_and_quotes_are_read() {
        let block = "rosbag2_bagfile_information:\n  files:\n  - duration: 5\n    message_count: 3\n  message_count: 9\n  storage_identifier: mcap\n  relative_file_paths:\n    \
                     - \"a b_0.mcap\"\n    - a_1.mcap\n  duration:\n    nanoseconds: 5\n  topics_with_message_count:\n    \
                     - topic_metadata:\n        name: /x\n        offered_qos_profiles: |\n          - history: keep_last\n  \
                     compression_format: zstd # always\n  compression_mode: FILE\n";
        let found = Metadata::read(block).unwrap();
        assert_eq!(found.files, ["a b_0.mcap", "a_1.mcap"]);
        assert_eq!((found.storage.as_str(), found.compression_format.as_str()), ("mcap", "zstd"));
        assert_eq!((found.compression_mode.as_str(), found.messages), ("FILE", Some(9)));
        let flow =
            "rosbag2_bagfile_information:\n  relative_file_paths: [one.db3, 'two.db3']\n  compression_mode: \"\"\n";
        assert_eq!(Metadata::read(flow).unwrap().files, ["one.db3", "two.db3"]);
        // The items of a list may stand as far to the left as its key.
        let flat = "rosbag2_bagfile_information:\n  relative_file_paths:\n  - one.db3\n  compression_mode: ''\n";
        assert_eq!(Metadata::read(flat).unwrap().files, ["one.db3"]);
        assert!(Metadata::read("name: x").unwrap_err().contains("rosbag2"));
        assert!(Metadata::read("rosbag2_bagfile_information:\n").unwrap_err().contains("relative_file_paths"));
    }

    proptest::proptest! {
        #[test]
        fn any_text_never_panics(text in "(rosbag2_bagfile_information:|relative_file_paths:|- |\\[|\n|\"|.){0,40}") {
            Metadata::read(&text).ok();
        }
    }
}
