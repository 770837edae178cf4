"""A warm interpreter is a copy of another one: nothing of its holder or of earlier runs may be left in its memory."""

from attacking import attempt, sys

wanted = b"CANA" + b"RY-"


def scan():
    found = []
    with open("/proc/self/maps") as table, open("/proc/self/mem", "rb", 0) as memory:
        for line in table:
            span, rights = line.split()[:2]
            begin, end = (int(word, 16) for word in span.split("-"))
            if "r" not in rights or "[v" in line or end - begin > 64 << 20:
                continue
            try:
                memory.seek(begin)
                piece = memory.read(end - begin)
            except (OSError, ValueError):
                continue
            at = piece.find(wanted)
            while at >= 0:
                found.append(piece[at : at + 48])
                at = piece.find(wanted, at + 1)
    return found


attempt("memory", scan)
attempt("modules", lambda: [name for name in sys.modules if "rightcall" in name and sys.modules[name].__dict__])
