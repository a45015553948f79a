"""Simulated drives with truth, in memory (`Drive`) or on disk in the layout of a real dataset (`simulate`).

    drive = e2bki.sim.Drive("urban", seed=3)
    for frame in drive.frames(20, network=0.3):   # evidence of a network trained on 30 % of the data
        m.insert(frame)
"""

from ._e2bki import Drive, SimFrames, simulate

__all__ = ["Drive", "SimFrames", "simulate"]
