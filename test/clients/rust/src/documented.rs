//! The program of a page of `docs/clients`.
include!(env!("DOCUMENTED_PROGRAM"));
