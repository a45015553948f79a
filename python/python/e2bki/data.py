"""People's data as frames: datasets, cameras, class tables.

    dataset = e2bki.data.Dataset("semantickitti/sequences/08", ground_truth="auto")
    m = e2bki.Map(dataset.classes)
    for frame in dataset:            # read ahead on another thread
        m.insert(frame)
"""

from ._e2bki import Camera, Dataset, Frame, Frames, alignment, class_tables

__all__ = ["Camera", "Dataset", "Frame", "Frames", "alignment", "class_tables"]
