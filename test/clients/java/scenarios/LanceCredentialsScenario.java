package scenarios;

import static scenarios.Steps.expect;
import static scenarios.Steps.expectFailure;
import static scenarios.Steps.step;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.lance.namespace.RestNamespace;
import org.lance.namespace.errors.UnauthenticatedException;
import org.lance.namespace.model.CreateNamespaceRequest;
import org.lance.namespace.model.ListNamespacesRequest;

/** A token with lance-core, over TLS: LanceCredentialsScenario CA_FILE URL TOKEN. */
final class LanceCredentialsScenario {
  private final BufferAllocator allocator = new RootAllocator();
  private final String caFile;
  private final String url;

  private LanceCredentialsScenario(String caFile, String url) {
    this.caFile = caFile;
    this.url = url;
  }

  public static void main(String[] parameters) {
    new LanceCredentialsScenario(parameters[0], parameters[1]).run(parameters[2]);
  }

  private RestNamespace connect(String token) {
    RestNamespace catalog = new RestNamespace();
    catalog.initialize(
        Map.of("uri", url, "tls.ssl_ca_cert", caFile, "header.Authorization", "Bearer " + token),
        allocator);
    return catalog;
  }

  private void run(String token) {
    step(
        "create a namespace with a token",
        () -> connect(token).createNamespace(new CreateNamespaceRequest().id(List.of("token"))));
    step(
        "list namespaces with a token",
        () ->
            expect(
                connect(token).listNamespaces(new ListNamespacesRequest()).getNamespaces(),
                Set.of("token")));
    step(
        "a forged token is 401",
        () ->
            expectFailure(
                UnauthenticatedException.class,
                () -> connect(token + "x").listNamespaces(new ListNamespacesRequest())));
  }
}
