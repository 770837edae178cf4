"""A picture, written by hand."""

import struct
import zlib


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


width, height = 16, 8
lines = b"".join(b"\0" + b"".join(bytes([x * 16, y * 32, 128]) for x in range(width)) for y in range(height))
with open("plot.png", "wb") as file:
    file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)))
    file.write(chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))
print("drawn")
# > drawn
# file plot.png
