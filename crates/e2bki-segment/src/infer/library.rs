//! Where the library of ONNX Runtime is: where somebody says, in the active Python environment, or in the system.

use std::path::{Path, PathBuf};

/// Libraries that may be ONNX Runtime, the first choice first; whether somebody named the only one.
pub(super) fn candidates(asked: Option<&Path>) -> (Vec<PathBuf>, bool) {
    if let Some(path) = asked {
        return (vec![path.into()], true);
    }
    if let Some(path) = std::env::var_os("ORT_DYLIB_PATH").filter(|path| !path.is_empty()) {
        return (vec![path.into()], true);
    }
    let prefixes = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(std::env::var_os);
    let mut found: Vec<PathBuf> = prefixes.flat_map(|prefix| in_environment(Path::new(&prefix))).collect();
    let system = format!("{}onnxruntime{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    found.push(system.into());
    (found, false)
}

/// The library of the PyPI package `onnxruntime` in a Python environment.
fn in_environment(prefix: &Path) -> Vec<PathBuf> {
    let named = |path: &Path, start: &str| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(start))
    };
    let mut packages = vec![prefix.join("Lib/site-packages")];
    packages.extend(
        sorted(&prefix.join("lib")).into_iter().filter(|p| named(p, "python3")).map(|p| p.join("site-packages")),
    );
    let library = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        let ours = ["libonnxruntime.so", "onnxruntime.dll"].iter().any(|start| name.starts_with(start));
        ours || name.starts_with("libonnxruntime.") && name.ends_with(".dylib")
    };
    packages.iter().flat_map(|packages| sorted(&packages.join("onnxruntime/capi"))).filter(library).collect()
}

/// What is in a folder, in one order; nothing if it cannot be read.
fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_of_an_environment_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let capi = folder.path().join("lib/python3.11/site-packages/onnxruntime/capi");
        assert!(in_environment(folder.path()).is_empty());
        std::fs::create_dir_all(&capi).unwrap();
        for name in ["libonnxruntime.so.1.31.1", "libonnxruntime_providers_shared.so", "onnxruntime_pybind11_state.so"]
        {
            std::fs::write(capi.join(name), "").unwrap();
        }
        assert_eq!(in_environment(folder.path()), [capi.join("libonnxruntime.so.1.31.1")]);
    }

    #[test]
    fn a_library_that_was_named_is_the_only_one() {
        let path = Path::new("/nowhere/libonnxruntime.so");
        assert_eq!(candidates(Some(path)), (vec![path.to_path_buf()], true));
    }
}
