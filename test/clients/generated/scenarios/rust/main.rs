//! What a user does with a generated Rust client: scenario ARROW_FILE URL KEY

use catalog::apis::configuration::{ApiKey, Configuration};
use catalog::apis::{namespace_api as namespaces, table_api as tables, Error};
use catalog::models;
use std::fmt::Debug;

/// Prints the result of a step; `$action` is an expression with `?` and a comparison.
macro_rules! step {
    ($name:expr, $action:block) => {
        let outcome: Result<(), Box<dyn std::error::Error>> = async { $action }.await;
        match outcome {
            Ok(()) => println!("ok {}", $name),
            Err(error) => println!("failed {}: {}", $name, error.to_string().replace('\n', " ")),
        }
    };
}

fn expect<Value: PartialEq + Debug>(found: Value, expected: Value) -> Result<(), Box<dyn std::error::Error>> {
    if found == expected {
        return Ok(());
    }
    Err(format!("expected {expected:?}, found {found:?}").into())
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let rows = || std::path::PathBuf::from(&arguments[1]);
    let configuration = Configuration {
        base_path: arguments[2].clone(),
        api_key: Some(ApiKey { prefix: None, key: arguments[3].clone() }),
        ..Configuration::default()
    };
    let c = &configuration;
    let id = "rust$people";

    step!("create a namespace", {
        namespaces::create_namespace(c, "rust", models::CreateNamespaceRequest::new(), None).await?;
        Ok(())
    });
    step!("create a table", {
        tables::create_table(c, id, rows(), None, None, None, None, None, None).await?;
        Ok(())
    });
    step!("insert", {
        expect(tables::insert_into_table(c, id, rows(), None, None, None).await?.num_inserted_rows, Some(3))
    });
    step!("count", {
        expect(tables::count_table_rows(c, id, models::CountTableRowsRequest::new(), None).await?, 6)
    });
    step!("describe", {
        let mut request = models::DescribeTableRequest::new();
        request.load_detailed_metadata = Some(true);
        expect(tables::describe_table(c, id, request, None, None, None, None).await?.version, Some(2))
    });
    step!("query", {
        let mut query = models::QueryTableRequest::new();
        query.k = Some(3);
        query.vector = Some(Box::new(models::QueryTableRequestVector {
            single_vector: Some(vec![0.1, 0.2]),
            ..Default::default()
        }));
        query.columns = Some(Box::new(models::QueryTableRequestColumns {
            column_names: Some(vec!["id".into()]),
            ..Default::default()
        }));
        let found = tables::query_table(c, id, query, None).await?.bytes().await?;
        expect(&found[..6], b"ARROW1".as_slice())
    });
    step!("update", {
        let mut update = models::UpdateTableRequest::new(vec![vec!["id".into(), "id + 10".into()]]);
        update.predicate = Some("id = 1".into());
        expect(tables::update_table(c, id, update, None).await?.updated_rows, 2)
    });
    step!("add a column", {
        let mut column = models::AddColumnsEntry::new("twice".into());
        column.expression = Some("id * 2".into());
        let added = models::AlterTableAddColumnsRequest::new(vec![column]);
        expect(tables::alter_table_add_columns(c, id, added, None).await?.version, 4)
    });
    step!("list versions", {
        let versions = tables::list_table_versions(c, id, None, None, None, None, None).await?.versions;
        expect(versions[0].timestamp_millis > Some(1 << 40), true)
    });
    step!("list tables", {
        let listed = namespaces::list_tables(c, "rust", None, None, Some(1), None).await?.tables;
        expect(listed, vec!["people".to_string()])
    });
    step!("an error has its code", {
        let request = models::DescribeTableRequest::new();
        match tables::describe_table(c, "rust$missing", request, None, None, None, None).await {
            Err(Error::ResponseError(sent)) => expect(sent.content.contains("\"code\":4"), true),
            other => Err(format!("expected an error, found {other:?}").into()),
        }
    });
    step!("drop the table", {
        tables::drop_table(c, id, None).await?;
        Ok(())
    });
    step!("drop the namespace", {
        namespaces::drop_namespace(c, "rust", models::DropNamespaceRequest::new(), None).await?;
        Ok(())
    });
}
