import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Vert.x. With KEPT_MB, a cache of that size fills most of the heap, and each request replaces a
 * part of it; otherwise a request waits SLEEP_MS.
 */
public class Loop {
    private static final int SIZE = 1000;
    private static final List<byte[]> CACHE = new ArrayList<>();

    public static void main(String[] arguments) {
        String keptMb = System.getenv("KEPT_MB");
        int entries = keptMb == null ? 0 : Integer.parseInt(keptMb) * 1_000_000 / SIZE;
        for (int number = 0; number < entries; number++) {
            CACHE.add(new byte[SIZE]);
        }
        Vertx vertx = Vertx.vertx();
        vertx.createHttpServer(new HttpServerOptions())
                .requestHandler(request -> {
                    if (entries == 0) {
                        long sleepMs = Long.parseLong(System.getenv("SLEEP_MS"));
                        vertx.setTimer(sleepMs, timer -> request.response().end("waited\n"));
                        return;
                    }
                    for (int count = 0; count < 100; count++) {
                        int place = ThreadLocalRandom.current().nextInt(entries);
                        CACHE.set(place, new byte[SIZE]);
                    }
                    request.response().end("replaced\n");
                })
                .listen(Integer.parseInt(System.getenv("PORT")), "0.0.0.0");
    }
}
