"""The scratch folder, by many files of which none is large."""
# scratch

from taking import MEGABYTE, endlessly, held

for number in endlessly():
    with open(f"file{number}", "wb") as file:
        file.write(MEGABYTE)
    held(number)
