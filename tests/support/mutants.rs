//! Small C programs that differ a little, as the mutants of a localization do.

use hearth_client::protocol::{Order, RunInput};

/// A program of the size of a bug report.
const SEED_PROGRAM: &str = "struct S { int x : 5; unsigned y : 11; } s;\n\
    static unsigned long t[16];\n\
    int g(struct S *p, int n) {\n  int sum = 0;\n  while (n-- > 0) {\n    p->x += n;\n    sum += p->x * p->y;\n    \
    if (sum & 1)\n      continue;\n    p->y ^= sum;\n    t[n & 15] = sum + 7;\n  }\n  return sum;\n}\n\
    int main(void) {\n  return g(&s, 9) == 3;\n}\n";

/// The characters that are replaced, each by another of its kind.
const KINDS: [&[u8]; 2] = [b"+*&^|", b"123456789"];

/// A mutant: one or two operators or digits of the seed program are others. Number 0 is the program itself.
fn mutant(number: usize) -> String {
    let mut text = SEED_PROGRAM.as_bytes().to_vec();
    let places: Vec<(usize, &[u8], usize)> = (0..text.len())
        .filter_map(|at| {
            // Words like `->`, `+=` and `&s` stay whole.
            let is_alone =
                text.get(at + 1).is_some_and(|next| next.is_ascii_whitespace() || b";])".contains(next))
                    && at.checked_sub(1).is_some_and(|before| text[before] == b' ');
            let kind = KINDS.iter().find(|kind| kind.contains(&text[at]) && is_alone)?;
            let place = kind.iter().position(|&byte| byte == text[at])?;
            Some((at, *kind, place))
        })
        .collect();
    // Each place with each choice but its own, and then pairs of them.
    let single: Vec<(usize, u8)> = places
        .iter()
        .flat_map(|&(at, kind, place)| {
            (1..kind.len()).map(move |step| (at, kind[(place + step) % kind.len()]))
        })
        .collect();
    let Some(number) = number.checked_sub(1) else { return SEED_PROGRAM.to_owned() };
    let mut change = |(at, byte): (usize, u8)| text[at] = byte;
    change(single[number % single.len()]);
    if let Some(pair) = (number / single.len()).checked_sub(1) {
        // The second one is elsewhere, a prime number of steps further each time.
        change(single[(number + 17 * (pair + 1)) % single.len()]);
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Compiles of mutants by a subject; `level` is a GCC's level of optimization.
pub fn mutant_order(subject: &str, level: &str) -> Order {
    let options = if subject.starts_with("tcc") { ["-c"].as_slice() } else { &["-quiet", level] };
    let arguments = options.iter().chain(&["{}", "-o", "output"]).map(|&word| word.to_owned()).collect();
    Order { subject: subject.to_owned(), arguments, ..Order::default() }
}

/// A run on a mutant.
pub fn mutant_input(number: usize) -> RunInput {
    RunInput { input: Some(mutant(number).as_str().into()), ..RunInput::default() }
}
