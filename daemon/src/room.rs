//! Room for frames: one budget over all sessions.
//!
//! Requests and answers have one half each: a request may keep its room while its answer waits for some, and from
//! one pot both they could wait for each other for ever. A part of each half is for short frames only, so that they
//! get through while long ones wait. The shortest need no room; sessions and their requests are limited in number.

use crate::limits::{
    ANSWERS_WAITING_FOR_ROOM, FRAMES_BYTES, ROOM_DEADLINE, SHORT_FRAME_BYTES, TAKING_DEADLINE,
    UNCOUNTED_FRAME_BYTES,
};
use hearth_protocol::{FRAME_LIMIT, Failure, FailureKind};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The half for requests, and that for answers, in bytes.
const HALF_BYTES: usize = FRAMES_BYTES / 2;
/// The part of a half that short frames have for themselves, in bytes.
const SHORT_BYTES: usize = HALF_BYTES / 8;
const _: () = assert!(HALF_BYTES - SHORT_BYTES >= FRAME_LIMIT, "the longest frame has room");

/// The budget.
#[derive(Debug)]
pub struct Frames {
    requests: Half,
    answers: Half,
    /// One permit for each answer that may wait for room; it has its memory already.
    turns: Semaphore,
}

/// What a frame has taken of the budget, until this is dropped.
#[derive(Debug, Default)]
pub struct Room(#[expect(dead_code, reason = "the room goes with it")] Option<OwnedSemaphorePermit>);

/// Semaphores with a permit for each byte. Whoever waits longest is the next.
#[derive(Debug)]
struct Half {
    short: Arc<Semaphore>,
    long: Arc<Semaphore>,
}

impl Default for Frames {
    fn default() -> Self {
        let half = || Half {
            short: Arc::new(Semaphore::new(SHORT_BYTES)),
            long: Arc::new(Semaphore::new(HALF_BYTES - SHORT_BYTES)),
        };
        Self { requests: half(), answers: half(), turns: Semaphore::new(ANSWERS_WAITING_FOR_ROOM) }
    }
}

impl Frames {
    /// Room for a request of so many bytes, of which nothing is read before.
    pub async fn for_request(&self, bytes: usize) -> Result<Room, Failure> {
        let Some(pot) = self.requests.pot(bytes) else { return Ok(Room::default()) };
        acquire(pot, bytes, ROOM_DEADLINE).await.ok_or_else(|| {
            busy("the requests of all clients under way leave no room for this one; try later, or send less at a time")
        })
    }

    /// Room for an answer of so many bytes. If it does not get any, it has to be dropped.
    pub async fn for_answer(&self, bytes: usize) -> Result<Room, Failure> {
        let Some(pot) = self.answers.pot(bytes) else { return Ok(Room::default()) };
        if let Ok(permit) = pot.clone().try_acquire_many_owned(bytes as u32) {
            return Ok(Room(Some(permit)));
        }
        let found = match self.turns.try_acquire() {
            Ok(_turn) => acquire(pot, bytes, TAKING_DEADLINE).await,
            Err(_) => None,
        };
        found.ok_or_else(|| {
            busy("answers that clients have not taken yet leave no room for this one; take them, and ask again")
        })
    }
}

impl Half {
    /// Where a frame of so many bytes finds room; `None` if it needs none.
    fn pot(&self, bytes: usize) -> Option<&Arc<Semaphore>> {
        if bytes <= UNCOUNTED_FRAME_BYTES {
            return None;
        }
        Some(if bytes <= SHORT_FRAME_BYTES { &self.short } else { &self.long })
    }
}

async fn acquire(pot: &Arc<Semaphore>, bytes: usize, deadline: Duration) -> Option<Room> {
    let permit = timeout(deadline, pot.clone().acquire_many_owned(bytes as u32)).await;
    Some(Room(Some(permit.ok()?.ok()?)))
}

fn busy(problem: &str) -> Failure {
    Failure::new(FailureKind::Busy, problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn now<T>(future: impl Future<Output = T>) -> Option<T> {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }

    #[test]
    fn short_frames_pass_long_ones_that_wait_and_answers_do_not_wait_for_requests() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let _entered = runtime.enter();
        let frames = Frames::default();
        let mut rooms = Vec::new();
        while let Some(room) = now(frames.for_request(FRAME_LIMIT)) {
            rooms.push(room.expect("there is room"));
        }
        assert!(rooms.len() * FRAME_LIMIT <= HALF_BYTES && !rooms.is_empty());
        for short in [1, UNCOUNTED_FRAME_BYTES + 1, SHORT_FRAME_BYTES] {
            now(frames.for_request(short)).expect("at once").expect("there is room");
        }
        let answer = now(frames.for_answer(FRAME_LIMIT)).expect("at once").expect("there is room");
        drop(rooms);
        now(frames.for_request(FRAME_LIMIT)).expect("at once").expect("there is room again");
        drop(answer);
    }

    #[test]
    fn few_answers_wait_for_room_and_all_others_are_refused_at_once() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let _entered = runtime.enter();
        let frames = Frames::default();
        let mut rooms = Vec::new();
        while let Ok(permit) = frames.answers.long.try_acquire_many(FRAME_LIMIT as u32) {
            rooms.push(permit);
        }
        let waiting = (0..=ANSWERS_WAITING_FOR_ROOM).map(|_| frames.for_answer(FRAME_LIMIT));
        let mut waiting: Vec<_> = waiting.map(Box::pin).collect();
        let mut polled: Vec<_> = waiting.iter_mut().map(now).collect();
        let refused = polled.pop().expect("one too many").expect("at once");
        assert_eq!(refused.expect_err("it has no turn").kind, FailureKind::Busy);
        assert!(polled.iter().all(Option::is_none), "these wait");
        drop(rooms);
        now(&mut waiting[0]).expect("at once").expect("there is room again");
    }
}
