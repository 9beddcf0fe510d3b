use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

/// Does what a writer does before a commit: copies the data of a table with a single version into the folder of a
/// declared table, its manifest under a name that no version has yet. Returns the path of that manifest.
pub fn stage_copy(source: &str, target: &str) -> io::Result<String> {
    let (source, target) = (Path::new(source), Path::new(target));
    for folder in ["data", "_transactions"] {
        copy_files(&source.join(folder), &target.join(folder))?;
    }
    let versions = target.join("_versions");
    fs::create_dir_all(&versions)?;
    for entry in fs::read_dir(source.join("_versions"))? {
        let manifest = entry?.path();
        if manifest.extension() == Some(OsStr::new("manifest")) {
            let name = manifest.file_name().unwrap_or_default().display();
            let staged = versions.join(format!("{name}-6f9619ff-8b86-4d01-b42d-00cf4fc964ff"));
            fs::copy(&manifest, &staged)?;
            return Ok(staged.display().to_string().trim_start_matches('/').to_owned());
        }
    }
    Err(io::Error::other("the table has no version"))
}

fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}
