//! Whether the system lets sockets hold a whole cloud: reliable transport over UDP collapses where it does not.

use std::path::Path;

/// Receive buffers of this size hold a cloud of 120,000 points.
pub const ENOUGH_BYTES: u64 = 2_000_000;

/// What to set if the largest receive buffer is too small; nothing if it is large enough or not known.
pub fn advice() -> Option<String> {
    of_file(Path::new("/proc/sys/net/core/rmem_max"))
}

fn of_file(file: &Path) -> Option<String> {
    let most: u64 = std::fs::read_to_string(file).ok()?.trim().parse().ok()?;
    (most < ENOUGH_BYTES).then(|| {
        format!(
            "net.core.rmem_max is {most}: clouds larger than that are lost rather than delayed. Set it on every computer of the \
             robot: sudo sysctl -w net.core.rmem_max=8388608, and net.core.rmem_max=8388608 in /etc/sysctl.d/60-dds.conf to \
             keep it"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_buffers_are_told_of() {
        let file = std::env::temp_dir().join(format!("e2bki-rmem-{}", std::process::id()));
        for (text, told) in
            [("212992\n", true), ("1999999", true), ("2000000\n", false), ("8388608", false), ("", false)]
        {
            std::fs::write(&file, text).unwrap();
            assert_eq!(of_file(&file).is_some(), told, "{text}");
        }
        std::fs::remove_file(&file).unwrap();
        assert_eq!(of_file(&file), None);
    }
}
