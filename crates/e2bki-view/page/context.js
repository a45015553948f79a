// The graphics card, or the processor in its place.

const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

/// Whether the processor draws, as there is no graphics card.
function software(context) {
  const name = context.getExtension("WEBGL_debug_renderer_info")?.UNMASKED_RENDERER_WEBGL ?? context.RENDERER;
  return SOFTWARE.test(context.getParameter(name));
}

/// The canvas of the page and what draws on it: with smooth edges, unless a processor draws, which they take three times as long.
export function graphics() {
  const canvas = document.getElementById("canvas"), context = canvas.getContext("webgl2", { alpha: false, antialias: false });
  if (!context) throw new Error("this browser has no WebGL 2, which the viewer draws with");
  if (software(context)) return { canvas, context };
  // A canvas that began without smooth edges never has them.
  const other = canvas.cloneNode(), smooth = other.getContext("webgl2", { alpha: false, antialias: true });
  if (!smooth) return { canvas, context };
  canvas.replaceWith(other);
  context.getExtension("WEBGL_lose_context")?.loseContext();
  return { canvas: other, context: smooth };
}
