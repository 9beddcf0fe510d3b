package scenarios;

import static scenarios.Steps.expect;
import static scenarios.Steps.expectFailure;
import static scenarios.Steps.step;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;

/**
 * What a user does with Spark, first as a writer, then as a reader: SparkScenario READER_KEY URL
 * KEY. The first key may only read.
 */
final class SparkScenario {
  private final SparkSession session;

  private SparkScenario(SparkSession session) {
    this.session = session;
  }

  public static void main(String[] parameters) {
    SparkSession.Builder builder = SparkSessions.newBuilder();
    SparkSessions.addCatalog(
        builder, "writer", parameters[1], Map.of("headers.x-api-key", parameters[2]));
    SparkSessions.addCatalog(
        builder, "reader", parameters[1], Map.of("headers.x-api-key", parameters[0]));
    SparkScenario scenario = new SparkScenario(builder.getOrCreate());
    scenario.write();
    scenario.createFromQueries();
    scenario.maintain();
    scenario.read();
    scenario.drop();
    scenario.session.stop();
  }

  private List<?> run(String statement) {
    return session.sql(statement).collectAsList();
  }

  private void expectRows(String query, String rows) {
    expect(run(query).toString(), rows);
  }

  private void write() {
    step("create a namespace", () -> run("CREATE NAMESPACE writer.demo"));
    step(
        "create a table",
        () -> run("CREATE TABLE writer.demo.people (id BIGINT NOT NULL, name STRING, age INT)"));
    step(
        "insert",
        () -> run("INSERT INTO writer.demo.people VALUES (1, 'ann', 30), (2, 'bob', 40)"));
    step("insert again", () -> run("INSERT INTO writer.demo.people VALUES (3, 'cyd', 50)"));
    step(
        "select",
        () ->
            expectRows(
                "SELECT id, name FROM writer.demo.people WHERE age > 35 ORDER BY id",
                "[[2,bob], [3,cyd]]"));
    step("update", () -> run("UPDATE writer.demo.people SET age = age + 1 WHERE id = 1"));
    step("delete", () -> run("DELETE FROM writer.demo.people WHERE id = 2"));
    step(
        "merge",
        () ->
            run(
                "MERGE INTO writer.demo.people t USING"
                    + " (SELECT 3L AS id, 'eve' AS name, 20 AS age UNION SELECT 4L, 'fay', 21) s"
                    + " ON t.id = s.id"
                    + " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"));
    step(
        "select what is left",
        () ->
            expectRows(
                "SELECT * FROM writer.demo.people ORDER BY id",
                "[[1,ann,31], [3,eve,20], [4,fay,21]]"));
  }

  private void createFromQueries() {
    step(
        "create a table from a query",
        () -> run("CREATE TABLE writer.demo.names AS SELECT name FROM writer.demo.people"));
    step(
        "replace it",
        () ->
            run(
                "CREATE OR REPLACE TABLE writer.demo.names AS"
                    + " SELECT name FROM writer.demo.people WHERE id > 1"));
    step(
        "select from it",
        () -> expectRows("SELECT name FROM writer.demo.names ORDER BY name", "[[eve], [fay]]"));
  }

  private void maintain() {
    step(
        "create an index",
        () -> run("ALTER TABLE writer.demo.people CREATE INDEX age_idx USING btree (age)"));
    step("optimize", () -> run("OPTIMIZE writer.demo.people"));
    step("overwrite", () -> run("INSERT OVERWRITE writer.demo.people VALUES (9, 'zoe', 1)"));
    step("vacuum", () -> run("VACUUM writer.demo.people WITH (before_version = 5)"));
    step(
        "a version that was vacuumed is gone",
        () ->
            expectFailure(
                Exception.class,
                () -> run("SELECT count(*) FROM writer.demo.people VERSION AS OF 3")));
  }

  private void read() {
    step("a reader lists namespaces", () -> expectRows("SHOW NAMESPACES IN reader", "[[demo]]"));
    step(
        "a reader lists tables",
        () ->
            expectRows("SHOW TABLES IN reader.demo", "[[demo,names,false], [demo,people,false]]"));
    step("a reader selects", () -> expectRows("SELECT id FROM reader.demo.people", "[[9]]"));
    step(
        "a reader selects an old version",
        () -> expectRows("SELECT count(*) FROM reader.demo.people VERSION AS OF 6", "[[3]]"));
    step(
        "a reader may not create a table",
        () -> {
          Exception error =
              expectFailure(
                  Exception.class, () -> run("CREATE TABLE reader.demo.mine (id BIGINT)"));
          expect(error.toString().contains("you are not allowed DeclareTable"), true);
        });
    step(
        "a reader drops a table without effect",
        () -> {
          run("DROP TABLE reader.demo.people");
          expectRows("SELECT id FROM reader.demo.people", "[[9]]");
        });
  }

  private void drop() {
    step(
        "drop",
        () -> {
          run("DROP TABLE writer.demo.names");
          run("DROP TABLE writer.demo.people");
          run("DROP NAMESPACE writer.demo");
        });
  }
}
