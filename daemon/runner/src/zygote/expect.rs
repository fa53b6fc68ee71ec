//! What runs will write, by what earlier ones wrote: the standby has those pages copied ahead of time.

use super::Zygote;
use crate::limits::RESERVED_BYTES;
use crate::mappings::Mappings;
use crate::memory::{Memory, PAGE_BYTES, tells_own_pages};
use hearth_sandbox::packet;
use hearth_shim_abi::{EXPECTED_LIMIT, REQUEST_EXPECT, ZygoteRequest};

impl Zygote {
    /// Tells the zygote what a run has written, because the next ones will. What most runs write shows in the first few;
    /// looking at all of the memory takes a millisecond.
    pub(super) fn expect_alike(&mut self, memory: &Memory) {
        self.runs += 1;
        if !self.runs.is_power_of_two() || !tells_own_pages() {
            return;
        }
        // Without the memory nothing is expected anew.
        let Ok(words) = written_ranges(memory, &self.mappings) else { return };
        let expect = ZygoteRequest { kind: REQUEST_EXPECT, ..ZygoteRequest::default() };
        let sent = packet::send(&self.launched.control, &expect, bytemuck::cast_slice(&words), &[]);
        // A zygote that is gone is noticed at the next request, and this run is as good as any.
        drop(sent);
    }
}

/// The pages that a run has written of what its zygote has, as [`REQUEST_EXPECT`] wants them.
fn written_ranges(memory: &Memory, mappings: &Mappings) -> std::io::Result<Vec<u64>> {
    let most_pages = PAGE_BYTES - 1;
    let mut words = Vec::new();
    for addresses in mappings.writable() {
        let first = addresses.start / PAGE_BYTES;
        let count = addresses.end / PAGE_BYTES - first;
        if addresses.end - addresses.start > RESERVED_BYTES {
            continue;
        }
        let own = memory.own_pages(first, count as usize)?;
        let mut page = first;
        for run in own.chunk_by(|a, b| a == b) {
            let end = page + run.len() as u64;
            while run[0] && page < end {
                let length = (end - page).min(most_pages);
                words.push((page * PAGE_BYTES) | length);
                page += length;
            }
            page = end;
        }
    }
    // Beyond the limit the shortest are left out: they save least.
    if words.len() > EXPECTED_LIMIT {
        words.sort_unstable_by_key(|word| std::cmp::Reverse(word % PAGE_BYTES));
        words.truncate(EXPECTED_LIMIT);
    }
    Ok(words)
}
