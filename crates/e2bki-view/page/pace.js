// How much is drawn: what the machine keeps up with while the picture moves, and more of it when it stands still.

const FIRST = 4e5;       // most vertices of the first picture: it has everything, as points
const CALM = 250;        // ms without change after which a better picture is drawn
const STILL = 400;       // ms that the better picture may take
const LEAST = 1e6;       // vertices of the better picture however slow the machine: near things are bodies, not dots
const MOST = 40e6;

/// Calls `done` when everything that was drawn so far is drawn indeed: what is asked of the graphics card is done later.
function finished(gl, done) {
  const fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
  gl.flush();
  const look = () => {
    if (gl.getSyncParameter(fence, gl.SYNC_STATUS) !== gl.SIGNALED && !gl.isContextLost()) { setTimeout(look, 4); return; }
    gl.deleteSync(fence);
    done();
  };
  setTimeout(look, 0);
}

/// Draws with `draw(budget)`, which returns how many vertices it drew; `state.budget` is what it may draw while the picture moves,
/// `state.fixed` holds it.
export class Pace {
  constructor(state, gl, draw) { Object.assign(this, { state, gl, draw, before: 0, busy: 0, rate: 0, timing: false, next: null, better: false }); }

  /// A map with so many things: all of them are to be seen in the first picture.
  begin(things) { if (!this.state.fixed) this.state.budget = Math.max(5e4, Math.min(FIRST, things)); }

  /// Draws, and follows how long it takes; calls `done` when it is drawn.
  picture(now, done = () => {}) {
    const { state } = this, begun = performance.now();
    this.better = false;
    const used = this.draw(state.budget);
    this.time(begun, used, done);
    // While the picture moves, fewer vertices where the machine is slow and more where it is quick.
    this.busy = this.busy ? 0.8 * this.busy + 0.2 * Math.min(now - this.before, 2000) : 16;
    this.before = now;
    if (state.fixed) return;
    if (this.busy > 50) { state.budget = Math.max(5e4, state.budget * Math.min(0.8, Math.max(0.4, 50 / this.busy))); }
    else if (this.busy < 22 && state.budget < MOST && used > 0.7 * state.budget) { state.budget *= 1.1; state.dirty = true; }
  }

  /// Nothing changed: draws once what takes a moment longer.
  rest(now) {
    this.busy = 0;
    if (this.state.fixed || this.better || this.timing || now - this.before < CALM) return;
    this.better = true;
    const budget = Math.min(MOST, Math.max(LEAST, STILL * this.rate)), begun = performance.now();
    if (budget > 1.2 * this.state.budget) this.time(begun, this.draw(budget), () => {});
  }

  /// Follows how many vertices are drawn in a millisecond; of pictures that come meanwhile, only when the last of them is drawn.
  time(begun, used, done) {
    if (this.timing) { this.next = done; return; }
    this.timing = true;
    finished(this.gl, () => {
      this.timing = false;
      if (used) this.rate = used / Math.max(performance.now() - begun, 1);
      done();
      const { next } = this;
      this.next = null;
      if (next) this.time(0, 0, next);
    });
  }
}
