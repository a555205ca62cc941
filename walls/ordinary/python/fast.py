"""FastAPI: `threads` has a handler that a pool of THREADS threads runs, `blocked` one that blocks
the event loop. Both sleep SLEEP_MS."""
import os
import time

import anyio.to_thread
from fastapi import FastAPI

SLEEP_S = float(os.environ["SLEEP_MS"]) / 1000
threads = FastAPI()
blocked = FastAPI()


@threads.on_event("startup")
async def size_the_pool():
    limiter = anyio.to_thread.current_default_thread_limiter()
    limiter.total_tokens = int(os.environ["THREADS"])


@threads.get("/")
def sleep_in_a_thread():
    time.sleep(SLEEP_S)
    return "slept"


@blocked.get("/")
async def sleep_in_the_loop():
    time.sleep(SLEEP_S)
    return "slept"
