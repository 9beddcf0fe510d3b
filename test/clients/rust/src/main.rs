//! The program of a page of `docs/clients.md`.
include!(env!("DOCUMENTED_PROGRAM"));
