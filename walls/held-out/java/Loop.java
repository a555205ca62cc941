import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Vert.x. With KEPT_MB, a cache of that size fills most of the heap, and each request replaces a
 * part of it; otherwise a request waits SLEEP_MS, and one of ODD_EACH at random ODD_MS. With
 * RESETS, a connection of HTTP/2 ends when its client cancels more streams than that within 30 s.
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
        HttpServerOptions options = new HttpServerOptions();
        String resets = System.getenv("RESETS");
        if (resets != null) {
            options.setHttp2RstFloodMaxRstFramePerWindow(Integer.parseInt(resets));
        }
        String each = System.getenv("ODD_EACH");
        int oddEach = each == null ? Integer.MAX_VALUE : Integer.parseInt(each);
        vertx.createHttpServer(options)
                .requestHandler(request -> {
                    if (entries == 0) {
                        boolean isOdd = each != null
                                && ThreadLocalRandom.current().nextInt(oddEach) == 0;
                        long sleepMs = Long.parseLong(System.getenv(isOdd ? "ODD_MS" : "SLEEP_MS"));
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
