"""Memory that is shared and belongs to nobody."""
# memory

import mmap

from taking import MEGABYTE, endlessly, held

kept = []
for number in endlessly():
    piece = mmap.mmap(-1, 1 << 20, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
    piece.write(MEGABYTE)
    kept.append(piece)
    held(number)
