import java.io.ByteArrayOutputStream;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.lance.namespace.client.apache.ApiClient;
import org.lance.namespace.client.apache.api.DataApi;
import org.lance.namespace.model.CountTableRowsRequest;

public class CatalogProgram {
  public static void main(String[] parameters) throws Exception {
    ApiClient client =
        new ApiClient()
            .setBasePath(System.getenv().getOrDefault("CATALOG_URL", "http://127.0.0.1:2333"))
            .setApiKey(System.getenv("KEY"));
    DataApi data = new DataApi(client);
    data.createTable("first_java", threeRows(), "$", "Overwrite", null, null);
    data.insertIntoTable("first_java", threeRows(), "$", "append");
    System.out.println(data.countTableRows("first_java", new CountTableRowsRequest(), "$"));
  }

  private static byte[] threeRows() throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (RootAllocator allocator = new RootAllocator();
        BigIntVector ids = new BigIntVector("id", allocator);
        VectorSchemaRoot rows = VectorSchemaRoot.of(ids);
        ArrowStreamWriter writer = new ArrowStreamWriter(rows, null, bytes)) {
      for (int row = 0; row < 3; row += 1) ids.setSafe(row, row);
      rows.setRowCount(3);
      writer.writeBatch();
    }
    return bytes.toByteArray();
  }
}
