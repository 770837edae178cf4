"""Databases, in memory and in a file."""

import sqlite3

for place in (":memory:", "data.db"):
    base = sqlite3.connect(place)
    base.execute("create table pets (name text, legs integer)")
    base.executemany("insert into pets values (?, ?)", [("cat", 4), ("bird", 2), ("fish", 0)])
    base.commit()
    print(base.execute("select sum(legs), group_concat(name, '+') from pets where legs > 0").fetchone())
    base.close()
base = sqlite3.connect("data.db")
base.execute("pragma journal_mode = wal")
print(base.execute("select count(*) from pets").fetchone()[0])
# > (6, 'cat+bird')
# > (6, 'cat+bird')
# > 3
# file data.db
