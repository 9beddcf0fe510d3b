//! Reads of a caller to whom policies leave a part of a table: restricted-reads URL KEY

mod outcomes;

use lancedb::query::{QueryBase, Select};
use outcomes::{refused, returns, rows, succeeds};

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().expect("the URL of the gateway");
    let key = arguments.next().expect("an API key");
    let connection = lancedb::connect("db://any").api_key(&key).region("any").host_override(&url);
    let db = connection.execute().await.expect("a connection");
    let table = succeeds("open", db.open_table("people").execute()).await.expect("a table");
    returns("schema", vec!["id".to_string(), "vector".to_string()], async {
        Ok(table.schema().await?.fields().iter().map(|field| field.name().clone()).collect())
    })
    .await;
    returns("count", 2, table.count_rows(None)).await;
    returns("count with a filter", 1, table.count_rows(Some("id > 1".to_string()))).await;
    returns("query", 2, rows(table.query())).await;
    returns("filter", 1, rows(table.query().only_if("id > 1").select(Select::columns(&["id"])))).await;
    returns("search", 2, async {
        rows(table.vector_search(&[1.0_f32, 0.0])?.column("vector").limit(3)).await
    })
    .await;
    refused("hidden column", "there is no column", rows(table.query().select(Select::columns(&["ssn"]))))
        .await;
    refused("hidden filter", "no column", rows(table.query().only_if("ssn = 'a'"))).await;
    refused("unsupported filter", "not supported", rows(table.query().only_if("abs(id) = 1"))).await;
    refused("delete", "not allowed DeleteFromTable", table.delete("true")).await;
}
