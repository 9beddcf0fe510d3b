//! The methods of the crate `lancedb` as a remote client: lancedb-methods URL KEY

mod outcomes;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::types::Float32Type;
use arrow_array::{FixedSizeListArray, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::{DataType, Field, Schema};
use futures::TryStreamExt;
use lance_namespace::models::{CreateNamespaceRequest, DescribeNamespaceRequest, DropNamespaceRequest};
use lancedb::BlobRangeRequest;
use lancedb::authz::{
    AccessControlEntryRequest, DatabaseObject, GetGroupRequest, GetPrincipalRequest,
    ListAccessControlEntriesRequest, ListRoleBindingsRequest, Object, Privilege, RoleBindingRequest, Subject,
    SubjectKind,
};
use lancedb::catalog::{ConnectCatalogBuilder, CreateDatabaseRequest, DropDatabaseRequest};
use lancedb::function::{FunctionErrorsRequest, FunctionRegistrationRequest};
use lancedb::index::Index;
use lancedb::listing::ListingOptions;
use lancedb::query::{ExecutableQuery, QueryBase};
use lancedb::table::{
    ColumnAlteration, FieldMetadataUpdate, NewColumnTransform, OptimizeAction, RTEWriteSpec, Ref,
};
use outcomes::{refused, returns, rows, succeeds};

/// The catalog lacks the operation: 406 with error code 0.
const UNSUPPORTED: &str = r#"\"code\":0"#;
/// The client sends no request: it cannot do this remotely, or not with this server.
const BY_CLIENT: &str = "NotSupported";

/// Reads a listing to its end.
macro_rules! all {
    ($listing:expr) => {
        async { $listing.try_collect::<Vec<_>>().await }
    };
}

fn things() -> RecordBatch {
    let schema =
        Schema::new(vec![Field::new("id", DataType::Int64, true), Field::new("text", DataType::Utf8, true)]);
    let ids = Int64Array::from(vec![1, 2, 3]);
    let texts = StringArray::from(vec!["dog one", "cat two", "dog three"]);
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(ids), Arc::new(texts)]).expect("a batch")
}

fn points() -> RecordBatch {
    let item = Field::new("item", DataType::Float32, true);
    let schema = Schema::new(vec![Field::new("vector", DataType::FixedSizeList(Arc::new(item), 2), true)]);
    let rows = [[0.0, 1.0], [1.0, 0.0]].map(|row| Some(row.map(Some).to_vec()));
    let vectors = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(rows, 2);
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(vectors)]).expect("a batch")
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().expect("the URL of the gateway");
    let key = arguments.next().expect("an API key");
    let db = lancedb::connect("db://any")
        .api_key(&key)
        .region("any")
        .host_override(&url)
        .execute()
        .await
        .expect("a connection");
    namespaces(&db).await;
    let table = tables(&db).await;
    read(&db, &table).await;
    indexes(&table).await;
    history(&table).await;
    jobs(&db, &table).await;
    unsupported(&db, &table).await;
    databases(&url, &key).await;
    succeeds("drop_table_async", async { db.drop_table_async("things", &[]).await?.wait().await }).await;
}

async fn namespaces(db: &lancedb::Connection) {
    let id = Some(vec!["shelf".to_string()]);
    succeeds(
        "create_namespace",
        db.create_namespace(CreateNamespaceRequest { id: id.clone(), ..Default::default() }),
    )
    .await;
    succeeds(
        "describe_namespace",
        db.describe_namespace(DescribeNamespaceRequest { id: id.clone(), ..Default::default() }),
    )
    .await;
    returns(
        "list_namespaces",
        vec!["shelf".to_string()],
        all!(db.list_namespaces(&[], ListingOptions::default())),
    )
    .await;
    succeeds("drop_namespace", db.drop_namespace(DropNamespaceRequest { id, ..Default::default() })).await;
}

async fn tables(db: &lancedb::Connection) -> lancedb::Table {
    succeeds("create_empty_table", db.create_empty_table("empty", things().schema()).execute()).await;
    succeeds("drop_table", db.drop_table("empty", &[])).await;
    let table =
        succeeds("create_table", db.create_table("things", things()).execute()).await.expect("a table");
    succeeds("rename_table", db.rename_table("things", "renamed", &[], &[])).await;
    succeeds("rename_table: back", db.rename_table("renamed", "things", &[], &[])).await;
    returns("list_tables", vec!["things".to_string()], all!(db.list_tables(&[], ListingOptions::default())))
        .await;
    returns("table_names", vec!["things".to_string()], db.table_names().execute()).await;
    succeeds("open_table", db.open_table("things").execute()).await;
    table
}

async fn read(db: &lancedb::Connection, table: &lancedb::Table) {
    let vectors = db.create_table("vectors", points()).execute().await.expect("a table");
    returns("count_rows", 3, table.count_rows(None)).await;
    returns("schema", 2, async { Ok(table.schema().await?.fields().len()) }).await;
    returns("version", 1, table.version()).await;
    returns("uri", true, async { Ok(table.uri().await?.ends_with(".lance")) }).await;
    returns("blob_columns", vec![], table.blob_columns()).await;
    returns("query", 2, rows(table.query().limit(2))).await;
    returns("query_snapshot", 3, async { rows(table.query_snapshot().await?.query()).await }).await;
    returns("take_offsets", 1, rows(table.take_offsets(vec![2]))).await;
    returns("vector_search", 1, async { rows(vectors.vector_search(&[0.0_f32, 1.0])?.limit(1)).await }).await;
    returns("take_row_ids", 1, rows(table.take_row_ids(vec![0]))).await;
    succeeds("stats", table.stats()).await;
    succeeds("add", table.add(things()).execute()).await;
    returns("delete", 6, async {
        table.delete("id = 3").await?;
        table.add(things()).execute().await?;
        table.delete("id = 99").await?;
        Ok(table.count_rows(None).await? - 1)
    })
    .await;
    returns("update", 3, async {
        Ok(table.update().only_if("id = 1").column("text", "'one'").execute().await?.rows_updated)
    })
    .await;
    returns("merge_insert", 1, async {
        let mut merge = table.merge_insert(&["id"]);
        merge.when_not_matched_insert_all();
        let schema = things().schema();
        let batch = RecordBatch::try_new(
            schema.clone(),
            vec![Arc::new(Int64Array::from(vec![9])), Arc::new(StringArray::from(vec!["new"]))],
        );
        Ok(merge.execute(Box::new(RecordBatchIterator::new([batch], schema))).await?.num_inserted_rows)
    })
    .await;
}

async fn indexes(table: &lancedb::Table) {
    let name = "id_idx";
    succeeds("create_index", table.create_index(&["id"], Index::BTree(Default::default())).execute()).await;
    succeeds("wait_for_index", table.wait_for_index(&[name], Duration::from_secs(60))).await;
    returns("list_indices", vec![name.to_string()], async {
        Ok(table.list_indices().await?.into_iter().map(|index| index.name).collect())
    })
    .await;
    returns("index_stats", true, async { Ok(table.index_stats(name).await?.is_some()) }).await;
    succeeds("prewarm_index", table.prewarm_index(name)).await;
    succeeds("prewarm_data", table.prewarm_data(Some(vec!["id".to_string()]))).await;
    let wait = Some(Duration::from_secs(60));
    succeeds(
        "create_index_with_timeout",
        table.create_index_with_timeout(&["text"], Index::FTS(Default::default()), wait).execute(),
    )
    .await;
    returns("tokenize_with_column", 1, async {
        Ok(table.tokenize_with_column("a dog", "text").await?.len())
    })
    .await;
    returns("tokenize", 1, async { Ok(table.tokenize("a dog", "text_idx").await?.len()) }).await;
    succeeds("drop_index", table.drop_index("text_idx")).await;
}

async fn history(table: &lancedb::Table) {
    succeeds("list_versions", table.list_versions()).await;
    succeeds("checkout", table.checkout(1)).await;
    returns("checkout: rows", 3, table.count_rows(None)).await;
    succeeds("checkout_current", table.checkout_current()).await;
    succeeds("checkout_latest", table.checkout_latest()).await;
    returns("tags", 1, async {
        let mut tags = table.tags().await?;
        tags.create("kept", 1).await?;
        tags.update("kept", 2).await?;
        tags.update("kept", 1).await?;
        assert_eq!(tags.get_version("kept").await?, 1);
        Ok(tags.list().await?.len())
    })
    .await;
    succeeds("checkout_tag", table.checkout_tag("kept")).await;
    succeeds("restore", table.restore()).await;
    returns("restore: rows", 3, table.count_rows(None)).await;
    succeeds("delete a tag", async { table.tags().await?.delete("kept").await }).await;
    succeeds("create_branch", table.create_branch("draft", Ref::Version(None, None))).await;
    returns("checkout_branch", Some("draft".to_string()), async {
        Ok(table.checkout_branch("draft", None).await?.current_branch())
    })
    .await;
    returns("list_branches", 1, async { Ok(table.list_branches().await?.len()) }).await;
    succeeds("delete_branch", table.delete_branch("draft")).await;
    let metadata = HashMap::from([("unit".to_string(), Some("m".to_string()))]);
    let update = FieldMetadataUpdate { path: "id".to_string(), metadata, replace: false };
    succeeds("update_field_metadata", table.update_field_metadata(&[update])).await;
    let copy = NewColumnTransform::SqlExpressions(vec![("more".to_string(), "id + 1".to_string())]);
    succeeds("add_columns", table.add_columns().transform(copy).execute()).await;
    let renamed = ColumnAlteration::new("more".to_string()).rename("much".to_string());
    succeeds("alter_columns", table.alter_columns(&[renamed])).await;
    succeeds("drop_columns", table.drop_columns(&["much"])).await;
}

async fn jobs(db: &lancedb::Connection, table: &lancedb::Table) {
    succeeds("add a computed column", table.add_columns().computed("twice", "id * 2").execute()).await;
    let Some(job) = succeeds("refresh_column_async", table.refresh_column_async("twice")).await else {
        return;
    };
    succeeds("wait for the job", job.wait()).await;
    let id = job.id().unwrap_or_default();
    returns("open_job", "finished".to_string(), async { db.open_job(id).await?.status().await }).await;
    returns("list_jobs", 1, async { Ok(all!(db.list_jobs(ListingOptions::default())).await?.len()) }).await;
    succeeds("cancel_job", db.cancel_job(id)).await;
    refused("pause_job", UNSUPPORTED, db.pause_job(id)).await;
    refused("resume_job", UNSUPPORTED, db.resume_job(id)).await;
}

/// What docs/catalog.md lists, and what the client does not do remotely.
async fn unsupported(db: &lancedb::Connection, table: &lancedb::Table) {
    let options = ListingOptions::default;
    refused("create_view", UNSUPPORTED, db.create_view("named", "SELECT * FROM things", &[])).await;
    refused("describe_view", UNSUPPORTED, db.describe_view("named", &[])).await;
    refused("list_views", UNSUPPORTED, all!(db.list_views(&[], options()))).await;
    refused("drop_view", UNSUPPORTED, db.drop_view("named", &[])).await;
    refused("drop_view_async", UNSUPPORTED, db.drop_view_async("named", &[])).await;
    refused("clone_table", UNSUPPORTED, db.clone_table("clone", "somewhere").execute()).await;
    refused("diff_branch", UNSUPPORTED, table.diff_branch("kept")).await;
    refused("cherry_pick", UNSUPPORTED, table.cherry_pick("kept", true)).await;
    let function = r#"{"name": "named",
        "artifact": {"kind": "python", "digest": "sha256:0", "entrypoint": "f",
            "content": {"encoding": "base64", "data": ""}, "adapter": {"kind": "scalar", "version": 1}},
        "signature": {"inputs": [], "output": {"kind": "scalar", "arrow_type": "int64", "nullable": true}},
        "runtime": {"kind": "python", "python_version": "3.12", "environment": {"kind": "pip"}, "env": {}}}"#;
    let request = FunctionRegistrationRequest::from_json(function).expect("a function");
    refused("create_function_async", UNSUPPORTED, db.create_function_async(request, &[])).await;
    refused("get_function", UNSUPPORTED, db.get_function("named", "1", &[])).await;
    refused("list_functions", UNSUPPORTED, all!(db.list_functions(&[], options()))).await;
    refused("drop_function", UNSUPPORTED, db.drop_function("named", "1", &[])).await;
    refused("drop_function_async", UNSUPPORTED, db.drop_function_async("named", "1", &[])).await;
    refused("create_secret", UNSUPPORTED, db.create_secret("named", "value", &[])).await;
    refused("alter_secret", UNSUPPORTED, db.alter_secret("named", "value", &[])).await;
    refused("describe_secret", UNSUPPORTED, db.describe_secret("named", &[])).await;
    refused("list_secrets", UNSUPPORTED, all!(db.list_secrets(&[], options()))).await;
    refused("drop_secret", UNSUPPORTED, db.drop_secret("named", &[])).await;
    refused("function_errors", UNSUPPORTED, table.function_errors(FunctionErrorsRequest::new())).await;
    refused("enable_rte", UNSUPPORTED, table.enable_rte(RTEWriteSpec::unsharded())).await;
    refused("disable_rte", UNSUPPORTED, table.disable_rte()).await;
    refused("get_rte_spec", UNSUPPORTED, table.get_rte_spec()).await;
    refused("get_rte_stats", UNSUPPORTED, table.get_rte_stats(true)).await;
    refused("checkpoint_rte", UNSUPPORTED, table.checkpoint_rte()).await;
    refused("flush_rte", UNSUPPORTED, table.flush_rte()).await;
    refused("compact_rte", UNSUPPORTED, table.compact_rte()).await;

    refused("optimize", BY_CLIENT, table.optimize(OptimizeAction::All)).await;
    refused("optimize_prune_before", BY_CLIENT, table.optimize_prune_before(chrono::Utc::now(), None, None))
        .await;
    refused("read_consistency", BY_CLIENT, db.read_consistency()).await;
    refused("drop_all_tables", BY_CLIENT, db.drop_all_tables(&[])).await;
    #[expect(deprecated)]
    refused("drop_db", BY_CLIENT, db.drop_db()).await;
    refused("refresh_column", BY_CLIENT, table.refresh_column("twice")).await;
    succeeds("set_unenforced_primary_key", table.set_unenforced_primary_key(["id"])).await;
    refused("fetch_blobs", BY_CLIENT, table.fetch_blobs("text", &[0])).await;
    refused("fetch_blob_files", BY_CLIENT, table.fetch_blob_files("text", &[0])).await;
    refused(
        "fetch_blob_ranges",
        BY_CLIENT,
        table.fetch_blob_ranges("text", [BlobRangeRequest::new(0, 0, 1)]),
    )
    .await;
    succeeds("close_rte_writers", table.close_rte_writers()).await;
    succeeds("namespace_client_config", db.namespace_client_config()).await;
    succeeds("latest_storage_options", table.latest_storage_options()).await;
    // SQL is sent by another protocol, to a server that the bundled catalog is not.
    refused("execute_query_async", "transport", db.execute_query_async("SELECT 1").execute()).await;
    refused("describe_query", "Unknown", db.describe_query(uuid::Uuid::nil())).await;
}

/// The catalog of databases, and the grants that a gateway refuses by default.
async fn databases(url: &str, key: &str) {
    let Some(catalog) =
        succeeds("connect to the catalog", ConnectCatalogBuilder::new(url).api_key(key).execute()).await
    else {
        return;
    };
    succeeds("create_database", catalog.create_database(CreateDatabaseRequest::new("shop"))).await;
    succeeds("list_databases", all!(catalog.list_databases(None, None))).await;
    succeeds("connect_database", catalog.connect_database("shop")).await;
    succeeds("drop_database", catalog.drop_database(DropDatabaseRequest::new("shop"))).await;
    let authz = catalog.authz().expect("the grants");
    let subject = || Subject::new(SubjectKind::PrincipalId, "ann").expect("a subject");
    let group = || Subject::new(SubjectKind::GroupId, "team").expect("a subject");
    let object = || Object::Database(DatabaseObject::new("shop".to_string()));
    let entry = || AccessControlEntryRequest::new(object(), subject(), Privilege::Ownership);
    let binding = || RoleBindingRequest::new(subject(), "admin").expect("a binding");
    refused("list_acls", "403", authz.list_acls(ListAccessControlEntriesRequest::default())).await;
    refused("add_acl", "403", authz.add_acl(entry())).await;
    refused("delete_acl", "403", authz.delete_acl(entry())).await;
    refused("list_role_bindings", "403", authz.list_role_bindings(ListRoleBindingsRequest::default())).await;
    refused("add_role_binding", "403", authz.add_role_binding(binding())).await;
    refused("delete_role_binding", "403", authz.delete_role_binding(binding())).await;
    refused(
        "get_principal",
        "403",
        authz.get_principal(GetPrincipalRequest::new(subject()).expect("a request")),
    )
    .await;
    refused("get_group", "403", authz.get_group(GetGroupRequest::new(group()).expect("a request"))).await;
}
