//! Subjects as text and as JSON.

use std::path::Path;
use std::time::Duration;

use hearth_subject::build::Built;
use hearth_subject::{Entry, Manifest, Subject};
use serde_json::{Value, json};

use super::progress::words;

/// The list of subjects, as a table or as a JSON array.
pub(super) fn list(entries: &[Entry], as_json: bool) -> anyhow::Result<String> {
    if as_json {
        return to_text(&Value::Array(entries.iter().map(entry_json).collect()));
    }
    if entries.is_empty() {
        return Ok("no subjects yet: `hearth subject build tcc` makes a small one in seconds\n".into());
    }
    let header = ["SUBJECT", "KIND", "VERSION", "NOTES", "STATE"].map(String::from);
    let rows: Vec<[String; 5]> = std::iter::once(header).chain(entries.iter().map(row)).collect();
    Ok(table(&rows))
}

/// One subject in full, as text or as a JSON object.
pub(super) fn subject(subject: &Subject, as_json: bool) -> anyhow::Result<String> {
    if as_json {
        return to_text(&subject_json(subject));
    }
    let manifest = &subject.manifest;
    let mut lines = vec![
        ("subject", subject.id().to_string()),
        ("kind", manifest.kind.to_string()),
        ("version", manifest.version.clone().unwrap_or_else(|| "unknown".into())),
        ("compiled by", manifest.compiler.clone().unwrap_or_else(|| "unknown".into())),
        ("binary", subject.binary().display().to_string()),
        ("  sha256 recorded", manifest.binary.sha256.clone()),
    ];
    for (program, record) in subject.programs().iter().skip(1).zip(&manifest.with) {
        lines.push(("with", program.display().to_string()));
        lines.push(("  sha256 recorded", record.sha256.clone()));
    }
    let directories: Vec<_> =
        subject.notes_directories().iter().map(|path| path.display().to_string()).collect();
    lines.push(("notes", format!("{} files in {}", manifest.notes.count, directories.join(", "))));
    if let Some(source) = subject.source_directory() {
        lines.push(("source", source.display().to_string()));
    }
    if let Some(flags) = &manifest.flags {
        lines.push(("flags", flags.cflags.clone()));
        lines.push(("configured", flags.configure.clone()));
    }
    if let Some(package) = &manifest.source_package {
        lines.push(("package", package.path.display().to_string()));
        lines.push(("  sha256", package.sha256.clone()));
    }
    if manifest.build_seconds > 0 {
        lines.push(("build time", words(Duration::from_secs(manifest.build_seconds))));
    }
    let atlas = if subject.atlas_path().is_file() { "cached" } else { "not made yet" };
    lines.push(("atlas", atlas.into()));
    Ok(lines.iter().map(|(key, value)| format!("{key:<12} {value}\n")).collect())
}

/// What a build ended in.
pub(super) fn built(built: &Built) -> String {
    let Subject { manifest, .. } = &built.subject;
    let id = built.subject.id();
    if !built.fresh {
        return format!("{id} is already built: {}\n", built.subject.binary().display());
    }
    let time = words(Duration::from_secs(manifest.build_seconds));
    format!(
        "built {id} in {time}, {} .gcno files: {}\n",
        manifest.notes.count,
        built.subject.binary().display()
    )
}

fn row(entry: &Entry) -> [String; 5] {
    let none = || "-".to_string();
    match entry {
        Entry::Ready(subject) => {
            let Manifest { kind, version, notes, .. } = &subject.manifest;
            let state = match is_intact(subject) {
                true => "ready".to_string(),
                false => format!("its binary is gone: {}", subject.binary().display()),
            };
            let version = version.clone().unwrap_or_else(none);
            [subject.id().into(), kind.to_string(), version, notes.count.to_string(), state]
        }
        Entry::Incomplete { id, builder: Some(pid) } => {
            [id.to_string(), none(), none(), none(), format!("being built by process {pid}")]
        }
        Entry::Incomplete { id, builder: None } => {
            let state = format!("incomplete (resume with: {})", id.build_command());
            [id.to_string(), none(), none(), none(), state]
        }
        Entry::Damaged { id, error } => [id.to_string(), none(), none(), none(), error.to_string()],
    }
}

fn entry_json(entry: &Entry) -> Value {
    match entry {
        Entry::Ready(subject) => subject_json(subject),
        Entry::Incomplete { id, builder } => json!({
            "id": id.as_str(),
            "state": if builder.is_some() { "building" } else { "incomplete" },
            "resume": id.build_command(),
        }),
        Entry::Damaged { id, error } => json!({
            "id": id.as_str(),
            "state": "damaged",
            "error": error.to_string(),
        }),
    }
}

fn subject_json(subject: &Subject) -> Value {
    json!({
        "id": subject.id(),
        "state": if is_intact(subject) { "ready" } else { "binary missing" },
        "directory": subject.directory,
        "binary": subject.binary(),
        "notes_directory": subject.notes_directory(),
        "source_directory": subject.source_directory(),
        "manifest": subject.manifest,
    })
}

/// Added subjects are the user's files, and those move.
fn is_intact(subject: &Subject) -> bool {
    Path::new(&subject.binary()).is_file()
}

fn to_text(value: &Value) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

/// Columns padded to their widest cell; the last one is left as it is.
fn table(rows: &[[String; 5]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 4] = std::array::from_fn(width);
    let line = |row: &[String; 5]| {
        let padded = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}  "));
        padded.collect::<String>() + &row[4] + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align() {
        let row = |first: &str| [first, "b", "c", "d", "e"].map(String::from);
        assert_eq!(table(&[row("a"), row("long")]), "a     b  c  d  e\nlong  b  c  d  e\n");
    }

    #[test]
    fn an_empty_list_says_what_to_do() {
        assert!(list(&[], false).unwrap().contains("hearth subject build tcc"));
        assert_eq!(list(&[], true).unwrap(), "[]\n");
    }
}
