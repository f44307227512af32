package yarntune.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedList;
import java.util.List;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException;
import yarntune.oracle.Event.Kind;

/** Replays one case: what AMs and nodes do, in virtual time, against a real scheduler. See docs/oracle.md. */
final class Replay implements AutoCloseable {
  private static final double FAIR_UPDATE_S = 0.5;
  private static final double HORIZON_AFTER_LAST_SUBMIT_S = 21600;

  private final JsonNode theCase;
  private final Cluster cluster;
  private final double nodeBeatS;
  private final double amBeatS;
  private final double horizon;
  private final Event.Queue events = new Event.Queue();
  private final List<Job> jobs = new ArrayList<>();
  private final List<Job> waitingForAm = new LinkedList<>();
  private int left;
  private double now;
  private double nextFairUpdate;
  private boolean roundIsDue;

  Replay(JsonNode theCase) throws Exception {
    this.theCase = theCase;
    nodeBeatS = theCase.path("node_heartbeat").asDouble(1.0);
    amBeatS = theCase.path("am_heartbeat").asDouble(1.0);
    double lastSubmit = 0;
    for (JsonNode fields : theCase.get("jobs")) {
      Job job = Job.parse(fields);
      jobs.add(job);
      lastSubmit = Math.max(lastSubmit, job.submit);
    }
    left = jobs.size();
    horizon = theCase.path("horizon").asDouble(lastSubmit + HORIZON_AFTER_LAST_SUBMIT_S);
    cluster = new Cluster(theCase);
    for (int node = 0; node < cluster.nodeCount(); node++) {
      events.add(nodeBeatS * node / cluster.nodeCount(), Kind.NODE_BEAT, node, null, null);
    }
    for (Job job : jobs) {
      events.add(job.submit, Kind.SUBMISSION, 0, job, null);
    }
    for (int i = 0; i < theCase.path("updates").size(); i++) {
      events.add(theCase.get("updates").get(i).get("time").asDouble(), Kind.UPDATE, i, null, null);
    }
  }

  void run() throws Exception {
    Event event;
    while (left > 0 && (event = events.poll()) != null) {
      now = event.time();
      if (now > horizon) {
        break;
      }
      goTo(now);
      handle(event);
    }
  }

  /** What happens by the clock alone, before the first event at that time or later. */
  private void goTo(double time) throws Exception {
    boolean preempted = cluster.clock().advance(time);
    if (cluster.isFair() && time >= nextFairUpdate) {
      cluster.fairUpdate();
      nextFairUpdate = time + FAIR_UPDATE_S;
    }
    if (preempted) {
      cluster.settle();
      for (Job job : jobs) {
        if (!job.over() && cluster.lostAm(job)) {
          job.loseAttempt();
          waitingForAm.add(job);
        }
      }
    }
  }

  private void handle(Event event) throws Exception {
    Job job = event.job();
    switch (event.kind()) {
      case TASK_END -> endTask(job, event.index(), event.container());
      case UPDATE -> cluster.update(theCase.get("updates").get(event.index()));
      case SUBMISSION -> submit(job);
      case AM_BEAT -> {
        // An attempt that was killed has no more beats.
        if (!job.over() && job.attempt != null && event.index() == job.attempts && !beat(job)) {
          events.add(now + amBeatS, Kind.AM_BEAT, event.index(), job, null);
        }
      }
      case NODE_BEAT -> {
        cluster.nodeBeat(event.index());
        launchAms();
        events.add(now + nodeBeatS, Kind.NODE_BEAT, event.index(), null, null);
      }
      case ROUND -> {
        roundIsDue = cluster.round();
        launchAms();
        if (roundIsDue) {
          events.add((event.index() + 1) * cluster.roundStepS(), Kind.ROUND, event.index() + 1, null, null);
        }
      }
    }
    if (event.kind() != Kind.NODE_BEAT && event.kind() != Kind.ROUND) {
      wake();
    }
  }

  /** Asynchronous scheduling: the rounds go on, at their next turn, until nothing comes of one. */
  private void wake() {
    double step = cluster.roundStepS();
    if (step > 0 && !roundIsDue) {
      roundIsDue = true;
      int number = (int) Math.floor(now / step) + 1;
      events.add(number * step, Kind.ROUND, number, null, null);
    }
  }

  private void submit(Job job) throws Exception {
    if (cluster.submit(job)) {
      waitingForAm.add(job);
    } else {
      left--;
    }
  }

  private void launchAms() throws Exception {
    if (waitingForAm.isEmpty()) {
      return;
    }
    cluster.settle();
    for (Iterator<Job> waiting = waitingForAm.iterator(); waiting.hasNext();) {
      Job job = waiting.next();
      if (cluster.launch(job, now)) {
        waiting.remove();
        events.add(now, Kind.AM_BEAT, job.attempts, job, null);
      }
    }
  }

  private void endTask(Job job, int task, ContainerId container) throws Exception {
    if (!container.equals(job.containerOf(task)) || !cluster.exists(container)) {
      return; // killed before it could end
    }
    boolean beats = job.endTask(task, now);
    List<Integer> started = new ArrayList<>();
    job.startWaiting(started);
    job.markStarted(started, now);
    scheduleEnds(job, started);
    if (beats) {
      beat(job);
    }
  }

  private void scheduleEnds(Job job, List<Integer> started) {
    for (int task : started) {
      events.add(now + job.duration[task], Kind.TASK_END, task, job, job.containerOf(task));
    }
  }

  /** One heartbeat of a job's AM; returns whether it ended the job. */
  private boolean beat(Job job) throws Exception {
    List<ResourceRequest> asks = job.hasAsked() ? List.of() : job.firstAsks();
    List<ContainerId> killed;
    try {
      killed = exchange(job, asks, job.takeReleases());
    } catch (InvalidResourceRequestException e) {
      job.rejected = e.getMessage();
      left--;
      cluster.leave(job);
      return true;
    }
    if (!killed.isEmpty()) {
      List<ResourceRequest> again = job.replace(killed);
      if (!again.isEmpty()) {
        exchange(job, again, List.of());
      }
    }
    if (!job.allDone()) {
      return false;
    }
    job.finish = now;
    left--;
    List<ContainerId> held = job.held();
    if (!held.isEmpty()) {
      cluster.allocate(job, 1f, List.of(), held);
    }
    cluster.leave(job);
    return true;
  }

  /** An allocate call: what was granted is collected and used; returns the containers that were preempted. */
  private List<ContainerId> exchange(Job job, List<ResourceRequest> asks, List<ContainerId> releases)
      throws Exception {
    AllocateResponse response = cluster.allocate(job, 0f, asks, releases);
    scheduleEnds(job, job.collect(response.getAllocatedContainers(), now));
    List<ContainerId> killed = new ArrayList<>();
    for (ContainerStatus status : response.getCompletedContainersStatuses()) {
      if (status.getExitStatus() == ContainerExitStatus.PREEMPTED) {
        killed.add(status.getContainerId());
      }
    }
    return killed;
  }

  void write(ObjectNode out, boolean withTasks) {
    out.put("virtual_seconds", now);
    var array = out.putArray("jobs");
    for (Job job : jobs) {
      job.write(array.addObject(), withTasks);
    }
  }

  @Override
  public void close() throws IOException {
    cluster.close();
  }
}
