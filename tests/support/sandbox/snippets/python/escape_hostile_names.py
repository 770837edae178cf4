"""Results whose names would hurt whoever shows or copies them."""

from attacking import attempt, os

names = (b"line\nbreak", b"\x1b[2J\x1b[H\x1b]0;owned\x07", b"\xff\xfe\xfd", b"-rf", b"..\\..\\up", b"%2e%2e%2fup", b"x" * 255, b" ",
         b"CON", "\u202egnp.exe".encode(), b"a:b", b"$(id)", b"`id`", b"~", b"..", b"...", b"*")  # fmt: skip
for name in names:
    attempt(repr(name), lambda name: open(name, "w").write("harmless"), name)
deep = "d/" * 300
attempt("deep", os.makedirs, deep)
here = os.getcwd()
for _ in range(200):
    os.makedirs("deeper", exist_ok=True)
    os.chdir("deeper")
attempt("file in the deep", lambda: open("file.txt", "w").write("harmless"))
os.chdir(here)
