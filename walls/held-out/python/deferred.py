"""Twisted, with a DeferredLock that is held while a request waits SLEEP_MS."""
import os

from twisted.internet import reactor
from twisted.internet.defer import DeferredLock
from twisted.internet.task import deferLater
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site

SLEEP_S = float(os.environ["SLEEP_MS"]) / 1000
lock = DeferredLock()


class Wait(Resource):
    isLeaf = True

    def render_GET(self, request):
        def answer(ignored):
            request.write(b"waited\n")
            request.finish()

        request.setHeader(b"content-length", b"7")
        lock.run(deferLater, reactor, SLEEP_S, lambda: None).addCallback(answer)
        return NOT_DONE_YET


reactor.listenTCP(int(os.environ["PORT"]), Site(Wait()))
reactor.run()
