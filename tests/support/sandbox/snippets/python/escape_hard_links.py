"""The secret under a second name, or moved into the scratch folder."""

from attacking import attempt, folder_of, os, outside, read, syscall

secret = os.fsencode(outside["secret"])
here = -100
attempt("link", os.link, secret, "hard.txt")
attempt("linkat", syscall, "linkat", here, secret, here, b"hard2.txt", 0x400)
attempt("rename", os.rename, secret, "moved.txt")
attempt("exchange", lambda: (open("mine", "w").close(), syscall("renameat2", here, secret, here, b"mine", 2)))
attempt("folder", os.rename, folder_of(secret), "moved")
for name in ("hard.txt", "hard2.txt", "moved.txt", "mine"):
    attempt(name, read, name)
