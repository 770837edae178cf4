"""Memory by way of files: /dev/shm, /tmp and the scratch folder are all kept there."""
# files

import time

from taking import MEGABYTE, held, os

total = 0
for folder in ("/dev/shm", "/tmp", "."):
    try:
        with open(f"{folder}/fill", "wb", buffering=0) as file:
            while total < 4096:
                if file.write(MEGABYTE) < len(MEGABYTE):
                    break
                total += 1
                held(total)
    except OSError as error:
        print(folder, error.strerror)
os.write(1, b"full\n")
time.sleep(60)
