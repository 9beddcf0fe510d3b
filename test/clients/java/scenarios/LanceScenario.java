package scenarios;

import static scenarios.Steps.expect;
import static scenarios.Steps.expectFailure;
import static scenarios.Steps.step;

import java.io.ByteArrayInputStream;
import java.util.List;
import java.util.Map;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.ipc.ArrowReader;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.lance.CommitBuilder;
import org.lance.Dataset;
import org.lance.Fragment;
import org.lance.FragmentMetadata;
import org.lance.ReadOptions;
import org.lance.Transaction;
import org.lance.WriteParams.WriteMode;
import org.lance.namespace.RestNamespace;
import org.lance.namespace.errors.PermissionDeniedException;
import org.lance.namespace.model.CountTableRowsRequest;
import org.lance.namespace.model.CreateNamespaceRequest;
import org.lance.namespace.model.CreateTableRequest;
import org.lance.namespace.model.DropNamespaceRequest;
import org.lance.namespace.model.DropTableRequest;
import org.lance.namespace.model.InsertIntoTableRequest;
import org.lance.operation.Append;

/**
 * Writes and commits a table through a catalog with lance-core: LanceScenario READER_KEY URL KEY.
 */
final class LanceScenario {
  private static final List<String> NAMESPACE = List.of("demo");
  private static final List<String> TABLE = List.of("demo", "written");
  private static final List<String> STREAMED = List.of("demo", "streamed");

  private static final long REFUSED_COMMIT_NANOS = 20_000_000_000L;

  private final BufferAllocator allocator = new RootAllocator();
  private final ArrowRows rows = new ArrowRows(allocator);
  private final RestNamespace catalog;
  private final RestNamespace readerCatalog;

  private LanceScenario(String url, String key, String readerKey) {
    catalog = connect(url, key);
    readerCatalog = connect(url, readerKey);
  }

  private RestNamespace connect(String url, String key) {
    RestNamespace connected = new RestNamespace();
    connected.initialize(Map.of("uri", url, "header.x-api-key", key), allocator);
    return connected;
  }

  public static void main(String[] parameters) {
    LanceScenario scenario = new LanceScenario(parameters[1], parameters[2], parameters[0]);
    scenario.write();
    scenario.stream();
    scenario.readOnly();
    scenario.drop();
  }

  private void write() {
    step(
        "create a namespace",
        () -> catalog.createNamespace(new CreateNamespaceRequest().id(NAMESPACE)));
    step("write and declare a table", () -> write(WriteMode.CREATE, 1, 3));
    step("append and commit", () -> write(WriteMode.APPEND, 4, 3));
    step("read", () -> expectCount(catalog, 6));
  }

  private ArrowReader read(byte[] stream) {
    return new ArrowStreamReader(new ByteArrayInputStream(stream), allocator);
  }

  private void write(WriteMode mode, long firstId, int count) throws Exception {
    try (ArrowReader reader = read(rows.stream(firstId, count, "written"))) {
      Dataset.write()
          .namespaceClient(catalog)
          .tableId(TABLE)
          .allocator(allocator)
          .reader(reader)
          .mode(mode)
          .execute()
          .close();
    }
  }

  private Dataset open(RestNamespace as) {
    return Dataset.open()
        .namespaceClient(as)
        .tableId(TABLE)
        .allocator(allocator)
        .readOptions(new ReadOptions.Builder().build())
        .build();
  }

  private void expectCount(RestNamespace as, long expected) {
    try (Dataset dataset = open(as)) {
      expect(dataset.countRows(), expected);
    }
  }

  private void stream() {
    step(
        "create by a stream",
        () ->
            catalog.createTable(
                new CreateTableRequest().id(STREAMED), rows.stream(1, 3, "streamed")));
    step(
        "count",
        () -> expect(catalog.countTableRows(new CountTableRowsRequest().id(STREAMED)), 3L));
  }

  private void readOnly() {
    step("a reader reads", () -> expectCount(readerCatalog, 6));
    step(
        "a denied commit fails at once if it is not retried often",
        () -> {
          try (Dataset dataset = open(readerCatalog);
              ArrowReader reader = read(rows.stream(9, 1, "denied"))) {
            reader.loadNextBatch();
            List<FragmentMetadata> fragments =
                Fragment.write()
                    .datasetUri(dataset.uri())
                    .allocator(allocator)
                    .data(reader.getVectorSchemaRoot())
                    .execute();
            Transaction append =
                new Transaction.Builder()
                    .readVersion(dataset.version())
                    .operation(Append.builder().fragments(fragments).build())
                    .build();
            long start = System.nanoTime();
            Exception error =
                expectFailure(
                    IllegalArgumentException.class,
                    () -> new CommitBuilder(dataset).maxRetries(5).execute(append));
            expect(error.getMessage().contains("Commit conflict for version 3"), true);
            expect(System.nanoTime() - start < REFUSED_COMMIT_NANOS, true);
          }
        });
    step(
        "a reader may not insert",
        () -> {
          InsertIntoTableRequest insert = new InsertIntoTableRequest().id(STREAMED);
          PermissionDeniedException error =
              expectFailure(
                  PermissionDeniedException.class,
                  () -> readerCatalog.insertIntoTable(insert, rows.stream(9, 1, "denied")));
          expect(error.getMessage().contains("you are not allowed InsertIntoTable"), true);
        });
  }

  private void drop() {
    step(
        "drop",
        () -> {
          catalog.dropTable(new DropTableRequest().id(TABLE));
          catalog.dropTable(new DropTableRequest().id(STREAMED));
          catalog.dropNamespace(new DropNamespaceRequest().id(NAMESPACE));
        });
  }
}
