//! A store of objects, without the waiting: each call returns when it is done.

use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use url::Url;

use crate::error::{Error, Result};

/// How long one request to a bucket may take: a run of gigabytes over a thin line takes minutes.
const PATIENCE: &str = "20 minutes";

/// How often a removal is tried again.
const TRIES: usize = 3;

/// An opened store: a folder or a bucket.
#[derive(Debug, Clone)]
pub struct Objects {
    name: String,
    inner: Arc<dyn ObjectStore>,
    prefix: Path,
    /// Where a store that is a folder is.
    folder: Option<PathBuf>,
    runtime: Arc<tokio::runtime::Runtime>,
}

impl Objects {
    /// Opens a store: a path of a folder, `file://`, and with the feature `cloud` `s3://`, `gs://` and `az://`, whose keys
    /// are taken from the environment in the names that their own tools use.
    pub fn open(place: &str) -> Result<Self> {
        let variables = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
        Self::open_with(place, variables)
    }

    /// As [`Self::open`], with the keys of a bucket given here, under the names that they have in the environment.
    pub fn open_with(place: &str, variables: impl IntoIterator<Item = (String, String)>) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = Arc::new(runtime.map_err(|e| failed(place, "open", "", e))?);
        let (inner, prefix, folder): (Arc<dyn ObjectStore>, Path, Option<PathBuf>) = match Url::parse(place) {
            // One letter is a drive of Windows.
            Ok(url) if url.scheme().len() > 1 && url.scheme() != "file" => {
                let patience = ("timeout".to_string(), PATIENCE.to_string());
                let variables = variables.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
                let options = std::iter::once(patience).chain(variables);
                let (inner, prefix) = object_store::parse_url_opts(&url, options).map_err(|e| unknown(place, &e))?;
                (inner.into(), prefix, None)
            }
            Ok(url) if url.scheme() == "file" => {
                let path = url.to_file_path().map_err(|()| Error::Refused(format!("{place} is not a path")))?;
                (open_folder(place, &path)?, Path::default(), Some(path))
            }
            _ => (open_folder(place, FilePath::new(place))?, Path::default(), Some(place.into())),
        };
        Ok(Self { name: place.into(), inner, prefix, folder, runtime })
    }

    /// The folder, of a store that is one.
    pub(crate) fn folder(&self) -> Option<&FilePath> {
        self.folder.as_deref()
    }

    /// Where the store is, as it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn path(&self, object: &str) -> Path {
        Path::from_iter(self.prefix.parts().chain(Path::from(object).parts()))
    }

    /// The bytes of an object; nothing if there is none.
    pub fn get(&self, object: &str) -> Result<Option<Vec<u8>>> {
        let path = self.path(object);
        let read = self.runtime.block_on(async { self.inner.get(&path).await?.bytes().await });
        match read {
            Ok(bytes) => Ok(Some(bytes.to_vec())),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(&self.name, "read", object, error)),
        }
    }

    /// Some of the bytes of an object.
    pub fn get_range(&self, object: &str, range: Range<u64>) -> Result<Vec<u8>> {
        let path = self.path(object);
        let read = self.runtime.block_on(self.inner.get_range(&path, range));
        read.map(|bytes| bytes.to_vec()).map_err(|e| failed(&self.name, "read", object, e))
    }

    /// Size of an object in bytes; nothing if there is none.
    pub fn size(&self, object: &str) -> Result<Option<u64>> {
        match self.runtime.block_on(self.inner.head(&self.path(object))) {
            Ok(about) => Ok(Some(about.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(&self.name, "find", object, error)),
        }
    }

    /// Writes an object unless there is one of that name. Returns whether it was written; of several writers at the same
    /// time, exactly one is told so.
    pub fn create(&self, object: &str, bytes: Vec<u8>) -> Result<bool> {
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        let path = self.path(object);
        match self.runtime.block_on(self.inner.put_opts(&path, PutPayload::from(bytes), options)) {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => Ok(false),
            Err(error) => Err(failed(&self.name, "write", object, error)),
        }
    }

    /// Has so many writers create an object at the same time, and returns how many were told that they had.
    pub(crate) fn create_at_once(&self, object: &str, writers: usize) -> Result<usize> {
        let path = self.path(object);
        let put = |writer: usize| {
            let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
            // Large enough for the others to come while it is written.
            self.inner.put_opts(&path, PutPayload::from(vec![writer as u8; 1 << 18]), options)
        };
        let puts = self.runtime.block_on(futures::future::join_all((0..writers).map(put)));
        let mut told = 0;
        for put in puts {
            match put {
                Ok(_) => told += 1,
                Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => {}
                Err(error) => return Err(failed(&self.name, "write", object, error)),
            }
        }
        Ok(told)
    }

    /// Removes an object; it is no error if there is none.
    pub fn remove(&self, object: &str) -> Result<()> {
        let path = self.path(object);
        let mut tries = 0;
        loop {
            match self.runtime.block_on(self.inner.delete(&path)) {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => return Ok(()),
                // S3 removes by a request that is not repeated by itself when a connection was closed. Removing twice is
                // removing.
                Err(_) if tries < TRIES => tries += 1,
                Err(error) => return Err(failed(&self.name, "remove", object, error)),
            }
        }
    }

    /// Names of all objects under a name, sorted, with their sizes.
    pub fn list(&self, under: &str) -> Result<Vec<(String, u64)>> {
        let path = self.path(under);
        let listed = self.runtime.block_on(self.inner.list(Some(&path)).try_collect::<Vec<_>>());
        let skip = self.prefix.parts().count();
        let name = |about: object_store::ObjectMeta| {
            let parts: Vec<String> = about.location.parts().skip(skip).map(|part| part.as_ref().to_string()).collect();
            (parts.join("/"), about.size)
        };
        let mut names: Vec<(String, u64)> =
            listed.map_err(|e| failed(&self.name, "list", under, e))?.into_iter().map(name).collect();
        names.sort_unstable();
        Ok(names)
    }
}

fn open_folder(place: &str, path: &FilePath) -> Result<Arc<dyn ObjectStore>> {
    std::fs::create_dir_all(path).map_err(|e| failed(place, "create", "the folder", e))?;
    let store =
        object_store::local::LocalFileSystem::new_with_prefix(path).map_err(|e| failed(place, "open", "", e))?;
    // What is reported written survives the power.
    Ok(Arc::new(store.with_fsync(true)))
}

fn unknown(place: &str, error: &object_store::Error) -> Error {
    let hint = if cfg!(feature = "cloud") { "" } else { "; this program was built without the feature `cloud`" };
    Error::Refused(format!("{place}: {error}{hint}"))
}

pub(crate) fn failed(
    store: &str,
    doing: &'static str,
    object: &str,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::Store { store: store.into(), doing, object: object.into(), source: source.into() }
}
