package scenarios;

import static scenarios.Steps.expect;
import static scenarios.Steps.expectFailure;
import static scenarios.Steps.step;

import java.util.Map;
import org.apache.spark.sql.SparkSession;

/** A token with Spark, over TLS: SparkCredentialsScenario CA_FILE URL TOKEN. */
final class SparkCredentialsScenario {
  public static void main(String[] parameters) {
    SparkSession.Builder builder = SparkSessions.newBuilder();
    addCatalog(builder, "lake", parameters, "");
    addCatalog(builder, "forged", parameters, "x");
    SparkSession session = builder.getOrCreate();
    step("create a namespace with a token", () -> session.sql("CREATE NAMESPACE lake.token"));
    step(
        "list namespaces with a token",
        () ->
            expect(session.sql("SHOW NAMESPACES IN lake").collectAsList().toString(), "[[token]]"));
    step(
        "a forged token is 401",
        () -> {
          Exception error =
              expectFailure(
                  Exception.class,
                  () -> session.sql("SHOW TABLES IN forged.token").collectAsList());
          expect(error.toString().contains("401"), true);
        });
    session.stop();
  }

  private static void addCatalog(
      SparkSession.Builder builder, String name, String[] parameters, String suffix) {
    Map<String, String> settings =
        Map.of(
            "tls.ssl_ca_cert",
            parameters[0],
            "headers.Authorization",
            "Bearer " + parameters[2] + suffix);
    SparkSessions.addCatalog(builder, name, parameters[1], settings);
  }
}
