//! Text in HTML and SVG: nothing that a program or a compiler writes can become markup, or hide.

use std::fmt::{self, Display, Formatter, Write};

/// A text as it is written between tags or in a quoted attribute.
pub(crate) struct Escaped<'a>(pub &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\t' | '\n' => f.write_char(c)?,
                // Control characters have pictures.
                '\0'..='\x1f' => f.write_char(char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'))?,
                '\x7f' => f.write_char('\u{2421}')?,
                '\u{80}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}')?,
                // What turns the direction of text makes code look like other code.
                '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                    write!(f, "[U+{:04X}]", c as u32)?;
                }
                _ => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_markup_and_nothing_hides() {
        for (text, escaped) in [
            ("a < b && c > 'd'", "a &lt; b &amp;&amp; c &gt; &#39;d&#39;"),
            ("</script><script>alert(\"1\")", "&lt;/script&gt;&lt;script&gt;alert(&quot;1&quot;)"),
            ("tab\tline\n", "tab\tline\n"),
            ("\0\x1b[31m\r\x7f\u{85}\u{ffff}", "\u{2400}\u{241b}[31m\u{240d}\u{2421}\u{fffd}\u{fffd}"),
            ("x\u{202e}y", "x[U+202E]y"),
            ("grüße \u{fffd}", "grüße \u{fffd}"),
        ] {
            assert_eq!(Escaped(text).to_string(), escaped);
        }
    }
}
