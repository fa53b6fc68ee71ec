//! Cobertura's XML, which CI services show beside a change.

use super::report::{LineTotals, Report, SourceTotals};
use crate::name_text;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use std::collections::BTreeMap;
use std::io;

/// Appends the whole report as one document; a package is a directory, a class a file.
///
/// # Errors
/// None in practice: the writer's type asks for it.
pub fn write(report: &Report, timestamp_s: u64, out: &mut Vec<u8>) -> io::Result<()> {
    let mut xml = Writer::new_with_indent(out, b' ', 1);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    xml.write_event(Event::DocType(BytesText::from_escaped(
        "coverage SYSTEM 'http://cobertura.sourceforge.net/xml/coverage-04.dtd'",
    )))?;
    let mut packages: BTreeMap<String, Vec<(String, &SourceTotals)>> = BTreeMap::new();
    for (name, source) in &report.sources {
        let name = name_text::shown(&name_text::to_bytes(name));
        let directory = name.rsplit_once('/').map_or("", |(directory, _)| directory);
        packages.entry(directory.to_owned()).or_default().push((name, source));
    }
    let mut root = start("coverage", &Summary::of(report.sources.values()).rates());
    root.push_attribute(("version", concat!("hearth ", env!("CARGO_PKG_VERSION"))));
    root.push_attribute(("timestamp", timestamp_s.to_string().as_str()));
    for (key, value) in Summary::of(report.sources.values()).counts() {
        root.push_attribute((key, value.as_str()));
    }
    xml.write_event(Event::Start(root))?;
    xml.create_element("sources").write_inner_content(|xml| {
        xml.create_element("source").write_text_content(BytesText::new("/"))?;
        Ok(())
    })?;
    xml.write_event(Event::Start(BytesStart::new("packages")))?;
    for (directory, sources) in packages {
        let mut package = start("package", &Summary::of(sources.iter().map(|(_, source)| *source)).rates());
        package.push_attribute(("name", directory.trim_start_matches('/').replace('/', ".").as_str()));
        xml.write_event(Event::Start(package))?;
        xml.write_event(Event::Start(BytesStart::new("classes")))?;
        for (name, source) in sources {
            write_class(&mut xml, &name, source)?;
        }
        xml.write_event(Event::End(BytesEnd::new("classes")))?;
        xml.write_event(Event::End(BytesEnd::new("package")))?;
    }
    xml.write_event(Event::End(BytesEnd::new("packages")))?;
    xml.write_event(Event::End(BytesEnd::new("coverage")))?;
    xml.get_mut().push(b'\n');
    Ok(())
}

fn write_class(xml: &mut Writer<&mut Vec<u8>>, name: &str, source: &SourceTotals) -> io::Result<()> {
    let mut class = start("class", &Summary::of([source]).rates());
    class.push_attribute(("name", name.rsplit('/').next().unwrap_or(name)));
    class.push_attribute(("filename", name.trim_start_matches('/')));
    xml.write_event(Event::Start(class))?;
    xml.write_event(Event::Start(BytesStart::new("methods")))?;
    for (name, totals) in source.sorted_functions() {
        let called = if totals.execution_count != 0 { "1.0" } else { "0.0" };
        let mut method = BytesStart::new("method");
        method.push_attribute(("name", name_text::shown(name).as_str()));
        method.push_attribute(("signature", ""));
        method.push_attribute(("line-rate", called));
        method.push_attribute(("branch-rate", called));
        xml.write_event(Event::Start(method))?;
        xml.write_event(Event::Start(BytesStart::new("lines")))?;
        let mut line = BytesStart::new("line");
        line.push_attribute(("number", totals.start_line.to_string().as_str()));
        line.push_attribute(("hits", totals.execution_count.to_string().as_str()));
        xml.write_event(Event::Empty(line))?;
        xml.write_event(Event::End(BytesEnd::new("lines")))?;
        xml.write_event(Event::End(BytesEnd::new("method")))?;
    }
    xml.write_event(Event::End(BytesEnd::new("methods")))?;
    xml.write_event(Event::Start(BytesStart::new("lines")))?;
    for line in &source.lines {
        write_line(xml, line)?;
    }
    xml.write_event(Event::End(BytesEnd::new("lines")))?;
    xml.write_event(Event::End(BytesEnd::new("class")))
}

fn write_line(xml: &mut Writer<&mut Vec<u8>>, totals: &LineTotals) -> io::Result<()> {
    let mut line = BytesStart::new("line");
    line.push_attribute(("number", totals.number.to_string().as_str()));
    line.push_attribute(("hits", totals.count.to_string().as_str()));
    if totals.branches.is_empty() {
        line.push_attribute(("branch", "false"));
    } else {
        let all = totals.branches.len();
        let taken = totals.branches.iter().filter(|branch| branch.count != 0).count();
        line.push_attribute(("branch", "true"));
        line.push_attribute((
            "condition-coverage",
            format!("{}% ({taken}/{all})", taken * 100 / all).as_str(),
        ));
    }
    xml.write_event(Event::Empty(line))
}

fn start(element: &'static str, attributes: &[(&'static str, String)]) -> BytesStart<'static> {
    let mut start = BytesStart::new(element);
    for (key, value) in attributes {
        start.push_attribute((*key, value.as_str()));
    }
    start
}

/// What is found and hit in some sources.
#[derive(Default)]
struct Summary {
    lines: (usize, usize),
    branches: (usize, usize),
}

impl Summary {
    fn of<'a>(sources: impl IntoIterator<Item = &'a SourceTotals>) -> Self {
        let add = |a: (usize, usize), b: (usize, usize)| (a.0 + b.0, a.1 + b.1);
        sources.into_iter().fold(Self::default(), |sum, source| Self {
            lines: add(sum.lines, source.line_summary()),
            branches: add(sum.branches, source.branch_summary()),
        })
    }

    fn rates(&self) -> [(&'static str, String); 3] {
        let rate = |(found, hit): (usize, usize)| {
            if found == 0 { "0.0".to_owned() } else { format!("{:.4}", hit as f64 / found as f64) }
        };
        [
            ("line-rate", rate(self.lines)),
            ("branch-rate", rate(self.branches)),
            ("complexity", "0.0".to_owned()),
        ]
    }

    fn counts(&self) -> [(&'static str, String); 4] {
        [
            ("lines-covered", self.lines.1.to_string()),
            ("lines-valid", self.lines.0.to_string()),
            ("branches-covered", self.branches.1.to_string()),
            ("branches-valid", self.branches.0.to_string()),
        ]
    }
}
