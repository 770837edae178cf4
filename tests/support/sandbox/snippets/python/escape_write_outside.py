"""Files and folders outside that anybody may write."""

from attacking import forbidden, os, outside

victim, drop = outside["victim"], outside["drop"]
forbidden("overwrite", lambda: open(victim, "w").write("changed"))
forbidden("append", lambda: open(victim, "a").write("changed"))
forbidden("in place", lambda: open(victim, "r+").write("changed"))
forbidden("truncate", os.truncate, victim, 0)
open("mine.txt", "w").write("changed")
forbidden("replace", os.replace, "mine.txt", victim)
forbidden("link over", os.link, "mine.txt", drop + "/linked")
forbidden("remove", os.remove, victim)
forbidden("make", lambda: open(drop + "/made", "x").close())
forbidden("folder", os.mkdir, drop + "/folder")
forbidden("fifo", os.mkfifo, drop + "/fifo")
forbidden("symlink", os.symlink, "/", drop + "/symlink")
forbidden("remove folder", os.rmdir, drop)
forbidden("move", os.rename, drop, "moved")
