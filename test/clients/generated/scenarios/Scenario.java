package catalog;

import catalog.api.NamespaceApi;
import catalog.api.TableApi;
import catalog.model.*;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/** What a user does with a generated Java client: Scenario ARROW_FILE URL KEY */
public class Scenario {
  interface Action {
    void run() throws Exception;
  }

  static void step(String name, Action action) {
    try {
      action.run();
      System.out.println("ok " + name);
    } catch (Exception error) {
      System.out.println("failed " + name + ": " + error.toString().replace('\n', ' '));
    }
  }

  static void expect(Object found, Object expected) {
    if (!Objects.equals(found, expected))
      throw new IllegalStateException("expected " + expected + ", found " + found);
  }

  public static void main(String[] arguments) throws Exception {
    byte[] rows = Files.readAllBytes(Path.of(arguments[0]));
    ApiClient client = new ApiClient();
    client.setBasePath(arguments[1]);
    client.setApiKey(arguments[2]);
    NamespaceApi namespaces = new NamespaceApi(client);
    TableApi tables = new TableApi(client);
    String id = "java$people";

    step("create a namespace", () -> namespaces.createNamespace("java", new CreateNamespaceRequest(), null));
    step("create a table", () -> tables.createTable(id, rows, null, null, null, null, null, null));
    step(
        "insert",
        () -> expect(tables.insertIntoTable(id, rows, null, null, null).getNumInsertedRows(), 3L));
    step("count", () -> expect(tables.countTableRows(id, new CountTableRowsRequest(), null), 6L));
    step(
        "describe",
        () -> {
          DescribeTableRequest detailed = new DescribeTableRequest().loadDetailedMetadata(true);
          expect(tables.describeTable(id, detailed, null, null, null, null).getVersion(), 2L);
        });
    step(
        "query",
        () -> {
          QueryTableRequest query =
              new QueryTableRequest()
                  .k(3L)
                  .vector(new QueryTableRequestVector().singleVector(List.of(0.1f, 0.2f)))
                  .columns(new QueryTableRequestColumns().columnNames(List.of("id")));
          expect(new String(tables.queryTable(id, query, null), 0, 6), "ARROW1");
        });
    step(
        "update",
        () -> {
          UpdateTableRequest update =
              new UpdateTableRequest().predicate("id = 1").updates(List.of(List.of("id", "id + 10")));
          expect(tables.updateTable(id, update, null).getUpdatedRows(), 2L);
        });
    step(
        "add a column",
        () -> {
          AddColumnsEntry column = new AddColumnsEntry().name("twice").expression("id * 2");
          AlterTableAddColumnsRequest added =
              new AlterTableAddColumnsRequest().newColumns(List.of(column));
          expect(tables.alterTableAddColumns(id, added, null).getVersion(), 4L);
        });
    step(
        "list versions",
        () -> {
          List<TableVersion> versions =
              tables.listTableVersions(id, null, null, null, null, null).getVersions();
          expect(versions.get(0).getTimestampMillis() > 1L << 40, true);
        });
    step(
        "list tables",
        () ->
            expect(namespaces.listTables("java", null, null, 1, null).getTables(), List.of("people")));
    step(
        "an error has its code",
        () -> {
          try {
            tables.describeTable("java$missing", new DescribeTableRequest(), null, null, null, null);
          } catch (ApiException error) {
            expect(error.getCode(), 404);
            expect(error.getResponseBody().contains("\"code\":4"), true);
            return;
          }
          throw new IllegalStateException("expected an error");
        });
    step("drop the table", () -> tables.dropTable(id, null));
    step("drop the namespace", () -> namespaces.dropNamespace("java", new DropNamespaceRequest(), null));
  }
}
