//! Packets with descriptors.

use crate::sys::{self, Result};
use bytemuck::Pod;
use std::ffi::c_int;

/// The most descriptors in a packet.
const FD_LIMIT: usize = 8;

/// A control message with room for descriptors, laid out as the kernel wants it.
#[repr(C, align(8))]
struct Control {
    head: libc::cmsghdr,
    fds: [c_int; FD_LIMIT],
}

/// Sends a head, text behind it, and descriptors.
pub fn send<T: Pod>(socket: c_int, head: &T, text: &[u8], fds: &[c_int]) -> Result<()> {
    assert!(fds.len() <= FD_LIMIT);
    let head = bytemuck::bytes_of(head);
    let mut parts = [
        libc::iovec { iov_base: head.as_ptr().cast_mut().cast(), iov_len: head.len() },
        libc::iovec { iov_base: text.as_ptr().cast_mut().cast(), iov_len: text.len() },
    ];
    let mut control = Control {
        head: libc::cmsghdr {
            cmsg_len: size_of::<libc::cmsghdr>() + size_of_val(fds),
            cmsg_level: libc::SOL_SOCKET,
            cmsg_type: libc::SCM_RIGHTS,
        },
        fds: [-1; FD_LIMIT],
    };
    control.fds[..fds.len()].copy_from_slice(fds);
    // SAFETY: zeros are a valid message header.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = parts.len();
    if !fds.is_empty() {
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = (control.head.cmsg_len).next_multiple_of(8);
    }
    let arguments = [socket as usize, (&raw const message) as usize, libc::MSG_NOSIGNAL as usize, 0, 0, 0];
    // SAFETY: the header, both parts and the control message live until the call returns.
    unsafe { sys::call(libc::SYS_sendmsg, arguments) }.map(drop)
}

/// Receives a packet and up to `fds.len()` descriptors. Returns the packet's length, 0 at the end.
pub fn receive(socket: c_int, packet: &mut [u8], fds: &mut [c_int]) -> Result<usize> {
    let mut part = libc::iovec { iov_base: packet.as_mut_ptr().cast(), iov_len: packet.len() };
    // SAFETY: zeros are a valid control message.
    let mut control: Control = unsafe { std::mem::zeroed() };
    // SAFETY: zeros are a valid message header.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    message.msg_controllen = size_of::<Control>();
    let arguments = [socket as usize, (&raw mut message) as usize, libc::MSG_CMSG_CLOEXEC as usize, 0, 0, 0];
    // SAFETY: the header, the packet and the control message live until the call returns.
    let length = unsafe { sys::call(libc::SYS_recvmsg, arguments) }?;
    fds.fill(-1);
    if message.msg_controllen >= size_of::<libc::cmsghdr>() && control.head.cmsg_type == libc::SCM_RIGHTS {
        let count = (control.head.cmsg_len - size_of::<libc::cmsghdr>()) / size_of::<c_int>();
        let count = count.min(fds.len());
        fds[..count].copy_from_slice(&control.fds[..count]);
    }
    Ok(length)
}
