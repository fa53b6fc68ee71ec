//! The flow solver: from the counters of some arcs to the counts of all arcs and blocks.
//!
//! Flow into a block equals flow out of it, so a block with one unknown arc on a side that is otherwise
//! known gives that arc away. The order of the steps is gcov's, which matters only where the counters
//! contradict each other.

use super::notes::{ENTRY_BLOCK, EXIT_BLOCK};
use super::object_map::{Arc, Block, Function, NO_COUNTER, ObjectMap};
use std::ops::Range;

/// One function's flow graph.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Graph<'a> {
    /// The blocks, with a closing entry.
    pub blocks: &'a [Block],
    /// The function's arcs.
    pub arcs: &'a [Arc],
    /// The graph is clang's.
    pub is_clang: bool,
}

impl<'a> Graph<'a> {
    /// The flow graph of a function.
    pub fn of(map: &'a ObjectMap<'_>, function: &Function) -> Self {
        let (blocks, arcs) = (map.blocks_of(function), &map.arcs[map.arc_range(function)]);
        Self { blocks, arcs, is_clang: map.is_clang }
    }

    /// How many blocks there are.
    pub fn block_count(&self) -> usize {
        self.blocks.len() - 1
    }

    /// The outgoing arcs of a block, counted within the function.
    pub fn arcs_of(&self, block: u32) -> Range<u32> {
        let base = self.blocks[0].first_arc;
        let block = block as usize;
        self.blocks[block].first_arc - base..self.blocks[block + 1].first_arc - base
    }
}

/// A step of the solver, which is the same whatever the counters are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// A block has the flow of its outgoing arcs, or of its incoming ones.
    Block { block: u32, outgoing: bool },
    /// An arc has what the other arcs on its side of a block leave of the block's flow.
    Arc { arc: u32, block: u32, outgoing: bool },
}

/// Workspace of the solver, and its result for one function.
#[derive(Debug, Default)]
pub(crate) struct Solver {
    /// The count of each block.
    pub blocks: Vec<i64>,
    /// The steps taken, if they are asked for.
    pub steps: Option<Vec<Step>>,
    /// The source block of each arc.
    arc_sources: Vec<u32>,
    nodes: Vec<Node>,
    known: Vec<u32>,
    unknown: Vec<u32>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Node {
    succ: Side,
    pred: Side,
    is_known: bool,
    on_known_stack: bool,
    on_unknown_stack: bool,
}

/// What is known of the arcs on one side of a block.
#[derive(Debug, Default, Clone, Copy)]
struct Side {
    /// Flow along the known arcs.
    sum: i64,
    /// How many arcs are unknown.
    unknown: u32,
    /// All unknown arcs xor-ed: the arc itself when one is left.
    unknown_arcs: u32,
}

impl Side {
    fn add_unknown(&mut self, arc: u32) {
        self.unknown += 1;
        self.unknown_arcs ^= arc;
    }

    fn add_known(&mut self, count: i64) {
        self.sum = self.sum.wrapping_add(count);
    }

    fn settle(&mut self, arc: u32, count: i64) {
        self.add_known(count);
        self.unknown -= 1;
        self.unknown_arcs ^= arc;
    }
}

impl Solver {
    /// Solves one function; `counters` may be empty if all are zero. Fills in `arc_counts` and `self.blocks`;
    /// false if the graph is unsolvable.
    pub fn solve(&mut self, graph: Graph<'_>, counters: &[i64], arc_counts: &mut [i64]) -> bool {
        self.set_up(graph, counters, arc_counts);
        let arcs = graph.arcs;
        loop {
            while let Some(block) = self.unknown.pop() {
                self.infer_block(block);
            }
            while let Some(block) = self.known.pop() {
                self.propagate(block, arcs, arc_counts);
            }
            if self.unknown.is_empty() {
                break;
            }
        }
        self.nodes.iter().all(|node| node.is_known)
    }

    fn set_up(&mut self, graph: Graph<'_>, counters: &[i64], arc_counts: &mut [i64]) {
        let count = graph.block_count();
        self.nodes.clear();
        self.nodes.resize(count, Node::default());
        self.blocks.clear();
        self.blocks.resize(count, 0);
        self.arc_sources.clear();
        self.arc_sources.resize(graph.arcs.len(), 0);
        self.known.clear();
        self.unknown.clear();
        for block in 0..count {
            for index in graph.arcs_of(block as u32) {
                let arc = &graph.arcs[index as usize];
                self.arc_sources[index as usize] = block as u32;
                let destination = arc.destination() as usize;
                if arc.counter == NO_COUNTER {
                    self.nodes[block].succ.add_unknown(index);
                    self.nodes[destination].pred.add_unknown(index);
                } else {
                    let value = counters.get(arc.counter as usize).copied().unwrap_or(0);
                    arc_counts[index as usize] = value;
                    self.nodes[block].succ.add_known(value);
                    self.nodes[destination].pred.add_known(value);
                }
            }
            self.nodes[block].on_unknown_stack = true;
            self.unknown.push(block as u32);
        }
        self.close_ends(graph);
    }

    /// The lack of arcs into the entry or out of the exit says nothing about their counts. Nor does it in
    /// clang's graphs for other blocks; in GCC's, gcov takes a block without outgoing arcs for never executed.
    fn close_ends(&mut self, graph: Graph<'_>) {
        const NEVER: u32 = u32::MAX / 2;
        if graph.arcs.iter().all(|arc| arc.destination() != ENTRY_BLOCK) {
            self.nodes[ENTRY_BLOCK as usize].pred.unknown = NEVER;
        }
        for (block, node) in (0..).zip(&mut self.nodes) {
            let is_end = block == EXIT_BLOCK || graph.is_clang;
            if is_end && graph.arcs_of(block).is_empty() {
                node.succ.unknown = NEVER;
            }
        }
    }

    fn infer_block(&mut self, block: u32) {
        let node = &mut self.nodes[block as usize];
        node.on_unknown_stack = false;
        let total = if node.succ.unknown == 0 {
            node.succ.sum
        } else if node.pred.unknown == 0 {
            node.pred.sum
        } else {
            return;
        };
        if let Some(steps) = &mut self.steps {
            steps.push(Step::Block { block, outgoing: node.succ.unknown == 0 });
        }
        node.is_known = true;
        node.on_known_stack = true;
        self.blocks[block as usize] = total;
        self.known.push(block);
    }

    fn propagate(&mut self, block: u32, arcs: &[Arc], arc_counts: &mut [i64]) {
        let count = self.blocks[block as usize];
        self.nodes[block as usize].on_known_stack = false;
        let succ = self.nodes[block as usize].succ;
        if succ.unknown == 1 {
            let arc = succ.unknown_arcs;
            let destination = arcs[arc as usize].destination();
            let value = count.wrapping_sub(succ.sum);
            self.record_arc(arc, block, true);
            self.settle(arc, value, block, destination, arc_counts);
            let node = self.nodes[destination as usize];
            self.wake(destination, node.pred.unknown);
        }
        let pred = self.nodes[block as usize].pred;
        if pred.unknown == 1 {
            let arc = pred.unknown_arcs;
            let source = self.arc_sources[arc as usize];
            let value = count.wrapping_sub(pred.sum);
            self.record_arc(arc, block, false);
            self.settle(arc, value, source, block, arc_counts);
            let node = self.nodes[source as usize];
            self.wake(source, node.succ.unknown);
        }
    }

    fn record_arc(&mut self, arc: u32, block: u32, outgoing: bool) {
        if let Some(steps) = &mut self.steps {
            steps.push(Step::Arc { arc, block, outgoing });
        }
    }

    fn settle(&mut self, arc: u32, value: i64, source: u32, destination: u32, arc_counts: &mut [i64]) {
        arc_counts[arc as usize] = value;
        self.nodes[source as usize].succ.settle(arc, value);
        self.nodes[destination as usize].pred.settle(arc, value);
    }

    /// Puts a block back on a stack if the side that was settled gives something new away.
    fn wake(&mut self, block: u32, unknown: u32) {
        let node = &mut self.nodes[block as usize];
        if node.is_known {
            if unknown == 1 && !node.on_known_stack {
                node.on_known_stack = true;
                self.known.push(block);
            }
        } else if unknown == 0 && !node.on_unknown_stack {
            node.on_unknown_stack = true;
            self.unknown.push(block);
        }
    }
}
