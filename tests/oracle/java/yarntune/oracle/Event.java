package yarntune.oracle;

import java.util.Comparator;
import java.util.PriorityQueue;
import org.apache.hadoop.yarn.api.records.ContainerId;

/**
 * Something that happens at a virtual time.
 *
 * @param index node, task, update, attempt or round, by kind
 * @param container of a task's end: the container that it runs in
 * @param number order of making, which decides at one time and kind
 */
record Event(double time, Kind kind, int index, Job job, ContainerId container, long number) {

  /** In the order in which events go at equal times. */
  enum Kind { TASK_END, UPDATE, SUBMISSION, AM_BEAT, NODE_BEAT, ROUND }

  /** The events to come. */
  static final class Queue {
    private static final Comparator<Event> ORDER =
        Comparator.comparingDouble(Event::time).thenComparing(Event::kind).thenComparingLong(Event::number);

    private final PriorityQueue<Event> events = new PriorityQueue<>(ORDER);
    private long made;

    void add(double time, Kind kind, int index, Job job, ContainerId container) {
      events.add(new Event(time, kind, index, job, container, made++));
    }

    /** The next event, or null. */
    Event poll() {
      return events.poll();
    }
  }
}
