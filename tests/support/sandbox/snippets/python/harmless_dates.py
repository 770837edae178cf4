"""Dates with time zones, from the system's own tables."""

import datetime
import time
import zoneinfo

noon = datetime.datetime(2024, 7, 1, 12, 0, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
print(noon.isoformat(), noon.astimezone(datetime.UTC).isoformat())
print((datetime.date(2024, 3, 1) - datetime.date(2024, 2, 1)).days, time.strftime("%Y", time.gmtime(0)))
# > 2024-07-01T12:00:00+02:00 2024-07-01T10:00:00+00:00
# > 29 1970
