package scenarios;

import static scenarios.Steps.expect;
import static scenarios.Steps.step;

import java.util.Map;
import org.apache.spark.sql.SparkSession;

/** A token with Spark, over TLS: SparkCredentialsScenario CA_FILE URL TOKEN. */
final class SparkCredentialsScenario {
  public static void main(String[] parameters) {
    SparkSession.Builder builder = SparkSessions.newBuilder();
    Map<String, String> settings =
        Map.of(
            "tls.ssl_ca_cert", parameters[0], "headers.Authorization", "Bearer " + parameters[2]);
    SparkSessions.addCatalog(builder, "lake", parameters[1], settings);
    SparkSession session = builder.getOrCreate();
    step("create a namespace with a token", () -> session.sql("CREATE NAMESPACE lake.token"));
    step(
        "list namespaces with a token",
        () ->
            expect(session.sql("SHOW NAMESPACES IN lake").collectAsList().toString(), "[[token]]"));
    session.stop();
  }
}
