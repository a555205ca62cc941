import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

/** Each request sleeps in one of a fixed number of threads. */
public class Pool {
    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(System.getenv("PORT"));
        int threads = Integer.parseInt(System.getenv("THREADS"));
        long sleepMs = Long.parseLong(System.getenv("SLEEP_MS"));
        HttpServer server = HttpServer.create(new InetSocketAddress(port), 1024);
        server.setExecutor(Executors.newFixedThreadPool(threads));
        server.createContext("/", exchange -> {
            try {
                Thread.sleep(sleepMs);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
            byte[] body = "slept\n".getBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }
}
