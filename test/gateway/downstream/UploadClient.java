import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Arrays;
import java.util.Base64;

/**
 * Uploads zeros behind a start and prints status and body of the response. Arguments: URL, key, start in base64, bytes,
 * length or chunks.
 */
public class UploadClient {
  public static void main(String[] args) throws Exception {
    byte[] start = Base64.getDecoder().decode(args[2]);
    byte[] bytes = Arrays.copyOf(start, Integer.parseInt(args[3]));
    BodyPublisher body = args[4].equals("length")
        ? BodyPublishers.ofByteArray(bytes)
        : BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(bytes));
    HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    HttpRequest request = HttpRequest.newBuilder(URI.create(args[0]))
        .header("x-api-key", args[1])
        .header("content-type", "application/vnd.apache.arrow.stream")
        .POST(body)
        .build();
    var response = client.send(request, BodyHandlers.ofString());
    System.out.println(response.statusCode() + " " + response.body());
  }
}
