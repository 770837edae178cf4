"""Data in, figures out."""

import csv
import io
import json
import statistics

rows = list(csv.DictReader(io.StringIO("name,points\nAda,7\nBo,9\nCy,14\n")))
points = [int(row["points"]) for row in rows]
print(json.dumps({"mean": statistics.mean(points), "median": statistics.median(points)}, sort_keys=True))
print(round(statistics.stdev(points), 4))
# > {"mean": 10, "median": 9}
# > 3.6056
