use std::io::Cursor;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int32Type};
use arrow_array::{ArrayRef, FixedSizeListArray, Int32Array, RecordBatch, StringArray};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::StreamWriter;

/// An Arrow stream of rows with these ids, each with a text and a vector `[id, 1]`.
pub fn rows(ids: &[i32]) -> Vec<u8> {
    let texts = ids.iter().map(|id| format!("text {id}"));
    let vectors = ids.iter().map(|&id| Some(vec![Some(id as f32), Some(1.0)]));
    let columns: [(&str, ArrayRef); 3] = [
        ("id", Arc::new(Int32Array::from(ids.to_vec()))),
        ("text", Arc::new(StringArray::from_iter_values(texts))),
        ("vector", Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(vectors, 2))),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).expect("a schema");
    writer.write(&batch).expect("a batch of that schema");
    writer.into_inner().expect("a complete stream")
}

/// The ids in an Arrow file, in order.
pub fn ids_of(file: &[u8]) -> Result<Vec<i32>, String> {
    let reader = FileReader::try_new(Cursor::new(file), None).map_err(|error| error.to_string())?;
    let mut ids = Vec::new();
    for batch in reader {
        let batch = batch.map_err(|error| error.to_string())?;
        let column = batch.column_by_name("id").ok_or("no column id")?;
        ids.extend_from_slice(column.as_primitive::<Int32Type>().values());
    }
    Ok(ids)
}
