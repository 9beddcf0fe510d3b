package scenarios;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.FixedSizeListVector;
import org.apache.arrow.vector.ipc.ArrowFileReader;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.arrow.vector.util.ByteArrayReadableSeekableByteChannel;

/** Rows with the columns id, text and v, which is a vector of 4 numbers. */
final class ArrowRows {
  static final int DIMENSIONS = 4;

  private static final FieldType FLOAT =
      FieldType.nullable(new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE));
  private static final FieldType VECTOR =
      FieldType.nullable(new ArrowType.FixedSizeList(DIMENSIONS));
  static final Schema SCHEMA =
      new Schema(
          List.of(
              Field.nullable("id", new ArrowType.Int(64, true)),
              Field.nullable("text", new ArrowType.Utf8()),
              new Field("v", VECTOR, List.of(new Field("item", FLOAT, null)))));

  private final BufferAllocator allocator;

  ArrowRows(BufferAllocator allocator) {
    this.allocator = allocator;
  }

  /** Returns an Arrow stream of rows with consecutive ids. */
  byte[] stream(long firstId, int count, String text) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (VectorSchemaRoot rows = VectorSchemaRoot.create(SCHEMA, allocator);
        ArrowStreamWriter writer = new ArrowStreamWriter(rows, null, bytes)) {
      BigIntVector ids = (BigIntVector) rows.getVector("id");
      VarCharVector texts = (VarCharVector) rows.getVector("text");
      FixedSizeListVector vectors = (FixedSizeListVector) rows.getVector("v");
      Float4Vector numbers = (Float4Vector) vectors.getDataVector();
      for (int row = 0; row < count; row += 1) {
        ids.setSafe(row, firstId + row);
        texts.setSafe(row, text.getBytes(StandardCharsets.UTF_8));
        vectors.setNotNull(row);
        for (int at = 0; at < DIMENSIONS; at += 1) {
          numbers.setSafe(row * DIMENSIONS + at, (firstId + row) / 10f);
        }
      }
      rows.setRowCount(count);
      writer.writeBatch();
    }
    return bytes.toByteArray();
  }

  /** Returns the names of the columns in an Arrow file and its number of rows, as "id,text: 3". */
  String describeFile(byte[] file) throws IOException {
    try (ArrowFileReader reader =
        new ArrowFileReader(new ByteArrayReadableSeekableByteChannel(file), allocator)) {
      List<String> names =
          reader.getVectorSchemaRoot().getFieldVectors().stream()
              .map(FieldVector::getName)
              .toList();
      int count = 0;
      while (reader.loadNextBatch()) count += reader.getVectorSchemaRoot().getRowCount();
      return String.join(",", names) + ": " + count;
    }
  }
}
