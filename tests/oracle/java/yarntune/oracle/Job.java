package yarntune.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;

/** A job of the case: what its AM asks for, what runs where, and when what happened. */
abstract class Job {
  private static final int FIRST_PRIORITY = 20;

  /** Equal containers at one priority: how many are asked for and not yet collected. */
  private static final class Ask {
    final Size size;
    int outstanding;

    Ask(Size size, int count) {
      this.size = size;
      outstanding = count;
    }
  }

  final String id;
  final String user;
  final String queue;
  final String label;
  final double submit;
  final int amMemory;
  final double[] duration;

  double amStart = -1;
  double first = -1;
  double finish = -1;
  String rejected;
  int preempted;
  final double[] start;
  final double[] end;

  /** The ResourceManager's side of the job; the attempt is the AM's that runs. */
  RMApp app;
  RMAppAttempt attempt;
  MockAM am;
  int attempts;

  private final SortedMap<Integer, Ask> asks = new TreeMap<>();
  private int done;

  Job(JsonNode fields, double[] duration) {
    id = fields.get("id").asText();
    user = fields.path("user").asText("user");
    queue = fields.get("queue").asText();
    label = fields.path("label").asText("");
    submit = fields.get("submit").asDouble();
    amMemory = fields.path("am_memory").asInt(1024);
    this.duration = duration;
    start = new double[duration.length];
    end = new double[duration.length];
    Arrays.fill(start, -1);
    Arrays.fill(end, -1);
  }

  static Job parse(JsonNode fields) {
    return fields.has("stages") ? new ExecutorJob(fields) : new TaskJob(fields);
  }

  /** Containers wanted when the AM starts, by size. */
  abstract SortedMap<Size, Integer> wanted();

  /** Takes a container; the tasks that start now are put into {@code started}. */
  abstract void collect(Container container, Size size, List<Integer> started);

  /** Tasks that start on what the job holds, without a new container. */
  abstract void startWaiting(List<Integer> started);

  /** Where a task runs, or null where it does not. */
  abstract ContainerId containerOf(int task);

  /** A task has ended; returns whether the AM has a beat at once. */
  abstract boolean taskEnded(int task);

  /** Containers to give back at this beat. */
  abstract List<ContainerId> takeReleases();

  /** Containers still held at the job's end. */
  abstract List<ContainerId> held();

  /** A container of this job was killed; returns its size, or null where the job does not hold it. */
  abstract Size lose(ContainerId container);

  /** Forgets all progress: the AM was killed and another one begins anew. */
  abstract void forget();

  /** The first AM's, or the next one's, beginning. */
  final void startAttempt(RMAppAttempt attempt, MockAM am, double now) {
    this.attempt = attempt;
    this.am = am;
    attempts++;
    amStart = now;
    asks.clear();
  }

  final void loseAttempt() {
    attempt = null;
    am = null;
    preempted++;
    done = 0;
    Arrays.fill(start, -1);
    Arrays.fill(end, -1);
    forget();
  }

  /** All asks of a job whose AM has just started. */
  final List<ResourceRequest> firstAsks() {
    int priority = FIRST_PRIORITY;
    List<ResourceRequest> requests = new ArrayList<>();
    for (var entry : wanted().entrySet()) {
      asks.put(priority, new Ask(entry.getKey(), entry.getValue()));
      requests.add(request(priority++));
    }
    return requests;
  }

  final boolean hasAsked() {
    return !asks.isEmpty();
  }

  /** Takes what the RM granted and starts what can start; returns the tasks that start. */
  final List<Integer> collect(List<Container> granted, double now) {
    List<Integer> started = new ArrayList<>();
    for (Container container : granted) {
      Ask ask = asks.get(container.getPriority().getPriority());
      ask.outstanding--;
      collect(container, ask.size, started);
    }
    startWaiting(started);
    markStarted(started, now);
    return started;
  }

  final void markStarted(List<Integer> started, double now) {
    for (int task : started) {
      if (first < 0) {
        first = now;
      }
      start[task] = now;
    }
  }

  /** Asks again for containers that were killed; what ran in them waits again. */
  final List<ResourceRequest> replace(List<ContainerId> killed) {
    SortedMap<Integer, ResourceRequest> requests = new TreeMap<>();
    for (ContainerId container : killed) {
      Size size = lose(container);
      if (size == null) {
        continue; // never collected: the RM has put the ask back by itself
      }
      preempted++;
      for (var entry : asks.entrySet()) {
        if (entry.getValue().size.equals(size)) {
          entry.getValue().outstanding++;
          requests.put(entry.getKey(), request(entry.getKey()));
        }
      }
    }
    return new ArrayList<>(requests.values());
  }

  final boolean endTask(int task, double now) {
    done++;
    end[task] = now;
    return taskEnded(task);
  }

  final boolean allDone() {
    return done == duration.length;
  }

  final boolean over() {
    return finish >= 0 || rejected != null;
  }

  private ResourceRequest request(int priority) {
    Ask ask = asks.get(priority);
    return ResourceRequest.newInstance(
        Priority.newInstance(priority), ResourceRequest.ANY, ask.size.resource(), ask.outstanding);
  }

  final void write(ObjectNode out, boolean withTasks) {
    out.put("id", id).put("queue", queue).put("submit", submit);
    out.put("am_start", amStart).put("first", first).put("finish", finish);
    if (rejected != null) {
      out.put("rejected", rejected);
    }
    if (preempted > 0) {
      out.put("preempted", preempted);
    }
    if (withTasks) {
      ArrayNode starts = out.putArray("start");
      ArrayNode ends = out.putArray("end");
      for (int i = 0; i < start.length; i++) {
        starts.add(start[i]);
        ends.add(end[i]);
      }
    }
  }
}
