//! What was judged: the most telling witnesses in full, all in a table.

use super::{diff, seconds};
use crate::markup::Escaped;
use hearth_localize::localization::{Localization, Witness};
use hearth_localize::oracle::Verdict;

/// Witnesses shown in full.
const TELLING: usize = 8;
/// Witnesses in the table; `--json` has all.
const LISTED: usize = 1000;

/// The witnesses.
pub fn section(failing: &str, found: &Localization) -> String {
    if found.witnesses.is_empty() {
        return "<p>Nothing was judged.</p>\n".to_owned();
    }
    let passing = telling(&found.witnesses);
    let shown = match passing.len() {
        0 => "<p>None of them passes, so nothing shows what the bug needs.</p>\n".to_owned(),
        all => {
            let which = match all {
                1 => "One passes".to_owned(),
                all if all > TELLING => format!("The {TELLING} most telling of {all} that pass"),
                all => format!("{all} pass, the most telling first"),
            };
            let witnesses: String =
                passing.iter().take(TELLING).map(|witness| article(failing, witness)).collect();
            format!(
                "<p>{which}. A witness tells the more, the fewer lines of the failing compile it did not execute: the bug \
                 is likely among those.</p>\n{witnesses}"
            )
        }
    };
    shown + &table(&found.witnesses, &passing)
}

/// Those that pass, the fewest lines missing first.
fn telling(witnesses: &[Witness]) -> Vec<&Witness> {
    let mut passing: Vec<&Witness> =
        witnesses.iter().filter(|witness| witness.verdict == Verdict::Pass).collect();
    passing.sort_by_key(|witness| (witness.lacks.unwrap_or(u64::MAX), witness.at));
    passing
}

fn article(failing: &str, witness: &Witness) -> String {
    let lacks = match witness.lacks {
        Some(1) => "did not execute 1 line of the failing compile".to_owned(),
        Some(lacks) => format!("did not execute {lacks} lines of the failing compile"),
        None => "was not compared with the failing compile".to_owned(),
    };
    let (how, what) = match &witness.program {
        Some(program) => ("Passes", diff::table(failing, program)),
        None => ("The program passes as it is with this", String::new()),
    };
    format!(
        "<article>\n<h3><code>{}</code></h3>\n<p class=\"quiet\">{how}; {lacks}; judged after {}.</p>\n{what}</article>\n",
        Escaped(&witness.change),
        seconds(witness.at)
    )
}

/// All of them: those that pass, then those that fail, then the others.
fn table(witnesses: &[Witness], passing: &[&Witness]) -> String {
    let of =
        |is_wanted: fn(Verdict) -> bool| witnesses.iter().filter(move |witness| is_wanted(witness.verdict));
    let failing = of(|verdict| verdict == Verdict::Fail);
    let others = of(|verdict| matches!(verdict, Verdict::Unusable(_)));
    let rows: String = passing
        .iter()
        .copied()
        .chain(failing)
        .chain(others)
        .take(LISTED)
        .map(|witness| {
            let (class, verdict) = match witness.verdict {
                Verdict::Pass => ("pass", "passes".to_owned()),
                Verdict::Fail => ("fail", "fails".to_owned()),
                Verdict::Unusable(reason) => ("neither", format!("neither: {reason}")),
            };
            let lacks = witness.lacks.map_or_else(|| "–".to_owned(), |lacks| lacks.to_string());
            format!(
                "<tr><th scope=\"row\"><code>{}</code></th><td class=\"{class}\">{verdict}</td>\
                 <td class=\"number\">{lacks}</td><td class=\"number\">{}</td></tr>\n",
                Escaped(&witness.change),
                seconds(witness.at)
            )
        })
        .collect();
    let rest = match witnesses.len().saturating_sub(LISTED) {
        0 => String::new(),
        rest => format!("<p>{rest} more are left out; <code>hearth localize --json</code> has all.</p>\n"),
    };
    format!(
        "<details>\n<summary>All {} that were judged</summary>\n<table class=\"witnesses\">\n<thead><tr>\
         <th scope=\"col\">Change</th><th scope=\"col\">Verdict</th><th scope=\"col\" class=\"number\">Lines missing</th>\
         <th scope=\"col\" class=\"number\">Judged after</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n{rest}</details>\n",
        witnesses.len()
    )
}
