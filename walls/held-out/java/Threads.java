import io.undertow.Undertow;
import io.undertow.server.HttpHandler;
import io.undertow.server.handlers.BlockingHandler;
import io.undertow.server.handlers.RequestLimit;
import io.undertow.server.handlers.RequestLimitingHandler;
import io.undertow.server.handlers.ResponseCodeHandler;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Undertow, whose requests sleep SLEEP_MS. LIMIT: workers, in one of THREADS worker threads;
 * requests, at most SLOTS at once, and others get 503; pinned, in a virtual thread that keeps its
 * carrier; lock, in a virtual thread that holds a lock.
 */
public class Threads {
    private static final long SLEEP_MS = Long.parseLong(System.getenv("SLEEP_MS"));
    private static final ReentrantLock LOCK = new ReentrantLock();

    public static void main(String[] arguments) throws Exception {
        Undertow.Builder builder = Undertow.builder()
                .addHttpListener(Integer.parseInt(System.getenv("PORT")), "0.0.0.0")
                .setIoThreads(1)
                .setWorkerThreads(number("THREADS", 64));
        builder.setHandler(handler(System.getenv("LIMIT"))).build().start();
    }

    private static HttpHandler handler(String limit) throws Exception {
        HttpHandler sleeping = answer(() -> Thread.sleep(SLEEP_MS));
        switch (limit) {
            case "workers":
                return new BlockingHandler(sleeping);
            case "requests":
                RequestLimit slots = new RequestLimit(number("SLOTS", 1), 0);
                slots.setFailureHandler(new ResponseCodeHandler(503));
                return new RequestLimitingHandler(slots, new BlockingHandler(sleeping));
            case "pinned":
                return virtual(answer(Threads::sleepPinned));
            case "lock":
                return virtual(answer(Threads::sleepLocked));
            default:
                throw new IllegalArgumentException(limit);
        }
    }

    private interface Work {
        void run() throws InterruptedException;
    }

    private static HttpHandler answer(Work work) {
        return exchange -> {
            work.run();
            exchange.getResponseSender().send("slept\n");
        };
    }

    /** Each request has a monitor of its own, so that only the carrier is kept. */
    private static void sleepPinned() throws InterruptedException {
        synchronized (new Object()) {
            Thread.sleep(SLEEP_MS);
        }
    }

    private static void sleepLocked() throws InterruptedException {
        LOCK.lock();
        try {
            Thread.sleep(SLEEP_MS);
        } finally {
            LOCK.unlock();
        }
    }

    /** The compiler may be older than virtual threads. */
    private static HttpHandler virtual(HttpHandler handler) throws Exception {
        Executor threads = (Executor)
                Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        return exchange -> exchange.dispatch(threads, handler);
    }

    private static int number(String name, int otherwise) {
        String value = System.getenv(name);
        return value == null ? otherwise : Integer.parseInt(value);
    }
}
