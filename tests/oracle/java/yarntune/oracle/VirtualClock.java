package yarntune.oracle;

import java.util.Comparator;
import java.util.PriorityQueue;
import org.apache.hadoop.yarn.util.Clock;

/** The time of a replay, as Hadoop's classes read it (milliseconds), and what is to be done at a later time. */
public final class VirtualClock implements Clock {
  private record Timer(long due, long number, Runnable action) { }

  private final PriorityQueue<Timer> timers =
      new PriorityQueue<>(Comparator.comparingLong(Timer::due).thenComparingLong(Timer::number));
  private long made;
  private long now;

  @Override
  public long getTime() {
    return now;
  }

  /** Does something after a delay in milliseconds: before the first event at that time or later. */
  public void after(long delay, Runnable action) {
    timers.add(new Timer(now + delay, made++, action));
  }

  /** Goes to a time in seconds, doing on the way what is due; returns whether anything was. */
  boolean advance(double seconds) {
    long time = Math.round(seconds * 1000);
    boolean any = false;
    while (!timers.isEmpty() && timers.peek().due <= time) {
      Timer timer = timers.poll();
      now = timer.due;
      timer.action.run();
      any = true;
    }
    now = time;
    return any;
  }
}
