//! Prints "ok NAME" or "failed NAME: ERROR" for each step of a scenario.

use std::fmt::Debug;

use lance_namespace_reqwest_client::apis::Error;
use lance_namespace_reqwest_client::models::ErrorResponse;

/// Expects a call to succeed, and returns its response.
pub async fn succeeds<T, E>(name: &str, call: impl Future<Output = Result<T, Error<E>>>) -> Option<T> {
    match call.await {
        Ok(response) => {
            passed(name);
            Some(response)
        }
        Err(error) => {
            failed(name, &describe(error));
            None
        }
    }
}

/// Expects a call to succeed, and what `read` takes from its response to have this value.
pub async fn returns<T, E, V: PartialEq + Debug>(
    name: &str,
    expected: V,
    call: impl Future<Output = Result<T, Error<E>>>,
    read: impl FnOnce(T) -> V,
) {
    match call.await {
        Ok(response) => expect(name, read(response), expected),
        Err(error) => failed(name, &describe(error)),
    }
}

/// Expects a call to be refused with this status and error code.
pub async fn refused<T: Debug, E>(
    name: &str,
    (status, code): (u16, i32),
    call: impl Future<Output = Result<T, Error<E>>>,
) {
    match call.await {
        Ok(response) => failed(name, &format!("expected {status}, found {response:?}")),
        Err(Error::ResponseError(response)) => {
            let found = serde_json::from_str(&response.content).map(|error: ErrorResponse| error.code);
            expect(name, (response.status.as_u16(), found.ok()), (status, Some(code)));
        }
        Err(error) => failed(name, &describe(error)),
    }
}

/// Expects a value.
pub fn expect<V: PartialEq + Debug>(name: &str, found: V, expected: V) {
    if found == expected {
        passed(name);
    } else {
        failed(name, &format!("expected {expected:?}, found {found:?}"));
    }
}

fn describe<E>(error: Error<E>) -> String {
    match error {
        Error::Reqwest(error) => format!("{error:?}"),
        Error::Serde(error) => format!("unexpected response: {error}"),
        Error::Io(error) => error.to_string(),
        Error::ResponseError(response) => format!("{} {}", response.status, response.content),
    }
}

fn passed(name: &str) {
    println!("ok {name}");
}

fn failed(name: &str, error: &str) {
    println!("failed {name}: {}", error.replace('\n', " "));
}
