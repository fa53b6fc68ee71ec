//! The bytes of messages, which shim and daemon have to agree on.

extern crate std;

use crate::{
    ARGUMENT_LIMIT, CHANNEL_FD, CONTROL_FD, Config, EXECUTED, EXPECTED_LIMIT, Event, FIRST_OWN_FD, INACTIVE,
    NOTE_LIMIT, Note, PATH_LIMIT, REQUEST_LIMIT, SHIM_FD, ZygoteRequest,
};
use core::mem::offset_of;
use std::string::ToString;

/// Checks how long a message is, and where its fields are.
macro_rules! check {
    ($message:ident: $length:expr, $($field:ident $offset:expr,)*) => {
        assert_eq!(size_of::<$message>(), $length, concat!("the length of ", stringify!($message)));
        $(assert_eq!(
            offset_of!($message, $field),
            $offset,
            concat!("the place of ", stringify!($message), ".", stringify!($field))
        );)*
    };
}

#[test]
fn messages_have_their_layout() {
    check!(Config: 4120, version 0, warm 4, symbol 8, input_length 16, has_areas 20, input 24,);
    check!(
        ZygoteRequest: 56,
        kind 0, argument_count 4, cpu_s 8, file_bytes 16, processes 24, directory_length 32,
        addition_count 36, address 40, hides_program 48, observe 52,
    );
    check!(
        Event: 72,
        kind 0, value 4, time_ns 8, user_us 16, system_us 24, faults 32, peak_kib 40, asked_ns 48, address 56, untold 64,
    );
    check!(Note: 16, kind 0, value 4, process 8, keeper 12,);
}

#[test]
fn numbers_are_little_endian() {
    let note = Note { kind: 1, value: 0x0203, process: 0x0405_0607, keeper: u32::MAX };
    let bytes = [1, 0, 0, 0, 3, 2, 0, 0, 7, 6, 5, 4, 0xff, 0xff, 0xff, 0xff];
    assert_eq!(bytemuck::bytes_of(&note), bytes);
}

#[test]
fn messages_have_room_for_what_they_carry() {
    assert_eq!(NOTE_LIMIT, size_of::<Note>() + PATH_LIMIT);
    assert_eq!(EXPECTED_LIMIT, 4089);
    let expected = size_of::<ZygoteRequest>() + EXPECTED_LIMIT * size_of::<u64>();
    assert_eq!(expected, REQUEST_LIMIT);
    // A directory, and arguments with nothing but their NULs.
    let text = PATH_LIMIT + ARGUMENT_LIMIT;
    assert!(size_of::<ZygoteRequest>() + text < REQUEST_LIMIT, "{text}");
}

#[test]
fn values_of_the_control_variable_are_equally_long() {
    // The stack is then in the same place, whatever the shim is.
    let number = CONTROL_FD.to_string();
    assert_eq!([INACTIVE.len(), EXECUTED.len()], [number.len(); 2]);
}

#[test]
fn descriptors_are_out_of_each_others_way() {
    let all = [CONTROL_FD, SHIM_FD, CHANNEL_FD, FIRST_OWN_FD];
    assert!(all.is_sorted_by(|one, other| one < other), "{all:?}");
}
