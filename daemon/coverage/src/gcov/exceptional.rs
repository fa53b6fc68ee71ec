//! Which blocks of a function only an exception leads to.

use super::notes::{ARC_FAKE, ARC_FALLTHROUGH, ArcNotes, ENTRY_BLOCK, FunctionNotes, Notes};

/// The blocks of one function that only an exception leads to. Kept between functions to save allocations.
#[derive(Debug, Default)]
pub(super) struct ExceptionalBlocks {
    /// By block.
    marks: Vec<bool>,
    stack: Vec<u32>,
}

impl ExceptionalBlocks {
    /// Finds those of a function: what cannot be reached from its entry along arcs that throw nothing.
    pub fn find(&mut self, notes: &Notes<'_>, function: &FunctionNotes<'_>) {
        let blocks = &notes.blocks[function.blocks()];
        let Self { marks, stack } = self;
        marks.clear();
        marks.resize(blocks.len(), function.catches);
        if !function.catches {
            return;
        }
        marks[ENTRY_BLOCK as usize] = false;
        stack.clear();
        stack.push(ENTRY_BLOCK);
        while let Some(number) = stack.pop() {
            let arcs = notes.arcs_of(&blocks[number as usize]);
            let throws = calls(number, arcs);
            for arc in arcs {
                let is_throw = throws && arc.flags & ARC_FALLTHROUGH == 0;
                let mark = &mut marks[arc.destination as usize];
                if arc.flags & ARC_FAKE == 0 && !is_throw && *mark {
                    *mark = false;
                    stack.push(arc.destination);
                }
            }
        }
    }

    /// Does only an exception lead to a block?
    pub fn contains(&self, block: u32) -> bool {
        self.marks[block as usize]
    }
}

/// Does a block end in a call that may not return?
pub(super) fn calls(block: u32, arcs: &[ArcNotes]) -> bool {
    block != ENTRY_BLOCK && arcs.iter().any(|arc| arc.flags & ARC_FAKE != 0)
}
