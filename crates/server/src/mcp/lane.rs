//! One direction of a conversation: what was said, in the order in which it was said.
//!
//! Each message is looked at as soon as it comes, side by side with those before it, and goes on behind
//! them. So a message never overtakes what it refers to: a cancellation its request, `initialized` the
//! `initialize` before it, a result the progress that was told of it. Two things end the wait for an
//! earlier message: that it waits for a person, or that it has held the others up for [`ORDER_MS`]. It
//! then stands aside and goes on when it is ready. One that opens a conversation never stands aside.

use super::limits::ORDER_MS;
use std::collections::{HashMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// What becomes of one message.
pub(super) type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// One direction.
pub(super) struct Lane<T> {
    /// The number of the first place.
    first: u64,
    places: VecDeque<Place<T>>,
    working: HashMap<u64, Worked<T>>,
    /// What stood aside and is ready.
    aside: VecDeque<T>,
    bells: Arc<Bells>,
    /// Until the first place has held up the others long enough.
    patience: Option<Pin<Box<Sleep>>>,
}

enum Place<T> {
    Working { since: Instant, stays: bool },
    Ready(T),
    Aside,
}

struct Worked<T> {
    work: Work<T>,
    waker: Waker,
}

/// Which places have something to say, and whom to wake for it.
#[derive(Default)]
struct Bells(Mutex<Rung>);

#[derive(Default)]
struct Rung {
    work: Vec<u64>,
    aside: Vec<u64>,
    waker: Option<Waker>,
}

struct Bell {
    place: u64,
    bells: Arc<Bells>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.bells.ring(|rung| rung.work.push(self.place));
    }
}

impl Bells {
    fn rung(&self) -> MutexGuard<'_, Rung> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self, note: impl FnOnce(&mut Rung)) {
        let mut rung = self.rung();
        note(&mut rung);
        let waker = rung.waker.take();
        drop(rung);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The place of a message that is to come next.
#[derive(Clone)]
pub(super) struct Turn {
    place: u64,
    bells: Arc<Bells>,
}

impl Turn {
    /// It waits for a person: nobody waits for it.
    pub(super) fn stand_aside(&self) {
        self.bells.ring(|rung| rung.aside.push(self.place));
    }
}

impl<T> Lane<T> {
    pub(super) fn new() -> Lane<T> {
        Lane {
            first: 0,
            places: VecDeque::new(),
            working: HashMap::new(),
            aside: VecDeque::new(),
            bells: Arc::default(),
            patience: None,
        }
    }

    /// The place of the message that is added next.
    pub(super) fn turn(&self) -> Turn {
        Turn { place: self.first + self.places.len() as u64, bells: Arc::clone(&self.bells) }
    }

    /// Adds a message and looks at it; gives it if it may go on at once. One that `stays` never stands
    /// aside.
    pub(super) fn add(&mut self, mut work: Work<T>, stays: bool) -> Option<T> {
        let bell = Arc::new(Bell { place: self.turn().place, bells: Arc::clone(&self.bells) });
        let (place, waker) = (bell.place, Waker::from(bell));
        match work.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) if self.places.is_empty() => {
                self.first += 1;
                Some(done)
            }
            Poll::Ready(done) => {
                self.places.push_back(Place::Ready(done));
                None
            }
            Poll::Pending => {
                self.places.push_back(Place::Working { since: Instant::now(), stays });
                self.working.insert(place, Worked { work, waker });
                None
            }
        }
    }

    /// How many messages are not ready.
    pub(super) fn len(&self) -> usize {
        self.working.len()
    }

    /// What goes on next; waits for ever where nothing is to come.
    pub(super) async fn next(&mut self) -> T {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Whether nothing is to come.
    pub(super) fn is_empty(&self) -> bool {
        self.working.is_empty() && self.places.is_empty() && self.aside.is_empty()
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<T> {
        loop {
            let (work, aside) = {
                let mut rung = self.bells.rung();
                rung.waker = Some(cx.waker().clone());
                (std::mem::take(&mut rung.work), std::mem::take(&mut rung.aside))
            };
            if work.is_empty() && aside.is_empty() {
                break;
            }
            aside.into_iter().for_each(|place| self.stand_aside(place));
            work.into_iter().for_each(|place| self.work(place));
        }
        if let Some(done) = self.aside.pop_front().or_else(|| self.first_ready(cx)) {
            return Poll::Ready(done);
        }
        Poll::Pending
    }

    /// What stands first, if it is ready.
    fn first_ready(&mut self, cx: &mut Context<'_>) -> Option<T> {
        loop {
            match self.places.front()? {
                Place::Working { since, stays } => {
                    if *stays || !self.is_patience_over(*since, cx) {
                        return None;
                    }
                }
                Place::Ready(_) | Place::Aside => {}
            }
            self.patience = None;
            self.first += 1;
            if let Some(Place::Ready(done)) = self.places.pop_front() {
                return Some(done);
            }
        }
    }

    fn is_patience_over(&mut self, since: Instant, cx: &mut Context<'_>) -> bool {
        // Nobody is held up by it.
        if self.places.len() == 1 {
            return false;
        }
        let until = since + Duration::from_millis(ORDER_MS);
        let timer = self.patience.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        timer.as_mut().poll(cx).is_ready()
    }

    fn stand_aside(&mut self, place: u64) {
        if let Some(waits @ Place::Working { stays: false, .. }) = self.place(place) {
            *waits = Place::Aside;
        }
    }

    fn work(&mut self, place: u64) {
        let Some(Worked { work, waker }) = self.working.get_mut(&place) else { return };
        let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(waker)) else { return };
        self.working.remove(&place);
        match self.place(place) {
            Some(waits @ Place::Working { .. }) => *waits = Place::Ready(done),
            Some(Place::Ready(_) | Place::Aside) | None => self.aside.push_back(done),
        }
    }

    fn place(&mut self, place: u64) -> Option<&mut Place<T>> {
        self.places.get_mut(usize::try_from(place.checked_sub(self.first)?).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::{Lane, ORDER_MS};
    use std::future::{Future, pending, ready};
    use std::time::Duration;
    use tokio::sync::oneshot;

    fn run(future: impl Future<Output = ()>) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().start_paused(true).build().unwrap().block_on(future);
    }

    /// A lane whose message of this number is ready when it is told to be.
    fn held(lane: &mut Lane<u32>, number: u32, stays: bool) -> oneshot::Sender<()> {
        let (go, told) = oneshot::channel();
        let work = Box::pin(async move {
            let _ = told.await;
            number
        });
        assert_eq!(lane.add(work, stays), None);
        go
    }

    async fn is_still(lane: &mut Lane<u32>) -> bool {
        tokio::time::timeout(Duration::from_millis(ORDER_MS / 4), lane.next()).await.is_err()
    }

    #[test]
    fn what_is_ready_goes_on_at_once_and_behind_what_came_before_it() {
        run(async {
            let mut lane = Lane::new();
            assert_eq!(lane.add(Box::pin(ready(0)), false), Some(0));
            let (one, three) = (held(&mut lane, 1, false), ());
            assert_eq!(lane.add(Box::pin(ready(2)), false), None);
            let four = held(&mut lane, 4, false);
            four.send(three).unwrap();
            assert!(is_still(&mut lane).await);
            one.send(()).unwrap();
            assert_eq!([lane.next().await, lane.next().await, lane.next().await], [1, 2, 4]);
            assert!(lane.is_empty());
        });
    }

    #[test]
    fn what_waits_for_a_person_or_holds_up_too_long_stands_aside_and_goes_on_when_it_is_ready() {
        run(async {
            for person in [true, false] {
                let mut lane = Lane::new();
                let turn = lane.turn();
                let slow = held(&mut lane, 1, false);
                assert_eq!(lane.add(Box::pin(ready(2)), false), None);
                assert!(is_still(&mut lane).await);
                if person {
                    turn.stand_aside();
                }
                assert_eq!(lane.next().await, 2);
                assert_eq!(lane.add(Box::pin(ready(3)), false), Some(3));
                slow.send(()).unwrap();
                assert_eq!(lane.next().await, 1);
            }
        });
    }

    #[test]
    fn what_opens_a_conversation_is_never_overtaken() {
        run(async {
            let mut lane = Lane::new();
            let turn = lane.turn();
            let opens = held(&mut lane, 1, true);
            turn.stand_aside();
            assert_eq!(lane.add(Box::pin(ready(2)), false), None);
            let long = Duration::from_millis(ORDER_MS * 10);
            assert!(tokio::time::timeout(long, lane.next()).await.is_err());
            opens.send(()).unwrap();
            assert_eq!([lane.next().await, lane.next().await], [1, 2]);
        });
    }

    #[test]
    fn only_what_was_woken_is_looked_at_again() {
        run(async {
            let mut lane: Lane<u32> = Lane::new();
            let polls = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
            let count = std::sync::Arc::clone(&polls);
            let idle = std::future::poll_fn(move |_| {
                count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                std::task::Poll::<u32>::Pending
            });
            lane.add(Box::pin(idle), false);
            for number in 0..100 {
                held(&mut lane, number, false).send(()).unwrap();
            }
            for number in 0..100 {
                assert_eq!(lane.next().await, number);
            }
            assert_eq!(polls.load(std::sync::atomic::Ordering::Relaxed), 1);
            lane.add(Box::pin(pending()), false);
            assert_eq!(lane.len(), 2);
        });
    }
}
