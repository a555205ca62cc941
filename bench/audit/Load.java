// New users at a constant rate, one request each, over shared connections.
import static io.gatling.javaapi.core.CoreDsl.constantUsersPerSec;
import static io.gatling.javaapi.core.CoreDsl.scenario;
import static io.gatling.javaapi.http.HttpDsl.http;

import io.gatling.javaapi.core.Simulation;

public class Load extends Simulation {
  {
    double rate = Double.parseDouble(System.getProperty("RATE"));
    int seconds = Integer.parseInt(System.getProperty("SECONDS"));
    setUp(scenario("load").exec(http("get").get(System.getProperty("TARGET")))
        .injectOpen(constantUsersPerSec(rate).during(seconds)))
        .protocols(http.shareConnections());
  }
}
