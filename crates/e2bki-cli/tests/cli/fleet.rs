//! A fleet's store as a user meets it.

use crate::{done, e2bki, name, small_drive, text};

#[test]
fn the_map_of_a_run_is_named_as_the_run_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (drive, like, store) =
        (folder.path().join("drive"), folder.path().join("like.e2bki"), folder.path().join("store"));
    small_drive(&drive, 3, 30);
    done(&["map", name(&drive), "-o", name(&like)]);
    done(&["fleet", "init", name(&store), "--like", name(&like)]);
    let map = |run: &str| e2bki(&["fleet", "map", name(&store), "--run", run, "--", name(&drive)]);
    let mapped = map("monday");
    let printed = text(&mapped.stdout) + &text(&mapped.stderr);
    assert!(mapped.status.success() && printed.contains("monday (") && printed.contains("added;"), "{printed}");
    // The file it was mapped into is gone by now.
    assert!(!printed.contains("wrote ") && !printed.contains("run.e2bki"), "{printed}");

    // A frame that cannot be used: what was mapped before it is not said to be anywhere.
    std::fs::write(drive.join("frames/000002.bin"), [0; 7]).unwrap();
    let broken = map("tuesday");
    let printed = text(&broken.stdout) + &text(&broken.stderr);
    assert!(!broken.status.success() && printed.contains("2 frames were mapped and nothing was kept"), "{printed}");
    assert!(!printed.contains("run.e2bki"), "{printed}");

    // Levels of detail are looked at as tiles are.
    done(&["fleet", "commit", name(&store)]);
    done(&["fleet", "levels", name(&store)]);
    assert!(done(&["fleet", "verify", name(&store), "--remake"]).contains("1 run, "));
}
