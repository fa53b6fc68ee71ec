//! A function's counts as sums of its counters, made once and used for every run.
//!
//! The flow solver takes the same steps whatever the counters are, and each step adds or subtracts, so every
//! count is a sum of counters with small factors. The steps are taken once with sums in place of numbers. Loops
//! on one line are no sums: the simple ones are the smallest of some sums, and a function with others is left
//! to the solver.

use super::coverage::Workspace;
use super::notes::ENTRY_BLOCK;
use super::object_map::{Function, NO_COUNTER, ObjectMap, SLOT_COUNTED_BY_GROUPS};
use super::solve::{Graph, Step};
use rustc_hash::FxHashMap;

/// A function whose sums have more terms for each of its arcs is left to the solver.
const TERMS_PER_ARC: usize = 64;

/// The sums of many functions, one after the other, as words.
///
/// A sum is its number of terms and the terms: twice the counter, plus one if it is subtracted. A function is
/// its number of calls; the lines that run as often as one arc is taken, in runs of lines with following ids:
/// how many runs, and for each the first id, the number of lines and the counter; its other lines: how many, and
/// for each its id and sum; its loops: how many, and for each the line's id, the number of sums, and the sums.
#[derive(Debug, Clone, Default)]
pub struct Sums {
    words: Vec<u32>,
}

/// Where a function's sums begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start(u32);

/// Counters and their factors, none of them zero, in order.
type Factors = Vec<(u32, i32)>;

impl Sums {
    /// Its memory, in bytes.
    #[must_use]
    pub fn own_bytes(&self) -> usize {
        size_of::<u32>() * self.words.len()
    }

    /// Adds a function's sums; `None` if it is to be left to the solver. `lines` are the ids of the slots.
    pub fn add(
        &mut self,
        map: &ObjectMap<'_>,
        index: usize,
        lines: &[u32],
        workspace: &mut Workspace,
    ) -> Option<Start> {
        let function = &map.functions[index];
        let start = Start(u32::try_from(self.words.len()).ok()?);
        let solved = Solved::new(map, function, workspace)?;
        let loops = loops(map, function, &solved, lines)?;
        let sums = line_sums(map, function, &solved, lines);
        self.push_sum(&solved.blocks[ENTRY_BLOCK as usize]);
        let is_single = |factors: &Factors| matches!(factors[..], [(_, 1)]);
        let (singles, others): (Vec<_>, Vec<_>) = sums.iter().partition(|(_, factors)| is_single(factors));
        let follows = |a: &&(u32, Factors), b: &&(u32, Factors)| a.0 + 1 == b.0 && a.1 == b.1;
        self.words.push(singles.chunk_by(follows).count() as u32);
        for run in singles.chunk_by(follows) {
            self.words.extend([run[0].0, run.len() as u32, run[0].1[0].0]);
        }
        self.words.push(others.len() as u32);
        for (line, factors) in others {
            self.words.push(*line);
            self.push_sum(factors);
        }
        self.words.push(loops.len() as u32);
        for (line, forms) in &loops {
            self.words.extend([*line, forms.len() as u32]);
            for factors in forms {
                self.push_sum(factors);
            }
        }
        Some(start)
    }

    fn push_sum(&mut self, factors: &Factors) {
        let begin = self.words.len();
        self.words.push(0);
        for &(counter, factor) in factors {
            let term = counter << 1 | u32::from(factor < 0);
            self.words.extend(std::iter::repeat_n(term, factor.unsigned_abs() as usize));
        }
        self.words[begin] = (self.words.len() - begin - 1) as u32;
    }

    /// Calls `add` with what changes of the lines between two sets of counters: the first line, the number of
    /// lines, and what is added to each. Returns the change of the number of calls. `changes` is workspace.
    #[inline]
    pub fn change(
        &self,
        start: Start,
        old: &[i64],
        new: &[i64],
        changes: &mut Vec<i64>,
        mut add: impl FnMut(u32, u32, i64),
    ) -> i64 {
        changes.clear();
        changes.extend(new.iter().zip(old).map(|(&new, &old)| new.wrapping_sub(old)));
        let mut reader = Reader { words: &self.words[start.0 as usize..] };
        let calls = reader.sum(changes);
        for &[line, count, counter] in reader.runs() {
            let change = changes[counter as usize];
            if change != 0 {
                add(line, count, change);
            }
        }
        for _ in 0..reader.word() {
            let line = reader.word();
            let change = reader.sum(changes);
            if change != 0 {
                add(line, 1, change);
            }
        }
        for _ in 0..reader.word() {
            let line = reader.word();
            let count = reader.word();
            let (mut smallest_old, mut smallest_new) = (i64::MAX, i64::MAX);
            for _ in 0..count {
                let terms = reader.terms();
                smallest_old = smallest_old.min(sum(terms, old));
                smallest_new = smallest_new.min(sum(terms, new));
            }
            // A loop with an arc that was not taken was not run through.
            add(line, 1, smallest_new.max(0).wrapping_sub(smallest_old.max(0)));
        }
        calls
    }
}

struct Reader<'a> {
    words: &'a [u32],
}

impl<'a> Reader<'a> {
    #[inline]
    fn word(&mut self) -> u32 {
        let (&word, rest) = self.words.split_first().unwrap_or((&0, &[]));
        self.words = rest;
        word
    }

    #[inline]
    fn terms(&mut self) -> &'a [u32] {
        let count = self.word() as usize;
        let (terms, rest) = self.words.split_at(count);
        self.words = rest;
        terms
    }

    #[inline]
    fn runs(&mut self) -> &'a [[u32; 3]] {
        let count = self.word() as usize;
        let (runs, rest) = self.words.split_at(3 * count);
        self.words = rest;
        runs.as_chunks().0
    }

    #[inline]
    fn sum(&mut self, counters: &[i64]) -> i64 {
        sum(self.terms(), counters)
    }
}

#[inline]
fn sum(terms: &[u32], counters: &[i64]) -> i64 {
    terms.iter().fold(0_i64, |sum, &term| {
        let value = counters.get((term >> 1) as usize).copied().unwrap_or(0);
        let sign = i64::from(term & 1);
        sum.wrapping_add((value ^ -sign).wrapping_add(sign))
    })
}

/// The factors of all arcs and blocks of a function.
struct Solved {
    arcs: Vec<Factors>,
    blocks: Vec<Factors>,
}

impl Solved {
    fn new(map: &ObjectMap<'_>, function: &Function, workspace: &mut Workspace) -> Option<Self> {
        let graph = Graph::of(map, function);
        let steps = steps(graph, workspace)?;
        let incoming = incoming(graph);
        let mut solved =
            Self { arcs: vec![Vec::new(); graph.arcs.len()], blocks: vec![Vec::new(); graph.block_count()] };
        for (factors, arc) in solved.arcs.iter_mut().zip(graph.arcs) {
            if arc.counter != NO_COUNTER {
                factors.push((arc.counter, 1));
            }
        }
        let mut adder = FactorAdder::new(function.counter_count as usize);
        let mut terms = 0;
        for step in steps {
            let (block, outgoing, arc) = match step {
                Step::Block { block, outgoing } => (block, outgoing, None),
                Step::Arc { arc, block, outgoing } => (block, outgoing, Some(arc)),
            };
            let side: &mut dyn Iterator<Item = u32> = if outgoing {
                &mut graph.arcs_of(block)
            } else {
                &mut incoming[block as usize].iter().copied()
            };
            let sign = if arc.is_some() { -1 } else { 1 };
            for other in side.filter(|&other| Some(other) != arc) {
                adder.add(&solved.arcs[other as usize], sign);
            }
            if arc.is_some() {
                adder.add(&solved.blocks[block as usize], 1);
            }
            let factors = adder.take();
            terms += factors.len();
            if terms > TERMS_PER_ARC * (graph.arcs.len() + TERMS_PER_ARC) {
                return None;
            }
            match arc {
                Some(arc) => solved.arcs[arc as usize] = factors,
                None => solved.blocks[block as usize] = factors,
            }
        }
        Some(solved)
    }
}

/// The steps that solve a graph; `None` if it cannot be solved.
fn steps(graph: Graph<'_>, workspace: &mut Workspace) -> Option<Vec<Step>> {
    workspace.solver.steps = Some(Vec::new());
    let solved = workspace.solver.solve(graph, &[], &mut vec![0; graph.arcs.len()]);
    workspace.solver.steps.take().filter(|_| solved)
}

/// The arcs that lead to each block.
fn incoming(graph: Graph<'_>) -> Vec<Vec<u32>> {
    let mut incoming = vec![Vec::new(); graph.block_count()];
    for (index, arc) in (0..).zip(graph.arcs) {
        incoming[arc.destination() as usize].push(index);
    }
    incoming
}

/// Adds up factors.
struct FactorAdder {
    /// By counter.
    factors: Vec<i32>,
    touched: Vec<u32>,
}

impl FactorAdder {
    fn new(counter_count: usize) -> Self {
        Self { factors: vec![0; counter_count], touched: Vec::new() }
    }

    fn add(&mut self, factors: &Factors, sign: i32) {
        for &(counter, factor) in factors {
            self.factors[counter as usize] += factor * sign;
            self.touched.push(counter);
        }
    }

    fn take(&mut self) -> Factors {
        self.touched.sort_unstable();
        self.touched.dedup();
        let taken = self
            .touched
            .drain(..)
            .map(|counter| (counter, std::mem::take(&mut self.factors[counter as usize])));
        taken.filter(|&(_, factor)| factor != 0).collect()
    }
}

/// What the function adds to each line, loops left out, by line id.
fn line_sums(
    map: &ObjectMap<'_>,
    function: &Function,
    solved: &Solved,
    lines: &[u32],
) -> Vec<(u32, Factors)> {
    let graph = Graph::of(map, function);
    let mut shares: Vec<(u32, &Factors)> = Vec::new();
    let mut add = |slot: u32, factors| shares.push((lines[slot as usize], factors));
    for (number, factors) in solved.blocks.iter().enumerate() {
        let range =
            graph.blocks[number].first_reference as usize..graph.blocks[number + 1].first_reference as usize;
        for &reference in &map.references[range] {
            if map.slots[(reference / 2) as usize].flags & SLOT_COUNTED_BY_GROUPS == 0 {
                add(reference / 2, factors);
            }
        }
    }
    let first_arc = graph.blocks[0].first_arc;
    for pair in map.groups_of(function).windows(2) {
        for &arc in &map.entries[pair[0].first_entry as usize..pair[1].first_entry as usize] {
            add(pair[0].slot, &solved.arcs[(arc - first_arc) as usize]);
        }
    }
    shares.sort_by_key(|&(line, _)| line);
    let mut adder = FactorAdder::new(function.counter_count as usize);
    let sum = |run: &[(u32, &Factors)]| {
        run.iter().for_each(|(_, factors)| adder.add(factors, 1));
        (run[0].0, adder.take())
    };
    shares.chunk_by(|a, b| a.0 == b.0).map(sum).collect()
}

/// The loops of each line as the sums of their arcs; `None` if there are loops that share blocks.
fn loops(
    map: &ObjectMap<'_>,
    function: &Function,
    solved: &Solved,
    lines: &[u32],
) -> Option<Vec<(u32, Vec<Factors>)>> {
    let graph = Graph::of(map, function);
    let mut found = Vec::new();
    for pair in map.groups_of(function).windows(2) {
        let members = &map.members[pair[0].first_member as usize..pair[1].first_member as usize];
        for circuit in simple_circuits(graph, members)? {
            let forms = circuit.into_iter().map(|arc| solved.arcs[arc as usize].clone()).collect();
            found.push((lines[pair[0].slot as usize], forms));
        }
    }
    Some(found)
}

/// The circuits among some blocks, each as its arcs; `None` if two share a block.
///
/// Blocks that no circuit can go through are taken away until none is left to take; what stays are circuits
/// apart from each other if every block has one arc to follow and one that leads to it.
fn simple_circuits(graph: Graph<'_>, members: &[u32]) -> Option<Vec<Vec<u32>>> {
    let mut left: Vec<u32> = members.to_vec();
    loop {
        let inside = |block: u32| left.contains(&block);
        let leads_on =
            |block: u32| graph.arcs_of(block).any(|arc| inside(graph.arcs[arc as usize].destination()));
        let is_led_to = |block: u32| {
            let leads_here =
                |&from: &u32| graph.arcs_of(from).any(|arc| graph.arcs[arc as usize].destination() == block);
            left.iter().any(leads_here)
        };
        let kept: Vec<u32> =
            left.iter().copied().filter(|&block| leads_on(block) && is_led_to(block)).collect();
        if kept.len() == left.len() {
            break;
        }
        left = kept;
    }
    let mut next: FxHashMap<u32, (u32, u32)> = FxHashMap::default();
    for &block in &left {
        let mut onward =
            graph.arcs_of(block).filter(|&arc| left.contains(&graph.arcs[arc as usize].destination()));
        let arc = onward.next()?;
        if onward.next().is_some() {
            return None;
        }
        next.insert(block, (arc, graph.arcs[arc as usize].destination()));
    }
    let mut circuits = Vec::new();
    let mut visited: Vec<u32> = Vec::new();
    for &start in &left {
        if visited.contains(&start) {
            continue;
        }
        let mut circuit = Vec::new();
        let mut block = start;
        loop {
            // With one way on and one way in for each block, every walk comes back to where it began.
            if visited.contains(&block) {
                return None;
            }
            visited.push(block);
            let &(arc, destination) = next.get(&block)?;
            circuit.push(arc);
            block = destination;
            if block == start {
                break;
            }
        }
        circuits.push(circuit);
    }
    Some(circuits)
}
