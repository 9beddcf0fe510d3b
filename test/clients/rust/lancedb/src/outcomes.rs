//! What a program reports of each call.

use std::fmt::Debug;

use arrow_array::RecordBatch;
use futures::TryStreamExt;
use lancedb::query::ExecutableQuery;

pub type Outcome<T> = Result<T, lancedb::Error>;

fn passed(name: &str) {
    println!("ok {name}");
}

fn failed(name: &str, error: &str) {
    println!("failed {name}: {}", error.replace('\n', " "));
}

/// Expects a call to succeed, and returns its result.
pub async fn succeeds<T>(name: &str, call: impl Future<Output = Outcome<T>>) -> Option<T> {
    match call.await {
        Ok(result) => {
            passed(name);
            Some(result)
        }
        Err(error) => {
            failed(name, &format!("{error:?}"));
            None
        }
    }
}

/// Expects a call to return this value.
pub async fn returns<T: PartialEq + Debug>(name: &str, expected: T, call: impl Future<Output = Outcome<T>>) {
    match call.await {
        Ok(found) if found == expected => passed(name),
        found => failed(name, &format!("expected {expected:?}, found {found:?}")),
    }
}

/// Expects a call to fail with an error whose text contains this.
pub async fn refused<T>(name: &str, expected: &str, call: impl Future<Output = Outcome<T>>) {
    match call.await {
        Err(error) if format!("{error:?}").contains(expected) => passed(name),
        Err(error) => failed(name, &format!("expected {expected}, found {error:?}")),
        Ok(_) => failed(name, &format!("expected {expected}, found a result")),
    }
}

/// Counts the rows of a query.
pub async fn rows(query: impl ExecutableQuery) -> Outcome<usize> {
    let batches: Vec<RecordBatch> = query.execute().await?.try_collect().await?;
    Ok(batches.iter().map(RecordBatch::num_rows).sum())
}
