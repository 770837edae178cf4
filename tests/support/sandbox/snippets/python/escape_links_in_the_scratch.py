"""Links to the secret, read here and left behind for whoever collects the results."""

from attacking import attempt, folder_of, os, outside, read

secret = outside["secret"]
os.symlink(secret, "result.txt")
os.symlink(folder_of(secret), "results")
os.symlink("/", "root")
os.symlink("../" * 24 + secret[1:], "relative.txt")
os.symlink("result.txt", "twice.txt")
for path in ("result.txt", "results/" + os.path.basename(secret), "root" + secret, "relative.txt", "twice.txt"):
    attempt(path, read, path)
