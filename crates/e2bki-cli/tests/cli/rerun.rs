//! `--rerun`, with and without the feature.

use crate::e2bki;

#[cfg(not(feature = "rerun"))]
#[test]
fn a_build_without_it_says_how_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let output = e2bki(&["demo", "--frames", "1", "--out", out, "--rerun", "demo.rrd"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("--features rerun") && said.contains("--view"), "{said}");
}

#[cfg(feature = "rerun")]
#[test]
fn a_run_and_its_map_become_recordings() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (live, whole) = (path("live.rrd"), path("whole.rrd"));
    let output = e2bki(&["demo", "--frames", "6", "--out", &path("demo"), "--rerun", &live]);
    assert!(output.status.success(), "{output:?}");
    let output = e2bki(&["view", &path("demo"), "--rerun", &whole]);
    assert!(output.status.success(), "{output:?}");
    for file in [live, whole] {
        let bytes = std::fs::read(&file).unwrap();
        // 14,000 ellipsoids of 46 bytes, whatever they are packed to.
        assert!(bytes.starts_with(b"RRF") && bytes.len() > 200_000, "{file}: {} bytes", bytes.len());
    }
    for (target, expected) in
        [("http://nowhere", "rerun+http://"), (folder.path().to_str().unwrap(), "cannot write the recording")]
    {
        let output = e2bki(&["view", &path("demo"), "--rerun", target]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(expected), "{said}");
    }
}
