//! Checks that every index in an object's tables is in range, so that using them cannot panic.

use super::Atlas;
use crate::gcov::object_map::{Function, ObjectMap};

/// Are all indices of the map in range?
pub(super) fn is_sound(map: &ObjectMap<'_>, line_ids: &[u32], atlas: &Atlas<'_>) -> bool {
    let Some(slot_count) = map.slots.len().checked_sub(1) else { return false };
    let Some(space_count) = map.spaces.len().checked_sub(1) else { return false };
    let in_range = |indices: &[u32], limit: usize| indices.iter().all(|&index| (index as usize) < limit);
    let firsts_end_at = |mut firsts: Box<dyn Iterator<Item = u32> + '_>, limit: usize| {
        let mut last = 0;
        firsts.all(|first| {
            let grows = last <= first;
            last = first;
            grows
        }) && last as usize <= limit
    };
    space_count >= map.sources.len()
        && line_ids.len() == slot_count
        && in_range(line_ids, atlas.lines.len())
        && firsts_end_at(Box::new(map.spaces.iter().copied()), slot_count)
        && firsts_end_at(Box::new(map.slots.iter().map(|slot| slot.first_branch)), map.branches.len())
        && firsts_end_at(Box::new(map.blocks.iter().map(|block| block.first_arc)), map.arcs.len())
        && firsts_end_at(Box::new(map.blocks.iter().map(|block| block.first_reference)), map.references.len())
        && firsts_end_at(Box::new(map.groups.iter().map(|group| group.first_entry)), map.entries.len())
        && firsts_end_at(Box::new(map.groups.iter().map(|group| group.first_member)), map.members.len())
        && map.references.iter().all(|&reference| ((reference / 2) as usize) < slot_count)
        && in_range(&map.entries, map.arcs.len())
        && in_range(&map.branches, map.arcs.len())
        && map.sources.iter().all(|source| in_range(&source.functions, map.functions.len()))
        && map.functions.iter().all(|function| function_is_sound(map, function, slot_count, space_count))
}

fn function_is_sound(
    map: &ObjectMap<'_>,
    function: &Function,
    slot_count: usize,
    space_count: usize,
) -> bool {
    let end = |first: u32, count: u32| first as usize + count as usize;
    if end(function.name_first, function.name_length) > map.names.len()
        || function.source as usize >= map.sources.len()
        || function.space as usize >= space_count
        || function.block_count < 2
        || end(function.first_block, function.block_count) >= map.blocks.len()
        || end(function.first_counter, function.counter_count) > map.counter_count as usize
        || end(function.first_group, function.group_count) >= map.groups.len()
    {
        return false;
    }
    let blocks = &map.blocks[function.first_block as usize..=end(function.first_block, function.block_count)];
    let arcs = blocks[0].first_arc as usize..blocks[blocks.len() - 1].first_arc as usize;
    let groups = &map.groups[function.first_group as usize..=end(function.first_group, function.group_count)];
    let members = groups[0].first_member as usize..groups[groups.len() - 1].first_member as usize;
    map.arcs[arcs].iter().all(|arc| arc.destination() < function.block_count)
        && map.members[members].iter().all(|&member| member < function.block_count)
        && groups[..groups.len() - 1].iter().all(|group| (group.slot as usize) < slot_count)
}
