import org.apache.spark.sql.SparkSession;

public class SparkProgram {
  public static void main(String[] parameters) {
    SparkSession spark =
        SparkSession.builder()
            .master("local[2]")
            .config("spark.sql.extensions", "org.lance.spark.extensions.LanceSparkSessionExtensions")
            .config("spark.sql.catalog.lake", "org.lance.spark.LanceNamespaceSparkCatalog")
            .config("spark.sql.catalog.lake.impl", "rest")
            .config(
                "spark.sql.catalog.lake.uri",
                System.getenv().getOrDefault("CATALOG_URL", "http://127.0.0.1:2333"))
            .config("spark.sql.catalog.lake.headers.x-api-key", System.getenv("KEY"))
            .getOrCreate();
    spark.sql("CREATE NAMESPACE lake.spark");
    spark.sql("CREATE TABLE lake.spark.words (id BIGINT, text STRING)");
    spark.sql("INSERT INTO lake.spark.words VALUES (1, 'hello')");
    System.out.println(spark.sql("SELECT * FROM lake.spark.words").collectAsList());
    spark.stop();
  }
}
