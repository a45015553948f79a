"""Reads a PMTiles file with the reader of PMTiles itself: python pictures.py FILE.pmtiles [OUT.png]

Every picture must be a PNG of 256 x 256 pixels that the directories lead to, none of them empty, and each below one
of the zoom before. With OUT.png the finest zoom is written as one picture.
"""

import io
import json
import math
import sys

from PIL import Image
from pmtiles.reader import MmapSource, Reader, all_tiles


def main() -> None:
    with open(sys.argv[1], "rb") as file:
        reader = Reader(MmapSource(file))
        header, metadata = reader.header(), reader.metadata()
        tiles = dict(all_tiles(reader.get_bytes))
    assert header["version"] == 3 and header["clustered"] and metadata["format"] == "png", header
    assert len(tiles) == header["addressed_tiles_count"] == header["tile_entries_count"], (len(tiles), header)
    zooms = sorted({zoom for zoom, _, _ in tiles})
    assert zooms == list(range(header["min_zoom"], header["max_zoom"] + 1)), zooms
    assert 1 <= len([tile for tile in tiles if tile[0] == zooms[0]]) <= 4
    seen = 0
    for (zoom, x, y), data in tiles.items():
        with open(sys.argv[1], "rb") as file:
            assert Reader(MmapSource(file)).get(zoom, x, y) == data
        picture = Image.open(io.BytesIO(data))
        assert picture.size == (256, 256) and picture.mode == "RGBA", picture
        seen += picture.getchannel("A").getbbox() is not None
        assert zoom == zooms[0] or (zoom - 1, x // 2, y // 2) in tiles, (zoom, x, y)
    assert seen == len(tiles), "a picture is empty"
    finest = {(x, y): data for (zoom, x, y), data in tiles.items() if zoom == zooms[-1]}
    west, east = header["min_lon_e7"] / 1e7, header["max_lon_e7"] / 1e7
    left = [(lon + 180) / 360 * 2 ** zooms[-1] for lon in (west, east)]
    assert all(math.floor(left[0]) <= x <= math.floor(left[1]) for x, _ in finest), "pictures lie outside of the bounds"
    if len(sys.argv) > 2:
        xs, ys = sorted({x for x, _ in finest}), sorted({y for _, y in finest})
        whole = Image.new("RGBA", (256 * (xs[-1] - xs[0] + 1), 256 * (ys[-1] - ys[0] + 1)))
        for (x, y), data in finest.items():
            whole.paste(Image.open(io.BytesIO(data)), (256 * (x - xs[0]), 256 * (y - ys[0])))
        whole.save(sys.argv[2])
    print(f"PMTiles: {len(tiles)} pictures of zooms {zooms[0]} to {zooms[-1]}, origin {json.dumps(metadata['e2bki']['origin'])}")


if __name__ == "__main__":
    main()
