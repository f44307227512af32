package org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair;

import java.util.Collection;
import java.util.List;
import java.util.Timer;
import java.util.TimerTask;
import org.apache.hadoop.yarn.util.Clock;
import yarntune.oracle.Internals;
import yarntune.oracle.VirtualClock;

/**
 * The Fair Scheduler with its update step and its preemption driven by a virtual clock alone: its own threads, and
 * MockRM, which calls update() at every turn, would race the replay. In Hadoop's package for what is not public there.
 */
public final class VirtualClockFairScheduler extends FairScheduler {
  private final VirtualClock clock = new VirtualClock();
  private volatile boolean open = true;
  private Preemption preemption;
  private Runnable settle = () -> { };

  @Override
  public Clock getClock() {
    return clock;
  }

  public VirtualClock virtualClock() {
    return clock;
  }

  /**
   * Lets the RM handle what follows from a kill before anything else happens: the next attempt of a killed AM's
   * application reads the clock.
   *
   * @param settle waits until the RM has nothing left to do
   */
  public void settleWith(Runnable settle) {
    this.settle = settle;
  }

  @Override
  public void update() {
    if (open) {
      super.update();
    }
  }

  /** The update step, and what the preemption thread does when the step has found starved applications. */
  public void updateNow() {
    open = true;
    super.update();
    open = false;
    if (preemption != null) {
      preemption.serveStarved();
    }
  }

  @Override
  protected void createPreemptionThread() {
    preemption = new Preemption(); // not put into preemptionThread, so it is never started
  }

  /** FSPreemptionThread with the body of its loop called from outside, and the clock in place of its timer. */
  private final class Preemption extends FSPreemptionThread {
    Preemption() {
      super(VirtualClockFairScheduler.this);
      ((Timer) Internals.get(FSPreemptionThread.class, this, "preemptionTimer")).cancel();
      Internals.set(FSPreemptionThread.class, this, "preemptionTimer", new Timer(true) {
        @Override
        public void schedule(TimerTask task, long delay) {
          clock.after(delay, () -> {
            task.run();
            settle.run();
          });
        }
      });
    }

    void serveStarved() {
      FSStarvedApps starved = context.getStarvedApps();
      Collection<?> waiting = (Collection<?>) Internals.get(FSStarvedApps.class, starved, "appsToProcess");
      long delay = (Long) Internals.get(FSPreemptionThread.class, this, "delayBeforeNextStarvationCheck");
      while (!waiting.isEmpty()) {
        FSAppAttempt app = take(starved);
        Object containers =
            Internals.call(FSPreemptionThread.class, this, "identifyContainersToPreempt", FSAppAttempt.class, app);
        Internals.call(FSPreemptionThread.class, this, "preemptContainers", List.class, containers);
        app.preemptionTriggered(delay);
      }
      // What the thread does first when it waits for the next one.
      Internals.set(FSStarvedApps.class, starved, "appBeingProcessed", null);
    }

    private FSAppAttempt take(FSStarvedApps starved) {
      try {
        return starved.take();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
