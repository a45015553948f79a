//! `view`: maps in the browser, served by a thread of their own.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Mutex;

use e2bki::Mapper;
use e2bki_view::{Publisher, RawPoints, Scene, Scenes, ServeOptions, Server};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays;
use crate::baselines::PyBaseline;
use crate::errors::{Failure, Result};
use crate::frame::PyFrame;
use crate::map::PyMap;
use crate::threads;

/// A page that shows maps. It is served until `close`, the end of a `with` block, or the end of this object.
#[pyclass(name = "Viewer", module = "e2bki", frozen)]
pub(crate) struct PyViewer {
    server: Mutex<Option<Server>>,
    url: String,
    port: u16,
    maps: usize,
    /// The map that streams into it.
    live: Option<Py<PyMap>>,
    /// The process whose threads serve it.
    born: u32,
}

impl Drop for PyViewer {
    fn drop(&mut self) {
        // In a forked process the threads that would have to end are not there, and waiting for them would never end.
        if self.born != std::process::id()
            && let Ok(server) = self.server.get_mut()
        {
            std::mem::forget(server.take());
        }
    }
}

#[pymethods]
impl PyViewer {
    /// What to open in a browser, with the token where one is needed.
    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    /// Port of the page.
    #[getter]
    fn port(&self) -> u16 {
        self.port
    }

    /// Whether the page is no longer served.
    #[getter]
    fn closed(&self) -> bool {
        self.server.lock().map_or(true, |server| server.is_none())
    }

    /// open() -> bool
    ///
    /// Opens the page in the user's browser, where there is one.
    fn open(&self, py: Python<'_>) -> PyResult<bool> {
        py.import("webbrowser")?.call_method1("open", (&self.url,))?.extract()
    }

    /// close() -> None
    ///
    /// Stops serving; once is enough.
    fn close(&self, py: Python<'_>) -> Result<()> {
        if self.born != std::process::id() {
            return Ok(());
        }
        if let Some(map) = &self.live {
            map.get().stream(py, None)?;
        }
        threads::work(py, || drop(self.server.lock().ok().and_then(|mut server| server.take())))?;
        Ok(())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, py: Python<'_>, _raised: &Bound<'_, PyTuple>) -> Result<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        let state = if self.closed() { "closed" } else { self.url.as_str() };
        let kind = if self.live.is_some() { "live map" } else { "map" };
        format!("<e2bki.Viewer: {state}, {} {kind}{}>", self.maps, if self.maps == 1 { "" } else { "s" })
    }
}

/// What a map is called on the page, and the map.
enum Shown {
    Primitives(String, Box<Mapper>),
    Voxels(String, std::sync::Arc<Mutex<Box<dyn e2bki::SemanticMapper>>>),
}

fn shown(value: &Bound<'_, PyAny>) -> Result<Shown> {
    let py = value.py();
    if let Ok(map) = value.cast::<PyMap>() {
        return Ok(Shown::Primitives("E2-BKI".into(), Box::new(map.get().read(py, Mapper::clone)?)));
    }
    if let Ok(map) = value.cast::<PyBaseline>() {
        let map = map.get();
        return Ok(Shown::Voxels(map.baseline.name().into(), map.map.clone()));
    }
    let path: PathBuf =
        value.extract().map_err(|_| Failure::kind("a viewer shows maps, baselines and paths of map files"))?;
    let name = path.display().to_string();
    Ok(Shown::Primitives(name, Box::new(threads::work(py, || e2bki_store::load(path))??)))
}

/// view(*maps, names=None, frames=None, trajectory=None, resolution=None, live=False, host="127.0.0.1", port=7878)
///     -> Viewer
///
/// Shows one map or two side by side in the browser: maps, baselines, or paths of map files, as they are now. names: what
/// they are called on the page; frames: scans whose points are shown as well, and where their sensor went; trajectory:
/// (N, 3) metres, instead of the frames' places; resolution: side of the voxels, metres; live: follow the one given map
/// while frames are inserted into it; host: any address but loopback needs the token in `Viewer.url`; port: the next free
/// one where it is taken.
#[pyfunction]
#[pyo3(signature = (*maps, names = None, frames = None, trajectory = None, resolution = None, live = false,
    host = "127.0.0.1", port = 7878))]
#[allow(clippy::too_many_arguments)] // keyword arguments of Python
pub(crate) fn view(
    py: Python<'_>,
    maps: &Bound<'_, PyTuple>,
    names: Option<Vec<String>>,
    frames: Option<&Bound<'_, PyAny>>,
    trajectory: Option<&Bound<'_, PyAny>>,
    resolution: Option<f64>,
    live: bool,
    host: &str,
    port: u16,
) -> Result<PyViewer> {
    threads::refuse_forked("the threads that serve a viewer")?;
    if !(1..=2).contains(&maps.len()) {
        return Err(Failure::kind(format!("a viewer shows one map or two; got {}", maps.len())));
    }
    if names.as_ref().is_some_and(|names| names.len() != maps.len()) {
        return Err(Failure::value(format!("`names` must name each of the {} maps", maps.len())));
    }
    if resolution.is_some_and(|side| !(0.005..=10.0).contains(&side)) {
        return Err(Failure::value("`resolution` is out of range; allowed: 0.005 to 10 m"));
    }
    let host: IpAddr = host.parse().map_err(|_| Failure::value(format!("`host` is \"{host}\", not an IP address")))?;
    let options = ServeOptions { host, port };
    let name = |i: usize, usual: String| names.as_ref().map_or(usual, |names| names[i].clone());
    if live {
        let Some(map) = maps.get_item(0)?.cast_into::<PyMap>().ok().filter(|_| maps.len() == 1) else {
            return Err(Failure::kind("`live` follows one e2bki.Map"));
        };
        let config = map.get().read(py, |map| map.config().clone())?;
        let show = Scenes::live(name(0, "E2-BKI".into()), map.get().classes.clone(), config);
        let server = Server::start(&options, show.clone())?;
        map.get().stream(py, Some(Publisher::new(show)?))?;
        return Ok(viewer(server, 1, Some(map.unbind())));
    }
    let mut points = RawPoints::default();
    let mut way = Vec::new();
    for frame in frames.map(|frames| frames.try_iter()).transpose()?.into_iter().flatten() {
        let frame = frame?;
        let frame = frame.cast::<PyFrame>().map_err(PyErr::from)?.get();
        way.push(frame.pose.translation());
        points.add(&frame.borrow());
    }
    if let Some(trajectory) = trajectory {
        way = arrays::rows_f64::<3>(trajectory, "trajectory")?;
    }
    let mut scenes = Vec::new();
    for (i, value) in maps.iter().enumerate() {
        let scene = match shown(&value)? {
            Shown::Primitives(usual, map) => Scene::of_map(name(i, usual), *map, way.clone(), resolution),
            Shown::Voxels(usual, map) => {
                let title = name(i, usual);
                threads::work(py, || Scene::of_voxels(title, map, way.clone()))??
            }
        };
        scenes.push(scene.with_points(points.clone()));
    }
    let server = Server::start(&options, Scenes::of_maps(scenes))?;
    Ok(viewer(server, maps.len(), None))
}

fn viewer(server: Server, maps: usize, live: Option<Py<PyMap>>) -> PyViewer {
    let (url, port) = (server.url(), server.address().port());
    PyViewer { server: Mutex::new(Some(server)), url, port, maps, live, born: std::process::id() }
}
