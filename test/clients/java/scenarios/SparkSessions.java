package scenarios;

import java.util.Map;
import org.apache.spark.sql.SparkSession;

/** Small local sessions of Spark. */
final class SparkSessions {
  static SparkSession.Builder newBuilder() {
    return SparkSession.builder()
        .master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.extensions", "org.lance.spark.extensions.LanceSparkSessionExtensions");
  }

  /** Adds a catalog behind that URL, with further settings of it, such as headers. */
  static void addCatalog(
      SparkSession.Builder builder, String name, String url, Map<String, String> settings) {
    String catalog = "spark.sql.catalog." + name;
    builder
        .config(catalog, "org.lance.spark.LanceNamespaceSparkCatalog")
        .config(catalog + ".impl", "rest")
        .config(catalog + ".uri", url);
    settings.forEach((setting, value) -> builder.config(catalog + "." + setting, value));
  }
}
