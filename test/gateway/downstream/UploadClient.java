import java.io.ByteArrayInputStream;
import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.Arrays;
import java.util.Base64;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * Uploads zeros behind a start and prints status and body of the response. Arguments: URL, key, start in base64, bytes,
 * length or chunks, CA file.
 */
public class UploadClient {
  public static void main(String[] args) throws Exception {
    byte[] start = Base64.getDecoder().decode(args[2]);
    byte[] bytes = Arrays.copyOf(start, Integer.parseInt(args[3]));
    BodyPublisher body = args[4].equals("length")
        ? BodyPublishers.ofByteArray(bytes)
        : BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(bytes));
    HttpClient.Builder client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1);
    if (args.length > 5) client.sslContext(trust(args[5]));
    HttpRequest request = HttpRequest.newBuilder(URI.create(args[0]))
        .header("x-api-key", args[1])
        .header("content-type", "application/vnd.apache.arrow.stream")
        .POST(body)
        .build();
    var response = client.build().send(request, BodyHandlers.ofString());
    System.out.println(response.statusCode() + " " + response.body());
  }

  private static SSLContext trust(String caFile) throws Exception {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    try (var file = new FileInputStream(caFile)) {
      store.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(file));
    }
    TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(store);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, managers.getTrustManagers(), null);
    return context;
  }
}
