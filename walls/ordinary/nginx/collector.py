"""A log collector that reads a fixed number of lines per second: PIPE LINES_PER_SECOND."""
import sys
import time

path, rate = sys.argv[1], float(sys.argv[2])
with open(path, "rb", buffering=0) as pipe:
    rest = b""
    while chunk := pipe.read(512):
        *lines, rest = (rest + chunk).split(b"\n")
        time.sleep(len(lines) / rate)
