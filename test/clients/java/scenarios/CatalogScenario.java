package scenarios;

import static java.util.Collections.nCopies;
import static scenarios.Steps.expect;
import static scenarios.Steps.expectFailure;
import static scenarios.Steps.step;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.arrow.memory.RootAllocator;
import org.lance.namespace.client.apache.ApiClient;
import org.lance.namespace.client.apache.ApiException;
import org.lance.namespace.client.apache.api.DataApi;
import org.lance.namespace.client.apache.api.IndexApi;
import org.lance.namespace.client.apache.api.MetadataApi;
import org.lance.namespace.client.apache.api.NamespaceApi;
import org.lance.namespace.client.apache.api.TableApi;
import org.lance.namespace.client.apache.api.TagApi;
import org.lance.namespace.client.apache.api.TransactionApi;
import org.lance.namespace.model.*;
import scenarios.Steps.Action;

/**
 * Calls every group of operations with the generated client and its default models: CatalogScenario
 * READER_KEY URL KEY. The first key may only read.
 */
final class CatalogScenario {
  private static final int REFUSED_BYTES = 40 << 20;

  private final ArrowRows rows = new ArrowRows(new RootAllocator());
  private final NamespaceApi namespaces;
  private final TableApi tables;
  private final DataApi data;
  private final IndexApi indexes;
  private final TagApi tags;
  private final MetadataApi metadata;
  private final TransactionApi transactions;
  private final DataApi readerData;

  private CatalogScenario(ApiClient client, ApiClient reader) {
    namespaces = new NamespaceApi(client);
    tables = new TableApi(client);
    data = new DataApi(client);
    indexes = new IndexApi(client);
    tags = new TagApi(client);
    metadata = new MetadataApi(client);
    transactions = new TransactionApi(client);
    readerData = new DataApi(reader);
  }

  public static void main(String[] parameters) {
    ApiClient reader = new ApiClient().setBasePath(parameters[1]).setApiKey(parameters[0]);
    ApiClient client = new ApiClient().setBasePath(parameters[1]).setApiKey(parameters[2]);
    CatalogScenario scenario = new CatalogScenario(client, reader);
    scenario.useNamespaces();
    scenario.writeRows();
    scenario.queryRows();
    scenario.changeColumns();
    scenario.describe();
    scenario.useVersionsAndTags();
    scenario.useIndexes();
    scenario.changeTables();
    scenario.commitBatches();
    scenario.useTransactions();
    scenario.list();
    scenario.receiveErrors();
    scenario.drop();
  }

  private void useNamespaces() {
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
    step(
        "create a namespace in it",
        () -> namespaces.createNamespace("demo$more", new CreateNamespaceRequest(), null));
    step(
        "describe the namespace",
        () ->
            expect(
                namespaces
                    .describeNamespace("demo", new DescribeNamespaceRequest(), null)
                    .getProperties()
                    .get("team"),
                "a"));
    step(
        "ask for the namespace",
        () -> namespaces.namespaceExists("demo", new NamespaceExistsRequest(), null));
    step(
        "list namespaces",
        () ->
            expect(
                namespaces.listNamespaces("demo", null, null, null).getNamespaces(),
                Set.of("more")));
    step(
        "drop the namespace in it",
        () -> namespaces.dropNamespace("demo$more", new DropNamespaceRequest(), null));
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
        "count with a predicate",
        () -> expectCount(new CountTableRowsRequest().predicate("id > 4"), 2));
    step(
        "update",
        () ->
            expect(
                data.updateTable(
                        "demo$people",
                        new UpdateTableRequest()
                            .predicate("id = 6")
                            .addUpdatesItem(List.of("text", "'one bird'")),
                        null)
                    .getUpdatedRows(),
                1L));
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
    step(
        "delete",
        () ->
            data.deleteFromTable(
                "demo$people", new DeleteFromTableRequest().predicate("id = 5"), null));
    step("count what is left", () -> expectCount(new CountTableRowsRequest(), 6));
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
        "query columns with a filter",
        () ->
            expectRows(
                nearest(9).columns(columns("id", "text")).filter("id < 3"),
                "id,text,_distance: 2"));
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
                    .filter("id > 3"),
                "id: 3"));
    step(
        "explain a query",
        () ->
            expectPlan(
                data.explainTableQueryPlan(
                    "demo$people",
                    new ExplainTableQueryPlanRequest()
                        .query(nearest(2).columns(columns("id")))
                        .verbose(true),
                    null)));
    step(
        "analyze a query",
        () ->
            expectPlan(
                data.analyzeTableQueryPlan(
                    "demo$people",
                    new AnalyzeTableQueryPlanRequest()
                        .vector(nearest(2).getVector())
                        .vectorColumn("v")
                        .columns(columns("id"))
                        .k(2),
                    null)));
  }

  private static void expectPlan(String plan) {
    if (!plan.contains("KNN")) throw new AssertionError("not a plan of a vector search: " + plan);
  }

  private void changeColumns() {
    step(
        "add a column",
        () ->
            tables.alterTableAddColumns(
                "demo$people",
                new AlterTableAddColumnsRequest()
                    .addNewColumnsItem(new AddColumnsEntry().name("twice").expression("id * 2")),
                null));
    step(
        "rename the column",
        () ->
            tables.alterTableAlterColumns(
                "demo$people",
                new AlterTableAlterColumnsRequest()
                    .addAlterationsItem(new AlterColumnsEntry().path("twice").rename("double")),
                null));
    step(
        "query the column",
        () ->
            expectRows(
                new QueryTableRequest()
                    .vector(new QueryTableRequestVector())
                    .columns(columns("double"))
                    .k(1),
                "double: 1"));
    step(
        "drop the column",
        () ->
            tables.alterTableDropColumns(
                "demo$people", new AlterTableDropColumnsRequest().addColumnsItem("double"), null));
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
    step(
        "describe a version",
        () ->
            expect(
                tables
                    .describeTable(
                        "demo$people",
                        new DescribeTableRequest().version(1L),
                        null,
                        null,
                        true,
                        null)
                    .getVersion(),
                1L));
    step(
        "ask for the table",
        () -> tables.tableExists("demo$people", new TableExistsRequest(), null));
    step(
        "statistics",
        () ->
            expect(
                tables.getTableStats("demo$people", new GetTableStatsRequest(), null).getNumRows(),
                6L));
  }

  private void useVersionsAndTags() {
    step(
        "list versions",
        () -> {
          List<TableVersion> newest =
              tables.listTableVersions("demo$people", null, null, 2, true).getVersions();
          expect(newest.size(), 2);
          expect(newest.get(0).getVersion() > newest.get(1).getVersion(), true);
        });
    step(
        "describe a table version",
        () ->
            expect(
                tables
                    .describeTableVersion(
                        "demo$people", new DescribeTableVersionRequest().version(2L), null)
                    .getVersion()
                    .getVersion(),
                2L));
    step("count in a version", () -> expectCount(new CountTableRowsRequest().version(1L), 3));
    step(
        "create a tag",
        () ->
            tags.createTableTag(
                "demo$people", new CreateTableTagRequest().tag("first").version(1L), null));
    step(
        "move the tag",
        () ->
            tags.updateTableTag(
                "demo$people", new UpdateTableTagRequest().tag("first").version(2L), null));
    step(
        "version of the tag",
        () ->
            expect(
                tags.getTableTagVersion(
                        "demo$people", new GetTableTagVersionRequest().tag("first"), null)
                    .getVersion(),
                2L));
    step(
        "list tags",
        () ->
            expect(
                tags.listTableTags("demo$people", null, null, null).getTags().keySet(),
                Set.of("first")));
    step(
        "delete the tag",
        () -> tags.deleteTableTag("demo$people", new DeleteTableTagRequest().tag("first"), null));
    step(
        "restore a version",
        () -> {
          tables.restoreTable("demo$people", new RestoreTableRequest().version(2L), null);
          expectCount(new CountTableRowsRequest(), 6);
        });
  }

  private void useIndexes() {
    CreateTableIndexRequest scalar =
        new CreateTableIndexRequest().column("id").indexType("BTREE").name("id_idx");
    CreateTableIndexRequest text =
        new CreateTableIndexRequest().column("text").indexType("FTS").name("text_idx");
    step(
        "create a scalar index", () -> indexes.createTableScalarIndex("demo$people", scalar, null));
    step("create a text index", () -> indexes.createTableIndex("demo$people", text, null));
    step(
        "create the indexes again",
        () -> {
          indexes.createTableScalarIndex("demo$people", scalar, null);
          indexes.createTableIndex("demo$people", text, null);
        });
    step(
        "list indexes",
        () ->
            expect(
                indexes
                    .listTableIndices("demo$people", new ListTableIndicesRequest(), null)
                    .getIndexes()
                    .stream()
                    .map(IndexContent::getIndexName)
                    .sorted()
                    .toList(),
                List.of("id_idx", "text_idx")));
    step(
        "statistics of an index",
        () ->
            expect(
                indexes
                    .describeTableIndexStats(
                        "demo$people", "id_idx", new DescribeTableIndexStatsRequest(), null)
                    .getNumIndexedRows(),
                6L));
    step(
        "search a text",
        () ->
            expectRows(
                search(
                    new QueryTableRequestFullTextQuery()
                        .stringQuery(new StringFtsQuery().query("dog").addColumnsItem("text"))),
                "id,_score: 3"));
    step(
        "search a text by a structured query",
        () ->
            expectRows(
                search(
                    new QueryTableRequestFullTextQuery()
                        .structuredQuery(
                            new StructuredFtsQuery()
                                .query(
                                    new FtsQuery()
                                        .match(new MatchQuery().column("text").terms("cat"))))),
                "id,_score: 3"));
    step("drop an index", () -> indexes.dropTableIndex("demo$people", "text_idx", null));
  }

  private static QueryTableRequest search(QueryTableRequestFullTextQuery text) {
    return new QueryTableRequest()
        .vector(new QueryTableRequestVector())
        .fullTextQuery(text)
        .columns(columns("id"))
        .k(9);
  }

  private void changeTables() {
    step(
        "declare a table",
        () ->
            tables.declareTable(
                "demo$declared", new DeclareTableRequest().putPropertiesItem("a", "b"), null));
    step(
        "deregister a table",
        () -> tables.deregisterTable("demo$declared", new DeregisterTableRequest(), null));
    step(
        "rename a table",
        () -> {
          tables.renameTable(
              "demo$people",
              new RenameTableRequest().newTableName("persons").addNewNamespaceIdItem("demo"),
              null);
          tables.renameTable(
              "demo$persons",
              new RenameTableRequest().newTableName("people").addNewNamespaceIdItem("demo"),
              null);
        });
  }

  private void commitBatches() {
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
    step(
        "commit several kinds of changes",
        () ->
            transactions.batchCommitTables(
                new BatchCommitTablesRequest()
                    .addOperationsItem(
                        new CommitTableOperation()
                            .deregisterTable(
                                new DeregisterTableRequest().id(List.of("demo", "one"))))
                    .addOperationsItem(
                        new CommitTableOperation()
                            .deleteTableVersions(
                                new BatchDeleteTableVersionsRequest()
                                    .id(List.of("demo", "people"))
                                    .addRangesItem(
                                        new VersionRange().startVersion(1L).endVersion(2L)))),
                null));
    step(
        "delete versions",
        () ->
            expect(
                tables
                    .batchDeleteTableVersions(
                        "demo$people",
                        new BatchDeleteTableVersionsRequest()
                            .addRangesItem(new VersionRange().startVersion(3L).endVersion(4L)),
                        null)
                    .getDeletedCount(),
                1L));
    step(
        "refuse versions without manifests",
        () ->
            expectError(
                404,
                4,
                () ->
                    tables.batchCreateTableVersions(
                        new BatchCreateTableVersionsRequest()
                            .addEntriesItem(
                                new CreateTableVersionEntry()
                                    .id(List.of("demo", "missing"))
                                    .version(2L)
                                    .manifestPath("missing.lance/_versions/2.manifest-1")),
                        null)));
  }

  private static CommitTableOperation declaring(String table) {
    return new CommitTableOperation()
        .declareTable(new DeclareTableRequest().id(List.of("demo", table)));
  }

  private void useTransactions() {
    step(
        "describe a transaction",
        () ->
            expect(
                transactions
                    .describeTransaction(
                        newestTransaction(), new DescribeTransactionRequest(), null)
                    .getStatus()
                    .toLowerCase(),
                "succeeded"));
    step(
        "change a transaction: unsupported",
        () ->
            expectError(
                406,
                0,
                () ->
                    transactions.alterTransaction(
                        newestTransaction(),
                        new AlterTransactionRequest()
                            .addActionsItem(
                                new AlterTransactionAction()
                                    .setPropertyAction(
                                        new AlterTransactionSetProperty()
                                            .key("owner")
                                            .value("ann"))),
                        null)));
  }

  private String newestTransaction() throws ApiException {
    return "demo$people$"
        + tables
            .listTableVersions("demo$people", null, null, 1, true)
            .getVersions()
            .get(0)
            .getVersion();
  }

  private void list() {
    step(
        "list tables page by page",
        () -> {
          List<String> found = new ArrayList<>();
          String token = null;
          do {
            ListTablesResponse page = tables.listTables("demo", null, token, 1, true);
            found.addAll(page.getTables());
            token = page.getPageToken();
          } while (token != null);
          expect(found.stream().sorted().toList(), List.of("other", "people"));
        });
    step(
        "list all tables",
        () ->
            expect(tables.listAllTables(null, null, 9, false).getTables(), Set.of("demo$people")));
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
        "a materialized view is not supported by the bundled catalog",
        () ->
            expectError(
                406,
                0,
                () ->
                    data.createMaterializedView(
                        "demo$view",
                        new CreateMaterializedViewRequest()
                            .kind(CreateMaterializedViewRequest.KindEnum.QUERY)
                            .sourceQuery("select 1")
                            .outputSchema("AAAA"),
                        null)));
    step(
        "a missing namespace is 404",
        () ->
            expectError(
                404,
                1,
                () ->
                    namespaces.describeNamespace("missing", new DescribeNamespaceRequest(), null)));
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
        "a missing index is 404",
        () -> expectError(404, 6, () -> indexes.dropTableIndex("demo$people", "missing", null)));
    step(
        "a missing tag is 404",
        () ->
            expectError(
                404,
                8,
                () ->
                    tags.getTableTagVersion(
                        "demo$people", new GetTableTagVersionRequest().tag("missing"), null)));
    step(
        "an existing table is 409",
        () ->
            expectError(
                409,
                5,
                () -> metadata.declareTable("demo$people", new DeclareTableRequest(), null)));
    step(
        "an unknown column is 400",
        () ->
            expectError(
                400,
                13,
                () ->
                    data.queryTable("demo$people", nearest(1).columns(columns("missing")), null)));
    step(
        "a denied insert is 403",
        () ->
            expectError(
                403,
                15,
                () ->
                    readerData.insertIntoTable(
                        "demo$people", rows.stream(9, 1, "denied"), null, "append")));
    step(
        "a denied upload of 40 MB is 403",
        () ->
            expectError(
                403,
                15,
                () ->
                    readerData.insertIntoTable(
                        "demo$people", new byte[REFUSED_BYTES], null, "append")));
    step(
        "an unknown key is 401",
        () -> {
          ApiClient stranger =
              new ApiClient().setBasePath(data.getApiClient().getBasePath()).setApiKey("unknown");
          expectError(
              401, 16, () -> new NamespaceApi(stranger).listNamespaces("$", null, null, null));
        });
  }

  private void drop() {
    step(
        "drop the tables",
        () -> {
          tables.dropTable("demo$people", null);
          tables.dropTable("demo$other", null);
        });
    step(
        "drop the namespace",
        () -> namespaces.dropNamespace("demo", new DropNamespaceRequest(), null));
  }
}
