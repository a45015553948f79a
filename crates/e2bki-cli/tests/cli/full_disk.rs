//! Disks that are full at any moment of a run: what was saved stays whole, what was not is said, and room makes it good.
//!
//! `E2BKI_FULL_DISKS` sets how many sizes of a disk are tried (default 12):
//! `E2BKI_FULL_DISKS=1000 cargo test -p e2bki-cli --test cli full_disk`. The disks are file systems in memory, in a namespace of the test's own.

use std::path::Path;
use std::process::{Command, Output};

use crate::{done, name, small_drive, text};

const FRAMES: u64 = 6;

/// Maps onto a disk of so many kilobytes, says how that ended, what is on the disk then and what it holds, makes room, and goes on.
const RUN: &str = r#"
mount -t tmpfs -o size="$KILOBYTES"k none "$DISK" || exit 99
out=$DISK/map.e2bki
"$E2BKI" map "$DRIVE" -o "$out" --save-every 1 $MORE > "$DISK-said" 2> "$DISK-complained"
echo "ended $?"
echo "left $(ls "$DISK" | tr '\n' ' ')"
mount -o remount,size=64m "$DISK"
if [ -e "$out" ]; then
    "$E2BKI" check "$out" > /dev/null && "$E2BKI" info "$out" --json - 2> /dev/null | tr -d ' \n' | sed 's/.*"frames":\([0-9]*\).*/holds \1\n/' || echo damaged
fi
# With --memory the tiles are kept where the file could not be written: they are whole, and in the way of a new run.
if [ -e "$out.tiles" ]; then "$E2BKI" check "$out.tiles" > /dev/null || echo damaged; rm -r "$out.tiles"; fi
"$E2BKI" map "$DRIVE" -o "$out" $MORE > /dev/null && "$E2BKI" info "$out" --hash
"#;

fn run(drive: &Path, disk: &Path, kilobytes: u64, more: &str) -> Output {
    Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", RUN])
        .env("KILOBYTES", kilobytes.to_string())
        .env("DISK", disk)
        .env("DRIVE", drive)
        .env("MORE", more)
        .env("E2BKI", env!("CARGO_BIN_EXE_e2bki"))
        .output()
        .unwrap()
}

/// The number after the last time that something is said.
fn number_after(said: &str, what: &str) -> Option<u64> {
    let at = said.rfind(what)? + what.len();
    said[at..].split(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty())?.parse().ok()
}

#[test]
fn a_disk_that_is_full_at_any_moment_loses_nothing_that_was_saved() {
    let allowed =
        Command::new("unshare").args(["--mount", "--map-root-user", "mount", "-t", "tmpfs", "none", "/mnt"]).output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        return e2bki_testdata::skip("full disks: this user may not mount file systems in a namespace (unshare)");
    }
    let disks: u64 = std::env::var("E2BKI_FULL_DISKS").ok().and_then(|text| text.parse().ok()).unwrap_or(12);
    let folder = tempfile::tempdir().unwrap();
    let (drive, disk) = (folder.path().join("drive"), folder.path().join("disk"));
    std::fs::create_dir(&disk).unwrap();
    small_drive(&drive, FRAMES as usize, 75);
    let whole = folder.path().join("map.e2bki");
    done(&["map", name(&drive), "-o", name(&whole)]);
    let hash = done(&["info", name(&whole), "--hash"]);
    let most = 3 * std::fs::metadata(&whole).unwrap().len() / 1000;
    let (mut full, mut saved) = (0, 0);
    for round in 0..disks {
        let kilobytes = 4 + most * round / disks;
        let more = if round % 3 == 2 { "--memory 1GB" } else { "" };
        let output = run(&drive, &disk, kilobytes, more);
        let (said, at) = (text(&output.stdout), format!("{kilobytes} kB {more}: {}", text(&output.stdout)));
        let complained = std::fs::read_to_string(folder.path().join("disk-complained")).unwrap();
        assert!(!complained.contains("panicked") && !said.contains("damaged"), "{at}{complained}");
        let holds = number_after(&said, "holds ");
        match number_after(&said, "ended ").unwrap() {
            0 => assert_eq!(holds, Some(FRAMES), "{at}"),
            2 => {
                full += 1;
                assert!(complained.contains("No space left"), "{at}{complained}");
                // Of every frame either the map on the disk knows, or the user was told. Without a warning all was saved, and only
                // writing it once more at the end found no room.
                let unsaved = number_after(&complained, "warning: the map of ").unwrap_or(0);
                assert_eq!(holds.unwrap_or(0) + unsaved, FRAMES, "{at}{complained}");
                saved += u64::from(holds.is_some());
            }
            other => panic!("{other}: {at}{complained}"),
        }
        assert!(
            said.contains(hash.trim()),
            "with room again it is another map than {hash}: {at}{}",
            text(&output.stderr)
        );
    }
    assert!(full > 0 && full < disks && saved > 0, "{full} of {disks} were full, {saved} of those had an earlier map");
}
