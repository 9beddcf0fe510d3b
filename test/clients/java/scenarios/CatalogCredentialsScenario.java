package scenarios;

import static scenarios.Steps.expect;
import static scenarios.Steps.expectFailure;
import static scenarios.Steps.step;

import java.util.Set;
import org.lance.namespace.client.apache.ApiClient;
import org.lance.namespace.client.apache.ApiException;
import org.lance.namespace.client.apache.api.NamespaceApi;
import org.lance.namespace.model.CreateNamespaceRequest;

/** A token with the generated client, over TLS: CatalogCredentialsScenario URL TOKEN. */
final class CatalogCredentialsScenario {
  public static void main(String[] parameters) {
    ApiClient client = new ApiClient().setBasePath(parameters[0]).setBearerToken(parameters[1]);
    NamespaceApi namespaces = new NamespaceApi(client);
    step(
        "create a namespace with a token",
        () -> namespaces.createNamespace("token", new CreateNamespaceRequest(), null));
    step(
        "list namespaces with a token",
        () ->
            expect(
                namespaces.listNamespaces("$", null, null, null).getNamespaces(), Set.of("token")));
    step(
        "a forged token is 401",
        () -> {
          client.setBearerToken(parameters[1] + "x");
          ApiException error =
              expectFailure(
                  ApiException.class, () -> namespaces.listNamespaces("$", null, null, null));
          expect(error.getCode(), 401);
        });
  }
}
