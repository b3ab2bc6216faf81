use super::*;
use crate::parallel;

/// Seconds that each of so many machines may take, one after another, of a million.
fn windows(threads: usize, machines: usize, share: f64) -> Vec<f64> {
    Watch::run(threads, &mut Silent, |watch| {
        watch.side_by_side(machines, |_, watch| {
            watch.limit(Some(1e6), share);
            Ok((watch.deadline.unwrap() - watch.begun).as_secs_f64().round())
        })
    })
    .unwrap()
}

#[test]
fn machines_share_the_time_that_is_left() {
    // None of them uses any.
    assert_eq!(windows(1, 4, 1.0), [250_000.0, 333_333.0, 500_000.0, 1_000_000.0]);
    assert_eq!(windows(1, 1, 0.5), [500_000.0]);
    let mut two = windows(2, 3, 1.0);
    two.sort_by(f64::total_cmp);
    assert_eq!(two, [500_000.0, 1_000_000.0, 1_000_000.0]);
}

fn watched<T: Send>(
    observer: &mut dyn Observer,
    task: impl FnOnce(&mut Watch<'_>) -> T + Send,
) -> T {
    parallel::run(1, |pool| task(&mut Watch::new(observer, pool))).unwrap()
}

#[test]
fn a_limit_that_is_over_or_endless_is_one() {
    watched(&mut Silent, |watch| {
        watch.begun = Duration::from_secs(3);
        watch.limit(Some(2.0), 1.0);
        assert_eq!(watch.deadline, Some(watch.begun));
        watch.limit(Some(f64::MAX), 1.0);
        assert_eq!(watch.deadline, Some(Duration::MAX));
        assert!(watch.poll().is_ok() && watch.beforehand(0.5, Watch::goes_on).unwrap());
        watch.limit(None, 1.0);
        assert_eq!(watch.deadline, None);
        watch.limit(Some(0.0), 1.0);
        watch.begun = Duration::ZERO;
        watch.limit(Some(0.0), 1.0);
        assert!(matches!(watch.poll(), Err(Halt::Stop(StopReason::MaxTime))));
        // A fit inside has as little time, whatever its own limit.
        let mut inner = watch.inner();
        inner.limit(Some(1e3), 1.0);
        assert!(matches!(inner.poll(), Err(Halt::Stop(StopReason::MaxTime))));
    });
}

struct Says(Cancel, usize);

impl Observer for Says {
    fn observe(&mut self, _: &Progress) -> ControlFlow<Cancel> {
        self.1 += 1;
        ControlFlow::Break(self.0)
    }
}

#[test]
fn unbroken_work_hears_an_interrupt_alone_and_a_stop_afterwards() {
    let mut says = Says(Cancel::Keep, 0);
    watched(&mut says, |watch| {
        watch.limit(Some(0.0), 1.0);
        assert_eq!(watch.unbroken(|watch| watch.poll().map(|()| 7)).unwrap(), 7);
        assert!(matches!(watch.poll(), Err(Halt::Stop(StopReason::Callback))));
    });
    assert_eq!(says.1, 1);
    watched(&mut Says(Cancel::Discard, 0), |watch| {
        assert!(matches!(watch.unbroken(Watch::poll), Err(Error::Interrupted)));
        assert!(matches!(watch.goes_on(), Err(Error::Interrupted)));
    });
}

#[test]
fn what_comes_before_a_fit_is_no_step_of_it_and_its_end_is_the_end_of_all() {
    let mut told = Vec::new();
    let mut observer = |progress: &Progress| {
        told.push((progress.iteration, progress.objective));
        if told.len() == 3 { ControlFlow::Break(Cancel::Keep) } else { ControlFlow::Continue(()) }
    };
    watched(&mut observer, |watch| {
        watch.steps_before = 4;
        watch.beforehand(0.5, |watch| {
            watch.at(7, 1.0);
            assert!(watch.goes_on().unwrap());
            assert!(watch.goes_on().unwrap() && !watch.goes_on().unwrap());
        });
        assert!(matches!(watch.poll(), Err(Halt::Stop(StopReason::Callback))));
    });
    assert_eq!(told, [(4, None); 3]);
}

#[test]
fn a_stop_for_one_is_a_stop_for_all() {
    let mut says = Says(Cancel::Keep, 0);
    let stops = watched(&mut says, |watch| {
        watch.side_by_side(3, |_, watch| Ok(matches!(watch.poll(), Err(Halt::Stop(_)))))
    });
    assert_eq!((stops.unwrap(), says.1), (vec![true; 3], 1));
}

#[test]
fn results_come_in_order_and_errors_from_the_first() {
    watched(&mut Silent, |watch| {
        let squares = watch.side_by_side(5, |class, _| Ok(class * class));
        assert_eq!(squares.unwrap(), [0, 1, 4, 9, 16]);
        let failed = watch.side_by_side(3, |class, _| match class {
            0 => Ok(()),
            _ => Err(Error::BadLabels(class.to_string())),
        });
        assert_eq!(failed.unwrap_err().to_string(), "labels: 1");
    });
}

#[test]
fn a_glance_asks_now_and_then_and_one_entry_a_step_is_kept() {
    let mut asked = Says(Cancel::Keep, 0);
    watched(&mut asked, |watch| {
        assert!(watch.glance().is_ok());
        watch.tick.objective = Some(3.0);
        for iteration in [0, 0, 1] {
            watch.tick.iteration = iteration;
            assert!(watch.poll().is_err());
        }
        let objectives: Vec<f64> = watch.take_history().iter().map(|entry| entry[1]).collect();
        assert_eq!(objectives, [3.0, 3.0]);
    });
    assert_eq!(asked.1, 3);
}

#[test]
fn a_search_is_counted_together_and_told_until_it_ends() {
    let mut told = Vec::new();
    let mut observer = |progress: &Progress| {
        told.push((progress.phase, progress.iteration, progress.search));
        ControlFlow::Continue(())
    };
    let history = watched(&mut observer, |watch| {
        watch.limit(Some(0.5), 1.0);
        let (done, history) = watch.search(4, |watch| {
            assert!(watch.poll().is_ok());
            watch.steps_side_by_side(3, |i, watch| {
                watch.judged(0.5 - 0.1 * i as f64);
                watch.judged(f64::NAN);
                Ok(i)
            })
        });
        assert_eq!(done.unwrap(), [0, 1, 2]);
        assert!(watch.poll().is_ok());
        let ((), more) = watch.search(1, |watch| {
            watch.reached(7);
            assert!(watch.inner().poll().is_ok());
        });
        assert!(more.is_empty());
        history
    });
    assert_eq!(history.len(), 1);
    assert_eq!(history[0][1], 0.3);
    let [(first, 0, Some(begun)), (Phase::Pass, 0, None), (_, 1, Some(end))] = told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(first, Phase::Search);
    assert_eq!((begun.planned, begun.candidates, begun.error, begun.left), (4, 0, None, None));
    assert_eq!((end.planned, end.left), (1, Some(Duration::ZERO)));
}

#[test]
fn the_time_left_of_a_search_is_at_most_that_of_its_limit() {
    let mut left = Vec::new();
    let mut observer = |progress: &Progress| {
        left.extend(progress.search.and_then(|search| search.left));
        ControlFlow::Continue(())
    };
    watched(&mut observer, |watch| {
        watch.limit(Some(0.3), 1.0);
        let _ = watch.search(1_000_000, |watch| {
            std::thread::sleep(Duration::from_millis(5));
            watch.step_done(1);
            watch.poll()
        });
        watch.limit(None, 1.0);
        let _ = watch.search(1_000_000, |watch| {
            std::thread::sleep(Duration::from_millis(5));
            watch.step_done(1);
            watch.poll()
        });
    });
    assert!(left[0] <= Duration::from_millis(300) && left[1] >= Duration::from_secs(4999));
}
