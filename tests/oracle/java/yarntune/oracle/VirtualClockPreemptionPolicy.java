package yarntune.oracle;

import org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.ProportionalCapacityPreemptionPolicy;

/** The Capacity Scheduler's preemption, run by the virtual clock alone: the RM's own monitor thread finds it closed. */
public final class VirtualClockPreemptionPolicy extends ProportionalCapacityPreemptionPolicy {
  private volatile Thread driver;

  @Override
  public void editSchedule() {
    if (Thread.currentThread() == driver) {
      super.editSchedule();
    }
  }

  /**
   * Runs the policy at once and then at each of its intervals, as SchedulingMonitor does.
   *
   * @param settle waits until the events that the policy sends have been handled
   */
  void drive(VirtualClock clock, Runnable settle) {
    driver = Thread.currentThread();
    Internals.set(ProportionalCapacityPreemptionPolicy.class, this, "clock", clock);
    clock.after(0, () -> run(clock, settle));
  }

  private void run(VirtualClock clock, Runnable settle) {
    editSchedule();
    settle.run();
    clock.after(getMonitoringInterval(), () -> run(clock, settle));
  }
}
