"""Sleeps SLEEP_MS in each request."""
import os
import time

SLEEP_S = float(os.environ["SLEEP_MS"]) / 1000


def application(environ, start_response):
    time.sleep(SLEEP_S)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "6")])
    return [b"slept\n"]
