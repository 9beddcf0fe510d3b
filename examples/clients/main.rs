use std::env;
use std::error::Error;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use lance_namespace_reqwest_client::apis::configuration::{ApiKey, Configuration};
use lance_namespace_reqwest_client::apis::{namespace_api, table_api};
use lance_namespace_reqwest_client::models::{CountTableRowsRequest, CreateNamespaceRequest};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let catalog = Configuration {
        base_path: env::var("CATALOG_URL").unwrap_or("http://127.0.0.1:2333".to_owned()),
        api_key: Some(ApiKey { prefix: None, key: env::var("KEY")? }),
        ..Configuration::default()
    };
    namespace_api::create_namespace(&catalog, "rust", CreateNamespaceRequest::new(), None).await?;

    let ids: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
    let rows = RecordBatch::try_from_iter([("id", ids)])?;
    let mut stream = StreamWriter::try_new(Vec::new(), &rows.schema())?;
    stream.write(&rows)?;
    let body = stream.into_inner()?;
    // An id is written with `$` between its names.
    table_api::create_table(&catalog, "rust$numbers", body.clone(), None, None, None, None).await?;
    table_api::insert_into_table(&catalog, "rust$numbers", body, None, None, None).await?;
    let all = CountTableRowsRequest::new();
    println!("{}", table_api::count_table_rows(&catalog, "rust$numbers", all, None).await?);
    Ok(())
}
