"""waitress with THREADS threads and an application that sleeps SLEEP_MS."""
import os
import time

import waitress

SLEEP_S = float(os.environ["SLEEP_MS"]) / 1000


def sleep(environ, start_response):
    time.sleep(SLEEP_S)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "6")])
    return [b"slept\n"]


waitress.serve(sleep, port=int(os.environ["PORT"]), threads=int(os.environ["THREADS"]))
