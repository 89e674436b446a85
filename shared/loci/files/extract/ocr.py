"""Reads the text in pictures with PP-OCR, whose models are a package of the readers' environment.

The models are loaded at the first picture: the folder of the packages can be read behind the wall.
"""

import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from loci.files.extract.layout import Line
from loci.files.extract.text_lines import TextLine, text_lines

PACKAGE = "rapidocr"
"""The package is installed for its models alone: its code is not run, and what that needs is not installed."""
FINDS, READS = "models/PP-OCRv6_det_small.onnx", "models/PP-OCRv6_rec_small.onnx"
RESOLUTION, COARSE = 200, 100
"""Dots per inch at which letters are read, and lines are found."""
MOST_PIXELS, MOST_COARSE = 16_000_000, 2_000_000
"""The most pixels of a page. A larger page is read more coarsely."""
SECONDS = 75.0
"""Seconds for all pages of a file."""
SURE = 0.5
"""The least confidence in a line. Less sure lines are specks, not letters."""
HEIGHT = 48
"""The height of a line for the model that reads it."""
NARROWED = 0.8
"""Letters are read as well when they are narrower by this, in less time."""
NARROWEST, WIDEST = 16, 3_200
BATCH = 6_400
"""The most columns of pixels that are read at once."""
RECOGNISED = "read from a picture: mistakes are likely"
INSTALL = "Install the packages that read pictures with: loci runner install"
STEP = 32
"""The model that finds lines takes sides that are multiples of this."""


class Ocr:
    """The models that find lines of text in a picture, and read them. They take all of the time for one file."""

    def __init__(self) -> None:
        self._models: tuple[Any, Any] | None = None
        self._letters: list[str] = []
        self._left = SECONDS

    @property
    def is_installed(self) -> bool:
        """False if the packages are those of an earlier version of Loci."""
        return bool(find_spec(PACKAGE) and find_spec("onnxruntime"))

    def page_lines(self, page: Any, width: float, height: float) -> list[Line]:
        """The lines of text on this page of a PDF, in points."""
        if self._left <= 0:
            raise TimeoutError
        scale = min(RESOLUTION / 72, (MOST_PIXELS / max(1.0, width * height)) ** 0.5)
        picture = page.render(scale=scale, grayscale=True)
        import numpy

        pixels = numpy.frombuffer(bytes(picture.buffer), numpy.uint8).reshape(picture.height, picture.stride)
        return self.lines(pixels[:, : picture.width], COARSE / RESOLUTION, 1 / scale)

    def lines(self, pixels: Any, coarse: float, unit: float) -> list[Line]:
        """The lines of text in a picture in grey. Raises `TimeoutError` if there is no time for all of them.

        `coarse`: the scale at which lines are found; `unit`: the length of a pixel in the boxes of the lines.
        """
        began = time.monotonic()
        try:
            return self._read(pixels, coarse, unit, began + self._left)
        finally:
            self._left -= time.monotonic() - began

    def _read(self, pixels: Any, coarse: float, unit: float, ends: float) -> list[Line]:
        import numpy as np

        finds, reads = self._loaded()
        high, wide = pixels.shape
        coarse = min(coarse, (MOST_COARSE / (high * wide)) ** 0.5)
        small = _shrunk(pixels, *(max(STEP, round(side * coarse / STEP) * STEP) for side in (high, wide)))
        down, across = high / small.shape[0], wide / small.shape[1]
        [sure] = finds.run(None, {"x": np.broadcast_to(_normal(small), (1, 3, *small.shape))})
        found = text_lines(sure[0, 0])
        strips = [_strip(pixels, one, across, down) for one in found]
        lines: list[Line] = []
        for line, (text, certain) in zip(found, self._texts(reads, strips, ends), strict=True):
            if text and certain >= SURE:
                straightened = line.slope * (small.shape[1] / 2 - line.middle)
                top, bottom = ((one + straightened) * down * unit for one in (line.top, line.bottom))
                box = line.left * across * unit, top, line.right * across * unit, bottom
                lines.append(Line(text, box, bottom - top))
        return lines

    def _texts(self, reads: Any, strips: list[Any], ends: float) -> list[tuple[str, float]]:
        """The text of each strip, and the confidence in it."""
        import numpy as np

        texts = [("", 0.0)] * len(strips)
        waiting = sorted(range(len(strips)), key=lambda one: strips[one].shape[1])
        while waiting:
            if time.monotonic() > ends:
                raise TimeoutError
            wide = strips[waiting[-1]].shape[1]
            batch = [waiting.pop() for _ in range(min(len(waiting), max(1, BATCH // wide)))]
            filled = np.zeros((len(batch), 3, HEIGHT, wide), np.float32)
            for at, one in enumerate(batch):
                filled[at, :, :, : strips[one].shape[1]] = _normal(strips[one])
            [said] = reads.run(None, {"x": filled})
            for one, numbers, sure in zip(batch, said.argmax(axis=2), said.max(axis=2), strict=True):
                texts[one] = self._text(numbers, sure)
        return texts

    def _text(self, numbers: Any, sure: Any) -> tuple[str, float]:
        """The letters of the columns. A letter over several columns counts once, and number 0 means no letter."""
        import numpy as np

        kept = (numbers != 0) & np.concatenate(([True], numbers[1:] != numbers[:-1]))
        text = "".join(self._letters[one] for one in numbers[kept]).strip()
        return text, float(sure[kept].mean()) if text else 0.0

    def _loaded(self) -> tuple[Any, Any]:
        if self._models is None:
            import onnxruntime

            found = find_spec(PACKAGE)
            folder = Path(found.origin).parent if found and found.origin else Path(PACKAGE)
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1  # one file takes one core
            options.enable_cpu_mem_arena = False  # it would keep the most memory that a page took
            options.log_severity_level = 3
            finds, reads = (
                onnxruntime.InferenceSession(str(folder / one), options, providers=["CPUExecutionProvider"])
                for one in (FINDS, READS)
            )
            self._letters = ["", *reads.get_modelmeta().custom_metadata_map["character"].splitlines(), " "]
            self._models = finds, reads
        return self._models


def _normal(grey: Any) -> Any:
    """The picture as the models take it: from -1 for black to 1 for white."""
    return (grey / 127.5 - 1).astype("float32")


def _shrunk(pixels: Any, high: int, wide: int) -> Any:
    """The picture in this size: the mean of the pixels that become one."""
    import numpy as np

    rows, columns = (
        np.linspace(0, was, now, endpoint=False).astype(int)
        for was, now in zip(pixels.shape, (high, wide), strict=True)
    )
    sums = np.add.reduceat(np.add.reduceat(pixels, rows, axis=0, dtype=np.float32), columns, axis=1)
    return sums / np.outer(np.diff(rows, append=len(pixels)), np.diff(columns, append=pixels.shape[1])).clip(1)


def _strip(pixels: Any, line: TextLine, across: float, down: float) -> Any:
    """The line of text alone, straight, in the height that is read."""
    import numpy as np

    width, height = (line.right - line.left) * across, (line.bottom - line.top) * down
    wide = int(min(WIDEST, max(NARROWEST, NARROWED * HEIGHT * width / height)))
    columns = line.left * across + (np.arange(wide) + 0.5) * width / wide - 0.5
    rows = line.top * down + (np.arange(HEIGHT) + 0.5) * height / HEIGHT - 0.5
    fall = line.slope * down / across * (columns - line.middle * across)
    y = (rows[:, None] + fall).clip(0, pixels.shape[0] - 1)
    x = columns.clip(0, pixels.shape[1] - 1)
    top, left = y.astype(int), x.astype(int)
    bottom, right = np.minimum(top + 1, pixels.shape[0] - 1), np.minimum(left + 1, pixels.shape[1] - 1)
    low, far = y - top, x - left
    above = pixels[top, left] * (1 - far) + pixels[top, right] * far
    below = pixels[bottom, left] * (1 - far) + pixels[bottom, right] * far
    return above * (1 - low) + below * low
