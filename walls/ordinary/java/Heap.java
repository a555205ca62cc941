import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;

/** A cache fills most of the heap, and each request replaces a part of it. */
public class Heap {
    private static final int SIZE = 1000;

    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(System.getenv("PORT"));
        int entries = Integer.parseInt(System.getenv("KEPT_MB")) * 1_000_000 / SIZE;
        List<byte[]> cache = new ArrayList<>(entries);
        for (int number = 0; number < entries; number++) {
            cache.add(new byte[SIZE]);
        }
        HttpServer server = HttpServer.create(new InetSocketAddress(port), 1024);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.createContext("/", exchange -> {
            for (int count = 0; count < 100; count++) {
                cache.set(ThreadLocalRandom.current().nextInt(entries), new byte[SIZE]);
            }
            byte[] body = "replaced\n".getBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }
}
