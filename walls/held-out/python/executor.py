"""Tornado, whose handler sleeps SLEEP_MS in an executor of THREADS threads."""
import asyncio
import os
import time
from concurrent.futures import ThreadPoolExecutor

from tornado.ioloop import IOLoop
from tornado.web import Application, RequestHandler

SLEEP_S = float(os.environ["SLEEP_MS"]) / 1000
executor = ThreadPoolExecutor(int(os.environ["THREADS"]))


class Sleep(RequestHandler):
    async def get(self):
        await IOLoop.current().run_in_executor(executor, time.sleep, SLEEP_S)
        self.write("slept\n")


async def main():
    Application([("/", Sleep)], log_function=lambda handler: None).listen(int(os.environ["PORT"]))
    await asyncio.Event().wait()


asyncio.run(main())
