"""Pictures as the Messages API takes them: PNG, JPEG, GIF or WebP, not larger than it looks at."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from typing import TYPE_CHECKING

from tui_agent.tools.textfile import size_words
from tui_agent.tools.tool import ToolError

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

    from tui_agent.messages.blocks import Block

MOST_PIXELS = 1568
"""Pixels of the longer side, unless asked otherwise; more of them are paid for in bytes and tokens."""

_MOST_BYTES = 3_750_000
"""Bytes of one picture: 5 MB once in base64."""

_MOST_UNPACKED = 64_000_000
"""Pixels of a picture that is unpacked at all: 256 MB."""

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
_QUALITIES = (85, 70, 50)


def media_type(data: bytes) -> str | None:
    """The media type by the first bytes, None if it is no picture that can be sent."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def image_block(data: bytes, name: str, longest: int = MOST_PIXELS) -> tuple[Block, str]:
    """An image block of the picture, and in words what it is; a large one is scaled. For a thread.

    `longest` is the most pixels that its longer side keeps.

    Raises:
        ToolError: it is damaged, or so large when unpacked that it would fill the memory.
    """
    from PIL import Image, UnidentifiedImageError

    # the limit is checked here: the library's own speaks on standard error first
    Image.MAX_IMAGE_PIXELS = None
    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            width, height = image.size
            if width * height > _MOST_UNPACKED:
                raise ToolError(f"{name} is too large a picture to unpack ({width}x{height})")
            if max(width, height) <= longest and len(data) <= _MOST_BYTES:
                image.load()
                kind = str(media_type(data))
                return _block(kind, data, width, height), _words(kind, width, height, data)
            kind, smaller, size = _scaled(image, longest)
    except UnidentifiedImageError as error:
        raise ToolError(f"{name} is a damaged picture: nothing in it can be made out") from error
    except (
        OSError,
        SyntaxError,
        ValueError,
        LookupError,
        EOFError,
        OverflowError,
        struct.error,
        zlib.error,
    ) as error:
        raise ToolError(f"{name} is a damaged picture: {error}") from error
    words = f"{_words(kind, *size, smaller)}, scaled from {width}x{height}, {size_words(len(data))}"
    return _block(kind, smaller, *size), words


def _words(kind: str, width: int, height: int, data: bytes) -> str:
    return f"{kind} {width}x{height}, {size_words(len(data))}"


def _block(kind: str, data: bytes, width: int, height: int) -> Block:
    return {
        "type": "image",
        "source": {
            "type": "base64",
            "media_type": kind,
            "data": base64.b64encode(data).decode("ascii"),
            "width": width,
            "height": height,
        },
    }


def _scaled(image: Picture, longest: int) -> tuple[str, bytes, tuple[int, int]]:
    from PIL import Image, ImageOps

    # a JPEG can be unpacked at an eighth of its size already
    image.draft("RGB", (longest, longest))
    image = ImageOps.exif_transpose(image)
    see_through = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
    image = image.convert("RGBA" if see_through else "RGB")
    image.thumbnail((longest, longest))
    png = io.BytesIO()
    image.save(png, "PNG", optimize=False)
    best = ("image/png", png.getvalue())
    if see_through and len(best[1]) > _MOST_BYTES:
        # on white, as most viewers show it
        background = Image.new("RGB", image.size, "white")
        background.paste(image, mask=image.getchannel("A"))
        image, see_through = background, False
    if not see_through:
        for quality in _QUALITIES:
            jpeg = io.BytesIO()
            image.save(jpeg, "JPEG", quality=quality)
            if len(jpeg.getvalue()) < len(best[1]):
                best = ("image/jpeg", jpeg.getvalue())
            if len(best[1]) <= _MOST_BYTES:
                break
    return best[0], best[1], image.size
