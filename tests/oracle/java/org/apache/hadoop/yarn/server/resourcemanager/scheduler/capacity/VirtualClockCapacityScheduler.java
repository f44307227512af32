package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity;

import java.util.Queue;
import java.util.Random;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.ResourceCommitRequest;
import yarntune.oracle.Internals;

/**
 * The Capacity Scheduler with asynchronous scheduling driven by a virtual clock: rounds are called from outside, and
 * what they propose is committed at once, so that no thread of its own races the replay. In Hadoop's package for what
 * is not public there.
 */
public final class VirtualClockCapacityScheduler extends CapacityScheduler {
  private static final long SEED = 42;

  private Queue<ResourceCommitRequest<?, ?>> proposals;
  private double stepS;
  private boolean gave;

  /** Ends the scheduler's own threads, and makes its choice of a first node the same on every run. */
  @SuppressWarnings("unchecked")
  public void takeOver() throws InterruptedException {
    var own = (AsyncSchedulingConfiguration) Internals.get(CapacityScheduler.class, this, "asyncSchedulingConf");
    stepS = own.getAsyncScheduleInterval() / 1000.0 / own.getNumAsyncSchedulerThreads();
    own.serviceStopInvoked();
    Object committer = Internals.get(AsyncSchedulingConfiguration.class, own, "resourceCommitterService");
    proposals = (Queue<ResourceCommitRequest<?, ?>>) Internals.get(committer.getClass(), committer, "backlogs");
    Internals.set(AsyncSchedulingConfiguration.class, own, "asyncScheduleInterval", 0L);
    ((Random) Internals.get(CapacityScheduler.class, null, "random")).setSeed(SEED);
  }

  /** Seconds from one round to the next: the pause, divided among the threads. */
  public double stepS() {
    return stepS;
  }

  /** One round of AsyncScheduleThread over the nodes; returns whether anything came of it. */
  public boolean round() throws InterruptedException {
    gave = false;
    schedule(this);
    return gave;
  }

  @Override
  @SuppressWarnings({"rawtypes", "unchecked"})
  public void submitResourceCommitRequest(Resource cluster, CSAssignment assignment) {
    super.submitResourceCommitRequest(cluster, assignment);
    ResourceCommitRequest proposal;
    while (proposals != null && (proposal = proposals.poll()) != null) {
      writeLock.lock();
      try {
        gave |= tryCommit(getClusterResource(), proposal, true);
      } finally {
        writeLock.unlock();
      }
    }
  }
}
