//! Which way each request goes. This is the one place that knows them all: one that is not handled here does not compile.

use super::answer::{self, Ranking};
use super::{Service, subjects};
use crate::limits::SMALL_SET;
use hearth_protocol::{Answer, Ask, Failure, Level, Measure, Order, RunInput};

type Result<T> = std::result::Result<T, Failure>;

/// The way of a request.
pub enum Way {
    /// It is answered in a millisecond or two, on the thread that reads requests: another one would take longer to wake.
    Inline(Question),
    /// It takes long, and is answered on a thread of its own, a few at a time.
    Blocking(Question),
    /// It waits for a core.
    Core(Box<Work>),
}

/// How a question is answered.
pub type Question = Box<dyn FnOnce(&Service) -> Result<Answer> + Send>;

/// What takes a core.
pub enum Work {
    /// Have a zygote ready.
    Warm(Order),
    /// Run once.
    Run(Order, RunInput),
    /// Run on many inputs.
    Batch(Order, Vec<RunInput>),
}

/// The way of a request, and what is done at its end.
pub fn dispatch(service: &Service, ask: Ask) -> Way {
    match ask {
        Ask::Warm { order } => core(Work::Warm(order)),
        Ask::Run { order, input } => core(Work::Run(order, input)),
        Ask::Batch { order, inputs } => core(Work::Batch(order, inputs)),
        Ask::Subjects {} => blocking(|_| subjects()),
        Ask::Spectrum { run, level, counts } => {
            blocking(move |service| answer::spectrum(service, &run, level, counts))
        }
        Ask::Delta { run, against, level, counts } => {
            // Where each line is has to be worked out once.
            let has_places = service.store().get(&run).is_ok_and(|kept| kept.map.has_places());
            let is_small = !counts && level != Level::Functions && has_places;
            question(is_small, move |service| answer::delta(service, &run, &against, level, counts))
        }
        Ask::Distance { run, against, measure } => {
            let is_small = measure == Measure::JaccardLines;
            question(is_small, move |service| answer::distance(service, &run, &against, measure))
        }
        Ask::Quality { failing, passing, alpha } => {
            let is_small = passing.len() <= SMALL_SET;
            question(is_small, move |service| answer::quality(service, &failing, &passing, alpha))
        }
        Ask::Rank { failing, passing, innocent, formula, aggregation, level, limit, counts } => {
            let ranking = Ranking { failing, passing, innocent, formula, aggregation, level, limit, counts };
            blocking(move |service| answer::ranking(service, &ranking))
        }
        Ask::Name { run, name } => inline(move |service| {
            let forgotten = service.store().name(&run, &name)?;
            drop(forgotten);
            Ok(Answer::Ok {})
        }),
        Ask::Forget { runs } => blocking(move |service| {
            let ids = service.store().ids(&runs)?;
            // One by one, so that others need not wait until all are gone.
            for id in ids {
                let forgotten = service.store().remove(id);
                drop(forgotten);
            }
            Ok(Answer::Ok {})
        }),
        Ask::Runs {} => inline(|service| Ok(Answer::Runs(service.store().list()))),
        Ask::Status {} => inline(|service| Ok(Answer::Status(Box::new(service.status())))),
        Ask::Stop {} => inline(|service| {
            service.stop.notify_one();
            Ok(Answer::Ok {})
        }),
    }
}

fn core(work: Work) -> Way {
    Way::Core(Box::new(work))
}

fn inline(answer: impl FnOnce(&Service) -> Result<Answer> + Send + 'static) -> Way {
    question(true, answer)
}

fn blocking(answer: impl FnOnce(&Service) -> Result<Answer> + Send + 'static) -> Way {
    question(false, answer)
}

fn question(is_small: bool, answer: impl FnOnce(&Service) -> Result<Answer> + Send + 'static) -> Way {
    match is_small {
        true => Way::Inline(Box::new(answer)),
        false => Way::Blocking(Box::new(answer)),
    }
}
