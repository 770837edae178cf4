"""Files in the scratch folder: written, read, renamed, copied, packed, removed."""

import glob
import os
import pathlib
import shutil
import tarfile
import zipfile

pathlib.Path("data").mkdir()
pathlib.Path("data/a.txt").write_text("alpha\n")
shutil.copy("data/a.txt", "data/b.txt")
shutil.copy2("data/a.txt", "data/c.txt")
os.rename("data/b.txt", "data/d.txt")
os.chmod("data/d.txt", 0o600)
os.symlink("a.txt", "data/link")
print(pathlib.Path("data/link").read_text().strip(), sorted(glob.glob("data/*")))
with zipfile.ZipFile("data.zip", "w") as archive:
    archive.write("data/a.txt")
with zipfile.ZipFile("data.zip") as archive:
    archive.extractall("unzipped")
with tarfile.open("data.tar.gz", "w:gz") as archive:
    archive.add("data")
with tarfile.open("data.tar.gz") as archive:
    archive.extraction_filter = lambda member, path: member
    archive.extractall("untarred")
print(sorted(os.listdir("untarred/data")), pathlib.Path("unzipped/data/a.txt").read_text().strip())
shutil.rmtree("data")
shutil.move("unzipped", "moved")
print(sorted(os.listdir(".")))
# > alpha ['data/a.txt', 'data/c.txt', 'data/d.txt', 'data/link']
# > ['a.txt', 'c.txt', 'd.txt', 'link'] alpha
# > ['data.tar.gz', 'data.zip', 'moved', 'untarred']
# file data.zip
# file moved/data/a.txt
