"""Forty modules of the standard library."""

import importlib

NAMES = (
    "abc argparse array ast base64 bisect calendar cmath collections configparser contextlib copy csv dataclasses "
    "difflib email.message enum fnmatch functools graphlib gzip heapq html http.client inspect ipaddress itertools json "
    "locale logging mimetypes numbers operator pickle pprint queue random shlex socket sqlite3 ssl string struct "
    "subprocess tomllib traceback typing unittest urllib.parse uuid wave weakref xml.etree.ElementTree zipfile"
).split()
print(len([importlib.import_module(name) for name in NAMES]) >= 40)
# > True
