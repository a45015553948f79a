// Two cameras that look at the same spot: a free one, and one from above with a true scale.
import { MapControls, OrthographicCamera, PerspectiveCamera, Vector3 } from "/three.js";

export class Cameras {
  constructor(canvas) {
    this.free = new PerspectiveCamera(50, 1, 0.1, 6000);
    this.above = new OrthographicCamera(-1, 1, 1, -1, 0.1, 8000);
    this.free.up.set(0, 0, 1);
    this.above.up.set(0, 1, 0);
    this.controls = { free: new MapControls(this.free, canvas), above: new MapControls(this.above, canvas) };
    for (const controls of Object.values(this.controls)) { controls.zoomToCursor = true; controls.enableDamping = false; }
    this.controls.free.maxPolarAngle = Math.PI * 0.495;
    this.controls.free.minDistance = 0.5;
    this.controls.above.enableRotate = false;
    this.controls.above.screenSpacePanning = true;
    this.top = false;
    this.controls.above.enabled = false;
  }

  get active() { return this.top ? this.above : this.free; }
  get target() { return (this.top ? this.controls.above : this.controls.free).target; }

  /// Looks at a box of the world, obliquely from the south.
  home(center, reach) {
    this.start = [center, reach];
    this.controls.free.target.copy(center);
    this.free.position.copy(center).add(new Vector3(-0.35, -0.75, 0.62).multiplyScalar(reach));
    this.controls.free.update();
    this.frame(center, reach * 1.1);
  }

  /// Puts so many metres of height into the view from above.
  frame(center, height) {
    this.height = height;
    this.above.zoom = 1;
    this.controls.above.target.copy(center);
    this.above.position.copy(center).add(new Vector3(0, 0, 3000));
    this.controls.above.update();
  }

  show(top) {
    if (top === this.top) return;
    const seen = this.free.position.distanceTo(this.controls.free.target) * 2 * Math.tan((this.free.fov * Math.PI) / 360);
    if (top) this.frame(this.controls.free.target.clone(), seen);
    else {
      const moved = this.controls.above.target.clone().sub(this.controls.free.target).setZ(0);
      this.controls.free.target.add(moved);
      this.free.position.add(moved);
      this.controls.free.update();
    }
    this.top = top;
    this.controls.free.enabled = !top;
    this.controls.above.enabled = top;
  }

  resize(width, height) {
    this.free.aspect = width / height;
    const half = (this.height ?? 100) / 2;
    Object.assign(this.above, { top: half, bottom: -half, left: (-half * width) / height, right: (half * width) / height });
    this.free.updateProjectionMatrix();
    this.above.updateProjectionMatrix();
  }

  /// Pixels per metre: everywhere from above, at distance 1 otherwise.
  pixels(height) {
    return this.top ? (height * this.above.zoom) / this.height : height / (2 * Math.tan((this.free.fov * Math.PI) / 360));
  }

  /// Pixels per metre at the spot that is looked at.
  scale(height) { return this.top ? this.pixels(height) : this.pixels(height) / this.free.position.distanceTo(this.target); }
}
