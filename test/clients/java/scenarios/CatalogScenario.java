package scenarios;

import static java.util.Collections.nCopies;
import static scenarios.Steps.expect;
import static scenarios.Steps.expectFailure;
import static scenarios.Steps.step;

import java.util.List;
import org.apache.arrow.memory.RootAllocator;
import org.lance.namespace.client.apache.ApiClient;
import org.lance.namespace.client.apache.ApiException;
import org.lance.namespace.client.apache.api.DataApi;
import org.lance.namespace.client.apache.api.IndexApi;
import org.lance.namespace.client.apache.api.NamespaceApi;
import org.lance.namespace.client.apache.api.TableApi;
import org.lance.namespace.client.apache.api.TransactionApi;
import org.lance.namespace.model.*;
import scenarios.Steps.Action;

/**
 * Calls each group of operations with the generated client and its default models; the client for Python
 * calls every operation: CatalogScenario READER_KEY URL KEY. The first key may only read.
 */
final class CatalogScenario {
  private static final int REFUSED_BYTES = 40 << 20;

  private final ArrowRows rows = new ArrowRows(new RootAllocator());
  private final NamespaceApi namespaces;
  private final TableApi tables;
  private final DataApi data;
  private final IndexApi indexes;
  private final TransactionApi transactions;
  private final DataApi readerData;

  private CatalogScenario(ApiClient client, ApiClient reader) {
    namespaces = new NamespaceApi(client);
    tables = new TableApi(client);
    data = new DataApi(client);
    indexes = new IndexApi(client);
    transactions = new TransactionApi(client);
    readerData = new DataApi(reader);
  }

  public static void main(String[] parameters) {
    ApiClient reader = new ApiClient().setBasePath(parameters[1]).setApiKey(parameters[0]);
    ApiClient client = new ApiClient().setBasePath(parameters[1]).setApiKey(parameters[2]);
    CatalogScenario scenario = new CatalogScenario(client, reader);
    scenario.createNamespace();
    scenario.writeRows();
    scenario.queryRows();
    scenario.describe();
    scenario.useIndexes();
    scenario.changeTables();
    scenario.receiveErrors();
    scenario.drop();
  }

  private void createNamespace() {
    step(
        "create a namespace",
        () ->
            expect(
                namespaces
                    .createNamespace(
                        "demo", new CreateNamespaceRequest().putPropertiesItem("team", "a"), null)
                    .getProperties()
                    .get("team"),
                "a"));
  }

  private void writeRows() {
    step(
        "create a table by a stream",
        () ->
            tables.createTable(
                "demo$people", rows.stream(1, 3, "one dog"), null, "Create", null, null));
    step(
        "insert",
        () -> data.insertIntoTable("demo$people", rows.stream(4, 3, "one cat"), null, "append"));
    step("count", () -> expectCount(new CountTableRowsRequest(), 6));
    step(
        "merge",
        () ->
            expect(
                data.mergeInsertIntoTable(
                        "demo$people",
                        "id",
                        rows.stream(6, 2, "one fish"),
                        null,
                        true,
                        null,
                        true,
                        false,
                        null,
                        "30s",
                        false)
                    .getNumInsertedRows(),
                1L));
  }

  private void expectCount(CountTableRowsRequest request, long expected) throws ApiException {
    expect(data.countTableRows("demo$people", request, null), expected);
  }

  private static QueryTableRequest nearest(int k) {
    List<Float> vector = nCopies(ArrowRows.DIMENSIONS, 0.1f);
    return new QueryTableRequest()
        .vector(new QueryTableRequestVector().singleVector(vector))
        .vectorColumn("v")
        .k(k);
  }

  private static QueryTableRequestColumns columns(String... names) {
    return new QueryTableRequestColumns().columnNames(List.of(names));
  }

  private void expectRows(QueryTableRequest request, String expected) throws Exception {
    expect(rows.describeFile(data.queryTable("demo$people", request, null)), expected);
  }

  private void queryRows() {
    step("query by a vector", () -> expectRows(nearest(2), "id,text,v,_distance: 2"));
    step(
        "query by several vectors",
        () ->
            expectRows(
                nearest(2)
                    .columns(columns("id"))
                    .vector(
                        new QueryTableRequestVector()
                            .addMultiVectorItem(nCopies(ArrowRows.DIMENSIONS, 0.1f))
                            .addMultiVectorItem(nCopies(ArrowRows.DIMENSIONS, 0.7f))),
                "query_index,id,_distance: 4"));
    step(
        "query expressions",
        () ->
            expectRows(
                nearest(1)
                    .columns(
                        new QueryTableRequestColumns().putColumnAliasesItem("twice", "id * 2")),
                "twice,_distance: 1"));
    step(
        "query without a vector",
        () ->
            expectRows(
                new QueryTableRequest()
                    .vector(new QueryTableRequestVector())
                    .k(9)
                    .columns(columns("id"))
                    .filter("id > 4"),
                "id: 3"));
  }

  private void describe() {
    step(
        "describe with the flags of the query",
        () -> {
          DescribeTableResponse described =
              tables.describeTable(
                  "demo$people", new DescribeTableRequest(), null, true, true, true);
          expect(described.getSchema().getFields().size(), 3);
          expect(described.getTableUri() != null, true);
          expect(described.getIsOnlyDeclared(), false);
        });
  }

  private void useIndexes() {
    CreateTableIndexRequest text =
        new CreateTableIndexRequest().column("text").indexType("FTS").name("text_idx");
    step("create a text index", () -> indexes.createTableIndex("demo$people", text, null));
    MatchQuery match = new MatchQuery().column("text").terms("cat");
    StructuredFtsQuery cats = new StructuredFtsQuery().query(new FtsQuery().match(match));
    step(
        "search a text by a structured query",
        () ->
            expectRows(
                new QueryTableRequest()
                    .vector(new QueryTableRequestVector())
                    .fullTextQuery(new QueryTableRequestFullTextQuery().structuredQuery(cats))
                    .columns(columns("id"))
                    .k(9),
                "id,_score: 2"));
  }

  private void changeTables() {
    step(
        "commit several tables",
        () ->
            expect(
                transactions
                    .batchCommitTables(
                        new BatchCommitTablesRequest()
                            .addOperationsItem(declaring("one"))
                            .addOperationsItem(declaring("other")),
                        null)
                    .getResults()
                    .size(),
                2));
  }

  private static CommitTableOperation declaring(String table) {
    return new CommitTableOperation()
        .declareTable(new DeclareTableRequest().id(List.of("demo", table)));
  }

  private static void expectError(int status, int code, Action action) throws Exception {
    ApiException error = expectFailure(ApiException.class, action);
    expect(error.getCode(), status);
    String body = error.getResponseBody();
    if (body == null || !body.contains("\"code\":" + code)) {
      throw new AssertionError("expected the code " + code + ", found " + body);
    }
  }

  private void receiveErrors() {
    step(
        "a missing table is 404",
        () ->
            expectError(
                404,
                4,
                () ->
                    tables.describeTable(
                        "demo$missing", new DescribeTableRequest(), null, null, null, null)));
    step(
        "a denied upload of 40 MB is 403",
        () ->
            expectError(
                403,
                15,
                () ->
                    readerData.insertIntoTable(
                        "demo$people", new byte[REFUSED_BYTES], null, "append")));
  }

  private void drop() {
    step(
        "drop",
        () -> {
          for (String table : List.of("people", "one", "other")) {
            tables.dropTable("demo$" + table, null);
          }
          namespaces.dropNamespace("demo", new DropNamespaceRequest(), null);
        });
  }
}
