import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** Tomcat with one servlet that sleeps. */
public class Main {
    private static final long SLEEP_MS = Long.parseLong(System.getenv("SLEEP_MS"));

    static class Sleeping extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response)
                throws IOException {
            try {
                Thread.sleep(SLEEP_MS);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
            response.getWriter().println("slept");
        }
    }

    public static void main(String[] arguments) throws Exception {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(System.getenv("DIR"));
        tomcat.setPort(Integer.parseInt(System.getenv("PORT")));
        var connector = tomcat.getConnector();
        connector.setProperty("maxThreads", System.getenv("THREADS"));
        connector.setProperty("minSpareThreads", System.getenv("THREADS"));
        connector.setProperty("acceptCount", System.getenv("ACCEPT"));
        connector.setProperty("maxConnections", System.getenv("CONNECTIONS"));
        Context context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "sleeping", new Sleeping());
        context.addServletMappingDecoded("/", "sleeping");
        tomcat.start();
        tomcat.getServer().await();
    }
}
