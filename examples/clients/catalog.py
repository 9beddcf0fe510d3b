import os

from lance_namespace_urllib3_client import ApiClient, Configuration, NamespaceApi
from lance_namespace_urllib3_client.models import CreateNamespaceRequest

configuration = Configuration(
    host=os.environ.get("CATALOG_URL", "http://127.0.0.1:2333"),
    api_key={"ApiKeyAuth": os.environ["KEY"]},
)
namespaces = NamespaceApi(ApiClient(configuration))
namespaces.create_namespace("first_python", CreateNamespaceRequest())
print("first_python" in namespaces.list_namespaces("$").namespaces)
