"""Flask: `sync` sleeps SLEEP_MS, `gil` computes ROUNDS, `commit` commits to SQLite,
`read` reads from a random place in a file of FILE_MB."""
import os
import random
import sqlite3
import threading
import time

from flask import Flask

sync = Flask("sync")
gil = Flask("gil")
commit = Flask("commit")
read = Flask("read")
here = threading.local()


@sync.get("/")
def sleep():
    time.sleep(float(os.environ["SLEEP_MS"]) / 1000)
    return "slept"


@gil.get("/")
def compute():
    return str(sum(number * number for number in range(int(os.environ["ROUNDS"]))))


@commit.get("/")
def insert():
    if not hasattr(here, "database"):
        here.database = sqlite3.connect("events.db", timeout=60, isolation_level=None)
        here.database.execute("PRAGMA journal_mode = WAL")
        here.database.execute("PRAGMA synchronous = FULL")
        here.database.execute("CREATE TABLE IF NOT EXISTS events (at REAL)")
    here.database.execute("INSERT INTO events VALUES (?)", (time.time(),))
    return "stored"


@read.get("/")
def read_somewhere():
    if not hasattr(here, "file"):
        here.file = os.open("data", os.O_RDONLY)
    place = random.randrange(int(os.environ["FILE_MB"]) * 16 - 4) << 16
    return str(len(os.pread(here.file, 1 << 18, place)))
