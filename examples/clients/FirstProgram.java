import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.List;
import java.util.Map;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowReader;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.lance.Dataset;
import org.lance.WriteParams.WriteMode;
import org.lance.namespace.RestNamespace;
import org.lance.namespace.model.CreateNamespaceRequest;

public class FirstProgram {
  static final List<String> TABLE = List.of("java", "numbers");

  public static void main(String[] parameters) throws Exception {
    String url = System.getenv().getOrDefault("CATALOG_URL", "http://127.0.0.1:2333");
    try (BufferAllocator allocator = new RootAllocator();
        RestNamespace catalog = new RestNamespace()) {
      catalog.initialize(Map.of("uri", url, "header.x-api-key", System.getenv("KEY")), allocator);
      catalog.createNamespace(new CreateNamespaceRequest().id(List.of("java")));
      for (WriteMode mode : List.of(WriteMode.CREATE, WriteMode.APPEND)) {
        try (ArrowReader rows = threeRows(allocator)) {
          Dataset.write()
              .namespaceClient(catalog)
              .tableId(TABLE)
              .allocator(allocator)
              .reader(rows)
              .mode(mode)
              .execute()
              .close();
        }
      }
      try (Dataset dataset = Dataset.open().namespaceClient(catalog).tableId(TABLE).build()) {
        System.out.println(dataset.countRows());
      }
    }
  }

  static ArrowReader threeRows(BufferAllocator allocator) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (BigIntVector ids = new BigIntVector("id", allocator);
        VectorSchemaRoot rows = VectorSchemaRoot.of(ids);
        ArrowStreamWriter writer = new ArrowStreamWriter(rows, null, bytes)) {
      for (int row = 0; row < 3; row += 1) ids.setSafe(row, row);
      rows.setRowCount(3);
      writer.writeBatch();
    }
    return new ArrowStreamReader(new ByteArrayInputStream(bytes.toByteArray()), allocator);
  }
}
