"""aiohttp. LIMIT: semaphore, SLOTS requests wait SLEEP_MS at once; sockets, SLOTS connections to
DOWNSTREAM; none, each request waits SLEEP_MS."""
import asyncio
import os

from aiohttp import ClientSession, TCPConnector, web

LIMIT = os.environ["LIMIT"]
SLOTS = int(os.environ.get("SLOTS", "1"))
SLEEP_S = float(os.environ.get("SLEEP_MS", "0")) / 1000
semaphore = asyncio.Semaphore(SLOTS)


async def wait_for_a_slot(request):
    async with semaphore:
        await asyncio.sleep(SLEEP_S)
    return web.Response(text="waited\n")


async def wait(request):
    await asyncio.sleep(SLEEP_S)
    return web.Response(text="waited\n")


async def ask(request):
    async with request.app["session"].get(f"http://{os.environ['DOWNSTREAM']}/") as response:
        return web.Response(body=await response.read())


async def session(app):
    async with ClientSession(connector=TCPConnector(limit=SLOTS)) as app["session"]:
        yield


app = web.Application()
app.cleanup_ctx.append(session)
app.router.add_get("/", {"semaphore": wait_for_a_slot, "sockets": ask, "none": wait}[LIMIT])
web.run_app(app, port=int(os.environ["PORT"]), access_log=None, print=None)
