//! Calls every operation of the catalog API: scenario READER_KEY URL KEY. The first key may only read.

mod rows;
mod staging;
mod steps;

use std::collections::HashMap;

use lance_namespace_reqwest_client::apis::configuration::{ApiKey, Configuration};
use lance_namespace_reqwest_client::apis::{
    materialized_view_api, namespace_api, table_api, transaction_api,
};
use lance_namespace_reqwest_client::models::*;

use rows::{ids_of, rows};
use staging::stage_copy;
use steps::{expect, refused, returns, succeeds};

// Statuses and codes of errors.
const UNSUPPORTED: (u16, i32) = (406, 0);
const TABLE_NOT_FOUND: (u16, i32) = (404, 4);
const TABLE_ALREADY_EXISTS: (u16, i32) = (409, 5);
const INVALID_INPUT: (u16, i32) = (400, 13);
const CONCURRENT_MODIFICATION: (u16, i32) = (409, 14);
const PERMISSION_DENIED: (u16, i32) = (403, 15);
const UNAUTHENTICATED: (u16, i32) = (401, 16);

const NAMESPACE: &str = "demo$rust";
const TABLE: &str = "demo$rust$people";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, reader_key, url, key] = arguments.as_slice() else {
        panic!("expected READER_KEY URL KEY");
    };
    let catalog = connect(url, key);
    namespaces(&catalog).await;
    tables(&catalog).await;
    data(&catalog).await;
    queries(&catalog).await;
    columns(&catalog).await;
    indexes(&catalog).await;
    tags_and_branches(&catalog).await;
    versions(&catalog).await;
    commits(&catalog).await;
    transactions(&catalog).await;
    unsupported(&catalog).await;
    denied(&connect(url, reader_key)).await;
    unauthenticated(&connect(url, "a-key-that-nobody-has")).await;
    removals(&catalog).await;
}

fn connect(url: &str, key: &str) -> Configuration {
    Configuration {
        base_path: url.to_owned(),
        api_key: Some(ApiKey { prefix: None, key: key.to_owned() }),
        ..Configuration::default()
    }
}

fn strings<const N: usize>(values: [&str; N]) -> Vec<String> {
    values.map(str::to_owned).to_vec()
}

fn properties(key: &str, value: &str) -> HashMap<String, String> {
    HashMap::from([(key.to_owned(), value.to_owned())])
}

async fn namespaces(catalog: &Configuration) {
    let create = |id| {
        let properties = Some(properties("owner", "ann"));
        let request = CreateNamespaceRequest { properties, ..Default::default() };
        namespace_api::create_namespace(catalog, id, request, None)
    };
    succeeds("CreateNamespace", create("demo")).await;
    succeeds("CreateNamespace: nested", create(NAMESPACE)).await;

    let describe = namespace_api::describe_namespace(catalog, NAMESPACE, Default::default(), None);
    let owned = Some(properties("owner", "ann"));
    returns("DescribeNamespace", owned, describe, |found| found.properties).await;

    let exists = namespace_api::namespace_exists(catalog, NAMESPACE, Default::default(), None);
    succeeds("NamespaceExists", exists).await;

    let list = |id, delimiter| namespace_api::list_namespaces(catalog, id, delimiter, None, None);
    returns("ListNamespaces", strings(["rust"]), list("demo", None), |page| page.namespaces).await;
    let root = list("/", Some("/"));
    returns("ListNamespaces: by another delimiter", strings(["demo"]), root, |page| page.namespaces).await;
}

async fn tables(catalog: &Configuration) {
    let create = |id, mode| {
        let owned = Some(r#"{"owner":"ann"}"#);
        table_api::create_table(catalog, id, rows(&[1, 2, 3]), None, mode, owned, None)
    };
    returns("CreateTable", Some(1), create(TABLE, None), |created| created.version).await;
    refused("CreateTable: existing", TABLE_ALREADY_EXISTS, create(TABLE, None)).await;
    succeeds("CreateTable: if missing", create(TABLE, Some("ExistOk"))).await;

    let declare = table_api::declare_table(catalog, "demo$rust$declared", Default::default(), None);
    succeeds("DeclareTable", declare).await;

    let describe = |id, declared| {
        table_api::describe_table(catalog, id, Default::default(), None, Some(true), Some(true), declared)
    };
    let described = succeeds("DescribeTable", describe(TABLE, None)).await.unwrap_or_default();
    expect("DescribeTable: properties", described.properties, Some(properties("owner", "ann")));
    expect("DescribeTable: version", described.version, Some(1));
    let schema = described.schema.unwrap_or_default();
    let names: Vec<_> = schema.fields.iter().map(|field| field.name.as_str()).collect();
    expect("DescribeTable: columns", names, vec!["id", "text", "vector"]);
    let lengths: Vec<_> = schema.fields.iter().map(|field| field.r#type.length).collect();
    expect("DescribeTable: lengths of vectors", lengths, vec![None, None, Some(2)]);
    let declared = describe("demo$rust$declared", Some(true));
    returns("DescribeTable: declared", Some(true), declared, |table| table.is_only_declared).await;
    refused("DescribeTable: missing", TABLE_NOT_FOUND, describe("demo$absent", None)).await;

    let exists = |id| table_api::table_exists(catalog, id, Default::default(), None);
    succeeds("TableExists", exists(TABLE)).await;

    let mut found = Vec::new();
    let mut token: Option<String> = None;
    for _ in 0..3 {
        let page = namespace_api::list_tables(catalog, NAMESPACE, None, token.as_deref(), Some(1), None);
        let Some(page) = succeeds("ListTables: a page", page).await else { break };
        found.extend(page.tables);
        token = page.page_token.filter(|token| !token.is_empty());
        if token.is_none() {
            break;
        }
    }
    found.sort();
    expect("ListTables: all pages", found, strings(["declared", "people"]));
    let all = table_api::list_all_tables(catalog, None, None, None, Some(false));
    returns("ListAllTables", strings([TABLE]), all, |page| page.tables).await;

    let rename = RenameTableRequest {
        new_namespace_id: Some(strings(["demo"])),
        ..RenameTableRequest::new("renamed".to_owned())
    };
    succeeds("RenameTable", table_api::rename_table(catalog, "demo$rust$declared", rename, None)).await;
    succeeds("RenameTable: the new name exists", exists("demo$renamed")).await;
}

async fn data(catalog: &Configuration) {
    let insert = |ids: &[i32]| table_api::insert_into_table(catalog, TABLE, rows(ids), None, None, None);
    returns("InsertIntoTable", Some(2), insert(&[4, 5]), |inserted| inserted.version).await;

    let count = |predicate: Option<&str>| {
        let predicate = predicate.map(str::to_owned);
        let request = CountTableRowsRequest { predicate, ..Default::default() };
        table_api::count_table_rows(catalog, TABLE, request, None)
    };
    returns("CountTableRows", 5, count(None), |rows| rows).await;
    returns("CountTableRows: with a filter", 2, count(Some("id > 3")), |rows| rows).await;
    refused("CountTableRows: with a filter that is not SQL", INVALID_INPUT, count(Some("id >"))).await;

    let merge = table_api::merge_insert_into_table(
        catalog,
        TABLE,
        strings(["id"]),
        rows(&[5, 6]),
        None,
        None,
        Some(true),
        None,
        Some(true),
        None,
        None,
        None,
        None,
    );
    let merged = |merged: MergeInsertIntoTableResponse| (merged.num_updated_rows, merged.num_inserted_rows);
    returns("MergeInsertIntoTable", (Some(1), Some(1)), merge, merged).await;

    let predicate = Some("id = 1".to_owned());
    let updates = vec![strings(["text", "'changed'"])];
    let request = UpdateTableRequest { predicate, ..UpdateTableRequest::new(updates) };
    let update = table_api::update_table(catalog, TABLE, request, None);
    returns("UpdateTable", 1, update, |updated| updated.updated_rows).await;

    let delete = DeleteFromTableRequest::new("id = 2".to_owned());
    succeeds("DeleteFromTable", table_api::delete_from_table(catalog, TABLE, delete, None)).await;
    returns("CountTableRows: after all changes", 5, count(None), |rows| rows).await;
}

fn nearest(k: i32) -> QueryTableRequest {
    let vector = QueryTableRequestVector { single_vector: Some(vec![6.0, 1.0]), ..Default::default() };
    QueryTableRequest::new(k, vector)
}

async fn queries(catalog: &Configuration) {
    query(catalog, "QueryTable", nearest(2), &[6, 5]).await;
    let filter = Some("id < 5".to_owned());
    query(catalog, "QueryTable: with a filter", QueryTableRequest { filter, ..nearest(2) }, &[4, 3]).await;
    let version = Some(1);
    query(catalog, "QueryTable: an old version", QueryTableRequest { version, ..nearest(2) }, &[3, 2]).await;
    let column_aliases = Some(properties("id", "id + 10"));
    let columns = QueryTableRequestColumns { column_aliases, ..Default::default() };
    let computed = QueryTableRequest { columns: Some(Box::new(columns)), ..nearest(1) };
    query(catalog, "QueryTable: an expression", computed, &[16]).await;

    let explain = ExplainTableQueryPlanRequest::new(nearest(1));
    let plan = table_api::explain_table_query_plan(catalog, TABLE, explain, None);
    returns("ExplainTableQueryPlan", false, plan, |plan| plan.is_empty()).await;
    let analyze = AnalyzeTableQueryPlanRequest::new(1, *nearest(1).vector);
    let plan = table_api::analyze_table_query_plan(catalog, TABLE, analyze, None);
    returns("AnalyzeTableQueryPlan", false, plan, |plan| plan.is_empty()).await;
}

async fn query(catalog: &Configuration, name: &str, request: QueryTableRequest, expected: &[i32]) {
    let call = table_api::query_table(catalog, TABLE, request, None);
    if let Some(response) = succeeds(name, call).await {
        let file = response.bytes().await.unwrap_or_default();
        expect(&format!("{name}: rows"), ids_of(&file), Ok(expected.to_vec()));
    }
}

async fn columns(catalog: &Configuration) {
    let expression = Some(Some("id * 2".to_owned()));
    let column = AddColumnsEntry { expression, ..AddColumnsEntry::new("twice".to_owned()) };
    let add = AlterTableAddColumnsRequest::new(vec![column]);
    succeeds("AlterTableAddColumns", table_api::alter_table_add_columns(catalog, TABLE, add, None)).await;

    let rename = Some(Some("double".to_owned()));
    let alteration = AlterColumnsEntry { rename, ..AlterColumnsEntry::new("twice".to_owned()) };
    let alter = AlterTableAlterColumnsRequest::new(vec![alteration]);
    let altered = table_api::alter_table_alter_columns(catalog, TABLE, alter, None);
    succeeds("AlterTableAlterColumns", altered).await;

    let unit = properties("unit", "m");
    let update = UpdateFieldMetadataEntry::new("double".to_owned(), unit.clone());
    let request = UpdateFieldMetadataRequest::new(vec![update]);
    let updated = table_api::update_field_metadata(catalog, TABLE, request, None);
    let fields = Some(HashMap::from([("double".to_owned(), unit.clone())]));
    returns("UpdateFieldMetadata", fields, updated, |updated| updated.fields).await;
    let updated = table_api::update_table_schema_metadata(catalog, TABLE, unit.clone(), None, None);
    returns("UpdateTableSchemaMetadata", unit, updated, |metadata| metadata).await;

    let request = AlterTableDropColumnsRequest::new(strings(["double"]));
    let drop = table_api::alter_table_drop_columns(catalog, TABLE, request, None);
    succeeds("AlterTableDropColumns", drop).await;

    let stats = table_api::get_table_stats(catalog, TABLE, Default::default(), None);
    returns("GetTableStats", 5, stats, |stats| stats.num_rows).await;
}

async fn indexes(catalog: &Configuration) {
    let request = |column: &str, kind: &str, name: &str| CreateTableIndexRequest {
        name: Some(name.to_owned()),
        ..CreateTableIndexRequest::new(column.to_owned(), kind.to_owned())
    };
    let scalar = || {
        let request = request("id", "BTREE", "by_id");
        table_api::create_table_scalar_index(catalog, TABLE, request, None)
    };
    succeeds("CreateTableScalarIndex", scalar()).await;
    succeeds("CreateTableScalarIndex: again", scalar()).await;
    let text = table_api::create_table_index(catalog, TABLE, request("text", "FTS", "by_text"), None);
    succeeds("CreateTableIndex", text).await;

    let list = table_api::list_table_indices(catalog, TABLE, Default::default(), None);
    returns("ListTableIndices", strings(["by_id", "by_text"]), list, |page| {
        let mut names: Vec<_> = page.indexes.into_iter().map(|index| index.index_name).collect();
        names.sort();
        names
    })
    .await;

    let stats = table_api::describe_table_index_stats(catalog, TABLE, "by_id", Default::default(), None);
    returns("DescribeTableIndexStats", Some(5), stats, |stats| stats.num_indexed_rows).await;

    let string_query = Some(Box::new(StringFtsQuery::new("changed".to_owned())));
    let search = QueryTableRequestFullTextQuery { string_query, ..Default::default() };
    let request = QueryTableRequest {
        full_text_query: Some(Box::new(search)),
        ..QueryTableRequest::new(5, Default::default())
    };
    query(catalog, "QueryTable: by text", request, &[1]).await;

    let drop = table_api::drop_table_index(catalog, TABLE, "by_text", None, None);
    succeeds("DropTableIndex", drop).await;
}

async fn tags_and_branches(catalog: &Configuration) {
    let create = CreateTableTagRequest::new("first".to_owned(), 1);
    succeeds("CreateTableTag", table_api::create_table_tag(catalog, TABLE, create, None)).await;
    let update = UpdateTableTagRequest::new("first".to_owned(), 2);
    succeeds("UpdateTableTag", table_api::update_table_tag(catalog, TABLE, update, None)).await;
    let request = GetTableTagVersionRequest::new("first".to_owned());
    let version = table_api::get_table_tag_version(catalog, TABLE, request, None);
    returns("GetTableTagVersion", 2, version, |tag| tag.version).await;
    let list = table_api::list_table_tags(catalog, TABLE, None, None, None);
    returns("ListTableTags", Some(2), list, |page| page.tags.get("first").map(|tag| tag.version)).await;
    let delete = DeleteTableTagRequest::new("first".to_owned());
    succeeds("DeleteTableTag", table_api::delete_table_tag(catalog, TABLE, delete, None)).await;

    let create = CreateTableBranchRequest::new("work".to_owned());
    succeeds("CreateTableBranch", table_api::create_table_branch(catalog, TABLE, create, None)).await;
    let list = table_api::list_table_branches(catalog, TABLE, None, None, None);
    returns("ListTableBranches", strings(["work"]), list, |page| page.branches.into_keys().collect()).await;
    let insert = table_api::insert_into_table(catalog, TABLE, rows(&[7]), None, Some("work"), None);
    succeeds("InsertIntoTable: on a branch", insert).await;
    let request = CountTableRowsRequest { branch: Some("work".to_owned()), ..Default::default() };
    let count = table_api::count_table_rows(catalog, TABLE, request, None);
    returns("CountTableRows: on a branch", 6, count, |rows| rows).await;
    let delete = DeleteTableBranchRequest::new("work".to_owned());
    succeeds("DeleteTableBranch", table_api::delete_table_branch(catalog, TABLE, delete, None)).await;
}

async fn versions(catalog: &Configuration) {
    let mut found = Vec::new();
    let mut token: Option<String> = None;
    loop {
        let token_now = token.as_deref();
        let page = table_api::list_table_versions(catalog, TABLE, None, None, token_now, Some(4), Some(true));
        let Some(page) = succeeds("ListTableVersions: a page", page).await else { break };
        found.extend(page.versions.iter().map(|version| version.version));
        token = page.page_token.filter(|token| !token.is_empty());
        if token.is_none() {
            break;
        }
    }
    let newest = found.first().copied().unwrap_or_default();
    expect("ListTableVersions: all pages", found, (1..=newest).rev().collect());

    let describe = |version| {
        let request = DescribeTableVersionRequest { version, ..Default::default() };
        table_api::describe_table_version(catalog, TABLE, request, None)
    };
    returns("DescribeTableVersion", 1, describe(Some(1)), |found| found.version.version).await;
    returns("DescribeTableVersion: the newest", newest, describe(None), |found| found.version.version).await;

    let restore = table_api::restore_table(catalog, TABLE, RestoreTableRequest::new(1), None);
    succeeds("RestoreTable", restore).await;
    let count = table_api::count_table_rows(catalog, TABLE, Default::default(), None);
    returns("CountTableRows: after a restore", 3, count, |rows| rows).await;

    let request = BatchDeleteTableVersionsRequest::new(vec![VersionRange::new(2, 4)]);
    let delete = table_api::batch_delete_table_versions(catalog, TABLE, request, None);
    returns("BatchDeleteTableVersions", Some(2), delete, |deleted| deleted.deleted_count).await;
}

/// Declares a table and writes the first version of it, which is then to be committed. Returns its manifest.
async fn stage(catalog: &Configuration, id: &str) -> String {
    let copied = format!("{id}_source");
    let source = table_api::create_table(catalog, &copied, rows(&[1, 2]), None, None, None, None);
    let source = succeeds("CreateTable: to copy", source).await.unwrap_or_default();
    let target = table_api::declare_table(catalog, id, Default::default(), None);
    let target = succeeds("DeclareTable: for a copy", target).await.unwrap_or_default();
    let [source, target] = [source.location, target.location].map(Option::unwrap_or_default);
    stage_copy(&source, &target).expect("the folders of the tables are on this machine")
}

async fn commits(catalog: &Configuration) {
    let create = |manifest: String| {
        let request = CreateTableVersionRequest::new(1, manifest);
        table_api::create_table_version(catalog, "demo$one", request, None)
    };
    let manifest = stage(catalog, "demo$one").await;
    let version = |created: CreateTableVersionResponse| created.version.map(|version| version.version);
    returns("CreateTableVersion", Some(1), create(manifest.clone()), version).await;
    returns("CreateTableVersion: repeated", Some(1), create(manifest.clone()), version).await;
    let other = manifest.replace("6f96", "7f96");
    refused("CreateTableVersion: another manifest", CONCURRENT_MODIFICATION, create(other)).await;

    let manifest = stage(catalog, "demo$two").await;
    let entry = CreateTableVersionEntry::new(strings(["demo", "two"]), 1, manifest);
    let request = BatchCreateTableVersionsRequest::new(vec![entry]);
    let create = table_api::batch_create_table_versions(catalog, request, None);
    returns("BatchCreateTableVersions", vec![1], create, |created| {
        created.versions.iter().map(|version| version.version).collect()
    })
    .await;

    let manifest = stage(catalog, "demo$three").await;
    let id = Some(strings(["demo", "three"]));
    let version = CreateTableVersionRequest { id, ..CreateTableVersionRequest::new(1, manifest) };
    let id = Some(strings(["demo", "four"]));
    let declared = DeclareTableRequest { id, ..Default::default() };
    let operations = vec![
        CommitTableOperation { create_table_version: Some(Box::new(version)), ..Default::default() },
        CommitTableOperation { declare_table: Some(Box::new(declared)), ..Default::default() },
    ];
    let request = BatchCommitTablesRequest::new(operations);
    let commit = transaction_api::batch_commit_tables(catalog, request, None);
    returns("BatchCommitTables", vec![(true, false), (false, true)], commit, |committed| {
        let kinds = |result: &CommitTableResult| {
            (result.create_table_version.is_some(), result.declare_table.is_some())
        };
        committed.results.iter().map(kinds).collect()
    })
    .await;
    for id in ["demo$one", "demo$two", "demo$three"] {
        let count = table_api::count_table_rows(catalog, id, Default::default(), None);
        returns("CountTableRows: of a committed version", 2, count, |rows| rows).await;
    }
}

async fn transactions(catalog: &Configuration) {
    let describe =
        transaction_api::describe_transaction(catalog, "demo$rust$people$1", Default::default(), None);
    let status = |found: DescribeTransactionResponse| found.status.to_lowercase();
    returns("DescribeTransaction", "succeeded".to_owned(), describe, status).await;

    let set = AlterTransactionSetProperty {
        key: Some("owner".to_owned()),
        value: Some("ann".to_owned()),
        ..Default::default()
    };
    let action = AlterTransactionAction { set_property_action: Some(Box::new(set)), ..Default::default() };
    let request = AlterTransactionRequest::new(vec![action]);
    let alter = transaction_api::alter_transaction(catalog, "demo$rust$people$1", request, None);
    refused("AlterTransaction", UNSUPPORTED, alter).await;
}

/// A backfill of a plain column, and materialized views.
async fn unsupported(catalog: &Configuration) {
    let request = AlterTableBackfillColumnsRequest::new("text".to_owned());
    let backfill = table_api::alter_table_backfill_columns(catalog, TABLE, request, None);
    refused("AlterTableBackfillColumns", INVALID_INPUT, backfill).await;
    let kind = create_materialized_view_request::Kind::Query;
    let request = CreateMaterializedViewRequest::new(kind, "SELECT 1".to_owned(), String::new());
    let create = materialized_view_api::create_materialized_view(catalog, "demo$view", request, None);
    refused("CreateMaterializedView", UNSUPPORTED, create).await;
    let refresh = materialized_view_api::refresh_materialized_view(catalog, "demo$view", None, None);
    refused("RefreshMaterializedView", UNSUPPORTED, refresh).await;
}

async fn denied(reader: &Configuration) {
    let count = table_api::count_table_rows(reader, TABLE, Default::default(), None);
    returns("CountTableRows: as a reader", 3, count, |rows| rows).await;
    let insert = table_api::insert_into_table(reader, TABLE, rows(&[9]), None, None, None);
    refused("InsertIntoTable: denied", PERMISSION_DENIED, insert).await;
    let commit = CreateTableVersionRequest::new(2, "any.manifest".to_owned());
    let commit = table_api::create_table_version(reader, TABLE, commit, None);
    refused("CreateTableVersion: denied", PERMISSION_DENIED, commit).await;
}

async fn unauthenticated(nobody: &Configuration) {
    let list = namespace_api::list_namespaces(nobody, "demo", None, None, None);
    refused("ListNamespaces: without a valid key", UNAUTHENTICATED, list).await;
}

async fn removals(catalog: &Configuration) {
    let deregister = table_api::deregister_table(catalog, "demo$one", Default::default(), None);
    let deregistered = succeeds("DeregisterTable", deregister).await.unwrap_or_default();
    let location = deregistered.location.unwrap_or_default();
    let folder = location.rsplit('/').next().unwrap_or_default();
    let register = RegisterTableRequest::new(folder.to_owned());
    let register = table_api::register_table(catalog, "demo$registered", register, None);
    succeeds("RegisterTable", register).await;

    succeeds("DropTable", table_api::drop_table(catalog, TABLE, None)).await;
    let drop = |id, behavior: Option<&str>| {
        let behavior = behavior.map(str::to_owned);
        let request = DropNamespaceRequest { behavior, ..Default::default() };
        namespace_api::drop_namespace(catalog, id, request, None)
    };
    succeeds("DropNamespace", drop(NAMESPACE, None)).await;
    succeeds("DropNamespace: with its content", drop("demo", Some("Cascade"))).await;
}
