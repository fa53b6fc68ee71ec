//! Packets with descriptors, between the daemon and what runs under it.

use crate::limits::PACKET_DESCRIPTORS;
use bytemuck::{AnyBitPattern, NoUninit};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Two ends of a socket for packets.
///
/// # Errors
/// If there are too many descriptors.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Sends a head, text behind it, and descriptors.
///
/// # Errors
/// If the other end is gone.
pub fn send<T: NoUninit>(socket: &OwnedFd, head: &T, text: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PACKET_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(fds));
    }
    let parts = [IoSlice::new(bytemuck::bytes_of(head)), IoSlice::new(text)];
    sendmsg(socket, &parts, &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// A packet that came in.
#[derive(Debug)]
pub struct Packet<T> {
    /// Its head.
    pub head: T,
    /// The text behind it.
    pub text: Vec<u8>,
    /// Its descriptors.
    pub fds: Vec<OwnedFd>,
}

/// What came of waiting for a packet.
#[derive(Debug)]
pub enum Received<T> {
    /// A packet.
    Packet(Packet<T>),
    /// The other end is gone.
    Closed,
    /// Nothing until the deadline.
    Nothing,
    /// A packet too short to be one.
    Garbage,
}

/// Waits for a packet of at most `limit` bytes.
///
/// # Errors
/// If the socket fails.
pub fn receive<T: AnyBitPattern>(
    socket: &OwnedFd,
    limit: usize,
    deadline: Instant,
) -> io::Result<Received<T>> {
    if !wait(&[socket.as_fd()], deadline)? {
        return Ok(Received::Nothing);
    }
    let mut bytes = vec![0_u8; limit];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PACKET_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let received = match recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags) {
        Ok(received) => received,
        Err(Errno::AGAIN) => return Ok(Received::Nothing),
        Err(Errno::CONNRESET) => return Ok(Received::Closed),
        Err(error) => return Err(error.into()),
    };
    let fds = control
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(fds) => Some(fds),
            _ => None,
        })
        .flatten()
        .collect();
    bytes.truncate(received.bytes);
    if bytes.is_empty() {
        return Ok(Received::Closed);
    }
    let Some((head, text)) = bytes.split_at_checked(size_of::<T>()) else { return Ok(Received::Garbage) };
    let head = bytemuck::pod_read_unaligned(head);
    Ok(Received::Packet(Packet { head, text: text.to_vec(), fds }))
}

/// Waits until one of some descriptors can be read; false if the deadline passed first.
///
/// # Errors
/// If they cannot be waited for.
pub fn wait(fds: &[BorrowedFd<'_>], deadline: Instant) -> io::Result<bool> {
    let mut polled: Vec<_> = fds.iter().map(|&fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = timespec(left);
        match poll(&mut polled, Some(&timeout)) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs().min(1 << 30) as i64, tv_nsec: i64::from(time.subsec_nanos()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Seek, Write};

    #[test]
    fn text_and_descriptors_arrive_with_their_packet() {
        let (one, other) = pair().expect("a pair");
        let mut file = crate::memory_file::empty().expect("a file");
        file.write_all(b"inside").and_then(|()| file.rewind()).expect("written");
        send(&one, &7_u64, b"text", &[file.as_fd(), one.as_fd()]).expect("sent");
        send(&one, &8_u64, b"", &[]).expect("sent");
        let Ok(Received::Packet(packet)) = receive::<u64>(&other, 64, Instant::now()) else {
            panic!("no packet")
        };
        assert_eq!((packet.head, &packet.text[..], packet.fds.len()), (7, &b"text"[..], 2));
        let mut text = String::new();
        File::from(packet.fds.into_iter().next().expect("a descriptor"))
            .read_to_string(&mut text)
            .expect("read");
        assert_eq!(text, "inside");
        let Ok(Received::Packet(packet)) = receive::<u64>(&other, 64, Instant::now()) else {
            panic!("no packet")
        };
        assert_eq!((packet.head, packet.text.len(), packet.fds.len()), (8, 0, 0));
    }

    #[test]
    fn what_is_no_packet_has_a_name() {
        let (one, other) = pair().expect("a pair");
        let received =
            |socket: &OwnedFd| receive::<u64>(socket, 64, Instant::now() + Duration::from_millis(5));
        assert!(matches!(received(&other), Ok(Received::Nothing)));
        send(&one, &1_u8, b"", &[]).expect("sent");
        assert!(matches!(received(&other), Ok(Received::Garbage)), "shorter than its head");
        // What is beyond the limit is cut off.
        send(&one, &1_u64, &[7; 100], &[]).expect("sent");
        let Ok(Received::Packet(packet)) = received(&other) else { panic!("no packet") };
        assert_eq!(packet.text.len(), 64 - size_of::<u64>());
        drop(one);
        assert!(matches!(received(&other), Ok(Received::Closed)));
    }
}
