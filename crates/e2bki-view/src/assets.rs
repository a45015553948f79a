//! The page: part of the program, found by name and never in a file system.

/// Content type and contents of a part of the page.
pub(crate) fn find(path: &str) -> Option<(&'static str, &'static str)> {
    const SCRIPT: &str = "text/javascript; charset=utf-8";
    Some(match path {
        "/" => ("text/html; charset=utf-8", include_str!("../page/index.html")),
        "/style.css" => ("text/css; charset=utf-8", include_str!("../page/style.css")),
        "/app.js" => (SCRIPT, include_str!("../page/app.js")),
        "/camera.js" => (SCRIPT, include_str!("../page/camera.js")),
        "/connection.js" => (SCRIPT, include_str!("../page/connection.js")),
        "/context.js" => (SCRIPT, include_str!("../page/context.js")),
        "/count.js" => (SCRIPT, include_str!("../page/count.js")),
        "/footprint.js" => (SCRIPT, include_str!("../page/footprint.js")),
        "/levels.js" => (SCRIPT, include_str!("../page/levels.js")),
        "/order.js" => (SCRIPT, include_str!("../page/order.js")),
        "/pace.js" => (SCRIPT, include_str!("../page/pace.js")),
        "/panel.js" => (SCRIPT, include_str!("../page/panel.js")),
        "/pick.js" => (SCRIPT, include_str!("../page/pick.js")),
        "/shaders.js" => (SCRIPT, include_str!("../page/shaders.js")),
        "/sketch.js" => (SCRIPT, include_str!("../page/sketch.js")),
        "/tiles.js" => (SCRIPT, include_str!("../page/tiles.js")),
        "/way.js" => (SCRIPT, include_str!("../page/way.js")),
        "/three.js" => (SCRIPT, include_str!("../page/vendor/three.min.js")),
        "/LICENSE.three.txt" => ("text/plain; charset=utf-8", include_str!("../page/vendor/LICENSE.three.txt")),
        _ => return None,
    })
}
