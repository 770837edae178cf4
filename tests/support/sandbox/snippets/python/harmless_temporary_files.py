"""Temporary files and folders."""

import os
import tempfile

with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "note.txt"), "w") as file:
        file.write("hello")
    print(os.listdir(folder))
print(os.path.exists(folder))
with tempfile.NamedTemporaryFile("w+") as file:
    file.write("kept for a moment")
    file.seek(0)
    print(file.read())
with tempfile.TemporaryFile() as file:
    print(file.write(b"12345"))
# > ['note.txt']
# > False
# > kept for a moment
# > 5
