"""A result that is a file and a link in turn, by a process that goes on after the program has ended."""

from attacking import os, outside

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(20_000):
            name = f"next{number % 2}"
            if number % 2:
                os.symlink(outside["secret"], name)
            else:
                open(name, "w").write("harmless")
            os.replace(name, "result.txt")
    os._exit(0)
while not os.path.lexists("result.txt"):
    pass
