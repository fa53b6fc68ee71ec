//! Kinds of zygotes that keep dying are left alone for a while.

use crate::error::{Error, Result};
use crate::limits::{LOSSES, QUARANTINE};
use crate::zygote::ZygoteKey;
use std::collections::BTreeMap;
use std::time::Instant;

/// The kinds whose last zygotes were lost.
#[derive(Debug, Default)]
pub struct Quarantine {
    losses: BTreeMap<ZygoteKey, Losses>,
}

#[derive(Debug)]
struct Losses {
    count: u32,
    last: String,
    at: Instant,
}

impl Quarantine {
    /// May a zygote of this kind be tried?
    ///
    /// # Errors
    /// If too many were lost in a row, not long ago.
    pub fn check(&mut self, key: &ZygoteKey, now: Instant) -> Result<()> {
        let Some(losses) = self.losses.get(key).filter(|losses| losses.count >= LOSSES) else {
            return Ok(());
        };
        let left = QUARANTINE.saturating_sub(now.saturating_duration_since(losses.at));
        if left.is_zero() {
            self.losses.remove(key);
            return Ok(());
        }
        Err(Error::Quarantined {
            losses: losses.count,
            last: losses.last.clone(),
            seconds: left.as_secs() + 1,
        })
    }

    /// One was lost.
    pub fn note_loss(&mut self, key: &ZygoteKey, why: &str, now: Instant) {
        let count = self.losses.get(key).map_or(0, |losses| losses.count) + 1;
        self.losses.insert(key.clone(), Losses { count, last: why.to_owned(), at: now });
    }

    /// One has done its work.
    pub fn forgive(&mut self, key: &ZygoteKey) {
        self.losses.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::tests::key;
    use std::time::Duration;

    #[test]
    fn a_kind_that_keeps_dying_is_left_alone_for_a_while() {
        let mut quarantine = Quarantine::default();
        let began = Instant::now();
        for loss in 0..LOSSES {
            assert!(quarantine.check(&key("a"), began).is_ok(), "after {loss}");
            quarantine.note_loss(&key("a"), &format!("loss {loss}"), began);
        }
        let refused =
            quarantine.check(&key("a"), began + Duration::from_secs(10)).expect_err("it is left alone");
        let Error::Quarantined { losses, last, seconds } = refused else { panic!("{refused}") };
        assert_eq!(
            (losses, last, seconds),
            (LOSSES, format!("loss {}", LOSSES - 1), QUARANTINE.as_secs() - 10 + 1)
        );
        assert!(quarantine.check(&key("b"), began).is_ok(), "others are not");
        let later = began + QUARANTINE;
        assert!(quarantine.check(&key("a"), later).is_ok());
        quarantine.note_loss(&key("a"), "again", later);
        assert!(quarantine.check(&key("a"), later).is_ok(), "it begins anew");
    }

    #[test]
    fn one_that_works_is_forgiven() {
        let mut quarantine = Quarantine::default();
        let now = Instant::now();
        for _ in 1..LOSSES {
            quarantine.note_loss(&key("a"), "why", now);
        }
        quarantine.forgive(&key("a"));
        quarantine.note_loss(&key("a"), "why", now);
        assert!(quarantine.check(&key("a"), now).is_ok(), "only losses in a row count");
    }
}
