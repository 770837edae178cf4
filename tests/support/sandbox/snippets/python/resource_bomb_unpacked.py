"""A small archive that is large inside."""
# files

import io
import zipfile

from taking import MEGABYTE, held

packed = io.BytesIO()
with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("zeros", bytes(1 << 20))
total = 0
try:
    while total < 4096:
        with zipfile.ZipFile(packed) as archive, open(f"unpacked{total}", "wb") as file:
            file.write(archive.read("zeros") or MEGABYTE)
        total += 1
        held(total)
except OSError as error:
    print(error.strerror)
