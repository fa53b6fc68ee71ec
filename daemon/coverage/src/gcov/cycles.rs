//! Counts the loops that stay on one source line.
//!
//! gcov enumerates the elementary circuits among a line's blocks after Hawick and James ("Enumerating
//! Circuits and Loops in Graphs with Self-Arcs and Multiple-Arcs"), takes from each the smallest count of
//! its arcs, and adds that to the line. Which circuit is met first decides the sum, so the walk follows
//! the same order here.

use super::solve::Graph;

/// The steps one line may take; real lines take a few hundred at the most.
const MAX_STEPS: u64 = 50_000_000;

/// Workspace of the walk.
#[derive(Debug, Default)]
pub(crate) struct CycleCounter {
    /// What is left of each arc's count, indexed as the function's arcs.
    left: Vec<i64>,
    is_member: Vec<bool>,
    is_blocked: Vec<bool>,
    /// Blocks to unblock together with each block.
    dependents: Vec<Vec<u32>>,
    /// The arcs of the current path.
    path: Vec<u32>,
    frames: Vec<Frame>,
    unblocking: Vec<u32>,
    steps: u64,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    block: u32,
    next_arc: u32,
    loop_found: bool,
}

impl CycleCounter {
    /// The sum of the loops among `members`, by the counts of the function's arcs; the steps taken if there are too many to count.
    pub fn count(&mut self, graph: Graph<'_>, counts: &[i64], members: &[u32]) -> Result<i64, u64> {
        let block_count = graph.block_count();
        self.left.resize(graph.arcs.len(), 0);
        self.is_member.clear();
        self.is_member.resize(block_count, false);
        self.is_blocked.clear();
        self.is_blocked.resize(block_count, false);
        self.dependents.resize(block_count.max(self.dependents.len()), Vec::new());
        self.steps = 0;
        for &member in members {
            self.is_member[member as usize] = true;
            for arc in graph.arcs_of(member) {
                self.left[arc as usize] = counts[arc as usize];
            }
        }
        let mut total = 0_i64;
        for &start in members {
            self.circuits_from(graph, start, &mut total)?;
            for &member in members {
                self.is_blocked[member as usize] = false;
                self.dependents[member as usize].clear();
            }
        }
        Ok(total)
    }

    /// Walks all circuits through `start` and blocks of higher number.
    fn circuits_from(&mut self, graph: Graph<'_>, start: u32, total: &mut i64) -> Result<(), u64> {
        self.path.clear();
        self.frames.clear();
        self.enter(graph, start);
        while let Some(&Frame { block, next_arc, .. }) = self.frames.last() {
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return Err(self.steps);
            }
            if next_arc < graph.arcs_of(block).end {
                self.frames.last_mut().expect("the loop's condition").next_arc += 1;
                self.follow(graph, next_arc, start, total);
            } else {
                self.leave(graph, start);
            }
        }
        Ok(())
    }

    fn enter(&mut self, graph: Graph<'_>, block: u32) {
        self.is_blocked[block as usize] = true;
        self.frames.push(Frame { block, next_arc: graph.arcs_of(block).start, loop_found: false });
    }

    /// Does the walk take this arc at all?
    fn is_usable(&self, arc: u32, destination: u32, start: u32) -> bool {
        destination >= start && self.left[arc as usize] > 0 && self.is_member[destination as usize]
    }

    fn follow(&mut self, graph: Graph<'_>, arc: u32, start: u32, total: &mut i64) {
        let destination = graph.arcs[arc as usize].destination();
        if !self.is_usable(arc, destination, start) {
            return;
        }
        self.path.push(arc);
        if destination == start {
            self.take_circuit(total);
            self.frames.last_mut().expect("a block is being walked").loop_found = true;
            self.path.pop();
            return;
        }
        // An arc of the path may have been used up by a circuit found further along.
        self.steps += self.path.len() as u64;
        let used_up = self.path.iter().any(|&arc| self.left[arc as usize] <= 0);
        if used_up || self.is_blocked[destination as usize] {
            self.path.pop();
        } else {
            self.enter(graph, destination);
        }
    }

    fn take_circuit(&mut self, total: &mut i64) {
        let smallest = self.path.iter().map(|&arc| self.left[arc as usize]).min().unwrap_or(0);
        *total = total.wrapping_add(smallest);
        for &arc in &self.path {
            self.left[arc as usize] = self.left[arc as usize].wrapping_sub(smallest);
        }
    }

    /// Closes the block on top: unblocks it if it was on a circuit, else ties it to its successors.
    fn leave(&mut self, graph: Graph<'_>, start: u32) {
        let Some(frame) = self.frames.pop() else { return };
        if frame.loop_found {
            self.unblock(frame.block);
        } else {
            for arc in graph.arcs_of(frame.block) {
                let destination = graph.arcs[arc as usize].destination();
                if !self.is_usable(arc, destination, start) {
                    continue;
                }
                let dependents = &mut self.dependents[destination as usize];
                if !dependents.contains(&frame.block) {
                    dependents.push(frame.block);
                }
            }
        }
        if let Some(caller) = self.frames.last_mut() {
            caller.loop_found |= frame.loop_found;
            self.path.pop();
        }
    }

    fn unblock(&mut self, block: u32) {
        self.unblocking.clear();
        self.unblocking.push(block);
        while let Some(block) = self.unblocking.pop() {
            if std::mem::replace(&mut self.is_blocked[block as usize], false) {
                self.unblocking.append(&mut self.dependents[block as usize]);
            }
        }
    }
}
