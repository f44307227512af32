package yarntune.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.lang.reflect.UndeclaredThrowableException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeLabel;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmissionData;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmitter;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.ProportionalCapacityPreemptionPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.NullRMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacitySchedulerConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.VirtualClockCapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.VirtualClockFairScheduler;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;

/**
 * A whole ResourceManager with its nodes, in this process, without network: Hadoop's MockRM around the real scheduler.
 *
 * <p>The RM's own event loop runs in threads of its own; {@link #settle} waits until it has nothing left to do.
 */
final class Cluster implements AutoCloseable {
  private static final String MONITORS = YarnConfiguration.RM_SCHEDULER_MONITOR_POLICIES;
  private static final String ASYNCHRONOUS = "yarn.scheduler.capacity.schedule-asynchronously.enable";
  private static final String LONG_MS = "7200000";

  private final boolean fair;
  private final boolean limitsParallelApps;
  private final Configuration conf;
  private final Path folder = Files.createTempDirectory("oracle");
  private final Path allocationFile = folder.resolve("fair-scheduler.xml");
  private final List<MockNM> nodes = new ArrayList<>();
  private final Map<String, MockNM> nodeOfHost = new HashMap<>();
  private final MockRM rm;
  private final AbstractYarnScheduler<?, ?> scheduler;
  private final VirtualClock clock;

  Cluster(JsonNode theCase) throws Exception {
    fair = "fair".equals(theCase.path("scheduler").asText("capacity"));
    limitsParallelApps = theCase.toString().contains("max-parallel-apps");
    conf = configuration(theCase);
    RMNodeLabelsManager labels = labels(theCase);
    rm = labels == null ? new MockRM(conf) : new MockRM(conf) {
      @Override
      protected RMNodeLabelsManager createNodeLabelManager() {
        return labels;
      }
    };
    quiet();
    rm.start();
    quiet();
    // Application ids hold this stamp, and hash by it: one that is always the same keeps hashed orders the same.
    FixedStamp.set();
    scheduler = (AbstractYarnScheduler<?, ?>) rm.getResourceScheduler();
    for (JsonNode node : theCase.get("nodes")) {
      String address = host(nodes.size()) + ":1234";
      MockNM nm = rm.registerNode(address, node.get("memory").asInt(), node.get("vcores").asInt());
      nodes.add(nm);
      nodeOfHost.put(nm.getNodeId().getHost(), nm);
    }
    rm.drainEvents();
    rm.disableDrainEventsImplicitly();
    if (scheduler instanceof VirtualClockCapacityScheduler own) {
      own.takeOver();
    }
    clock = scheduler instanceof VirtualClockFairScheduler own ? own.virtualClock() : new VirtualClock();
    if (scheduler instanceof VirtualClockFairScheduler own) {
      own.settleWith(this::settle);
    }
    if (!fair && preempts()) {
      var monitor = scheduler.getSchedulingMonitorManager().getAvailableSchedulingMonitor();
      ((VirtualClockPreemptionPolicy) monitor.getSchedulingEditPolicy()).drive(clock, this::settle);
    }
  }

  private Configuration configuration(JsonNode theCase) throws IOException {
    Configuration base = new Configuration();
    base.set("fs.defaultFS", "file:///");
    Configuration made =
        fair ? new YarnConfiguration(base) : new CapacitySchedulerConfiguration(new YarnConfiguration(base));
    made.set(YarnConfiguration.RM_SCHEDULER,
        (fair ? VirtualClockFairScheduler.class : CapacityScheduler.class).getName());
    made.set("yarn.scheduler.configuration.store.class", "file");
    made.set(ASYNCHRONOUS, "false"); // the default is true from 3.5
    made.set("yarn.scheduler.fair.update-interval-ms", "100000000"); // driven by the virtual clock
    long heartbeatMs = Math.round(theCase.path("node_heartbeat").asDouble(1.0) * 1000);
    made.set(YarnConfiguration.RM_NM_HEARTBEAT_INTERVAL_MS, Long.toString(heartbeatMs));
    made.set(YarnConfiguration.RM_CONTAINER_ALLOC_EXPIRY_INTERVAL_MS, LONG_MS); // these follow the wall clock
    made.set(YarnConfiguration.RM_NM_EXPIRY_INTERVAL_MS, LONG_MS);
    made.set(YarnConfiguration.RM_AM_EXPIRY_INTERVAL_MS, LONG_MS);
    made.set("yarn.nm.liveness-monitor.expiry-interval-ms", LONG_MS);
    made.set("yarn.am.liveness-monitor.expiry-interval-ms", LONG_MS);
    made.set("yarn.node-attribute.fs-store.root-dir", folder.toUri().toString());
    // What is skipped after a while without a heartbeat goes by the wall clock.
    made.set(YarnConfiguration.SCHEDULER_SKIP_NODE_MULTIPLIER, "1000000");
    set(made, theCase.path("conf"));
    if (!fair && made.getBoolean(ASYNCHRONOUS, false)) {
      made.set(YarnConfiguration.RM_SCHEDULER, VirtualClockCapacityScheduler.class.getName());
    }
    if (fair) {
      Files.writeString(allocationFile, theCase.path("allocations").asText("<allocations/>"));
      made.set("yarn.scheduler.fair.allocation.file", allocationFile.toString());
    } else if (made.getBoolean(YarnConfiguration.RM_SCHEDULER_ENABLE_MONITORS, false)) {
      String policies = made.get(MONITORS, ProportionalCapacityPreemptionPolicy.class.getName()).trim();
      if (!policies.equals(ProportionalCapacityPreemptionPolicy.class.getName())) {
        throw new IllegalArgumentException(MONITORS + ": only the preemption policy runs under the virtual clock");
      }
      made.set(MONITORS, VirtualClockPreemptionPolicy.class.getName());
    }
    return made;
  }

  private static void set(Configuration conf, JsonNode properties) {
    properties.fields().forEachRemaining(property -> {
      if (property.getValue().isNull()) {
        conf.unset(property.getKey());
      } else {
        conf.set(property.getKey(), property.getValue().asText());
      }
    });
  }

  /** The partitions of the nodes, or null where no node has a label. */
  private RMNodeLabelsManager labels(JsonNode theCase) throws IOException {
    Map<NodeId, Set<String>> ofNodes = new HashMap<>();
    Set<String> names = new TreeSet<>();
    int index = 0;
    for (JsonNode node : theCase.get("nodes")) {
      String host = host(index++);
      for (JsonNode label : node.path("labels")) {
        names.add(label.asText());
        ofNodes.computeIfAbsent(NodeId.newInstance(host, 0), key -> new TreeSet<>()).add(label.asText());
      }
    }
    if (names.isEmpty()) {
      return null;
    }
    Set<String> shared = new TreeSet<>();
    theCase.path("shared_labels").forEach(label -> shared.add(label.asText()));
    conf.setBoolean(YarnConfiguration.NODE_LABELS_ENABLED, true);
    RMNodeLabelsManager manager = new NullRMNodeLabelsManager();
    manager.init(conf);
    manager.addToCluserNodeLabels(
        names.stream().map(name -> NodeLabel.newInstance(name, !shared.contains(name))).toList());
    manager.addLabelsToNode(ofNodes);
    return manager;
  }

  /** The address of a node: their hash, which orders nodes here and there in Hadoop, is part of the case format. */
  private static String host(int index) {
    return "127." + (1 + index / 62500) + "." + index / 250 % 250 + "." + (1 + index % 250);
  }

  boolean isFair() {
    return fair;
  }

  VirtualClock clock() {
    return clock;
  }

  int nodeCount() {
    return nodes.size();
  }

  /** Whether containers can be killed to make room for others. */
  boolean preempts() {
    return conf.getBoolean(
        fair ? "yarn.scheduler.fair.preemption" : YarnConfiguration.RM_SCHEDULER_ENABLE_MONITORS, false);
  }

  /** Seconds between rounds of asynchronous scheduling; 0 where containers are given out at heartbeats. */
  double roundStepS() {
    return scheduler instanceof VirtualClockCapacityScheduler own ? own.stepS() : 0;
  }

  /** One round of asynchronous scheduling; returns whether anything came of it. */
  boolean round() throws InterruptedException {
    return ((VirtualClockCapacityScheduler) scheduler).round();
  }

  /** Waits until the RM has handled all its events. */
  void settle() {
    rm.drainEvents();
  }

  void fairUpdate() {
    ((VirtualClockFairScheduler) scheduler).updateNow();
  }

  void nodeBeat(int node) {
    NodeId id = nodes.get(node).getNodeId();
    scheduler.handle(new NodeUpdateSchedulerEvent(rm.getRMContext().getRMNodes().get(id)));
  }

  /** Submits a job; false, with the RM's words in the job, where it was refused. */
  boolean submit(Job job) throws Exception {
    var data = MockRMAppSubmissionData.Builder.createWithMemory(job.amMemory, rm).withAppName(job.id)
        .withUser(job.user).withQueue(job.queue).withWaitForAppAcceptedState(false);
    if (!job.label.isEmpty()) {
      data.withAppNodeLabel(job.label);
    }
    if (!fair && limitsParallelApps) {
      nextMillisecond();
    }
    try {
      job.app = MockRMAppSubmitter.submit(rm, data.build());
    } catch (UndeclaredThrowableException e) { // refused at once, as a client's call is
      Throwable cause = e;
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      job.rejected = String.valueOf(cause.getMessage());
      return false;
    }
    settle();
    if (job.app.getState() != RMAppState.ACCEPTED) {
      job.rejected = String.valueOf(job.app.getDiagnostics());
      return false;
    }
    return true;
  }

  /**
   * The Capacity Scheduler lets applications run by the wall-clock times of their submission, where their number is
   * limited; two in one millisecond would be in no order.
   */
  private static void nextMillisecond() throws InterruptedException {
    long time = System.currentTimeMillis();
    while (System.currentTimeMillis() == time) {
      Thread.sleep(0, 100_000);
    }
  }

  /** Starts a job's AM if it has got its container; returns whether it has. */
  boolean launch(Job job, double now) throws Exception {
    RMAppAttempt attempt = job.app.getCurrentAppAttempt();
    if (attempt.getAppAttemptState() != RMAppAttemptState.ALLOCATED) {
      return false;
    }
    rm.sendAMLaunched(attempt.getAppAttemptId());
    settle();
    MockAM am = new MockAM(rm.getRMContext(), rm.getApplicationMasterService(), attempt.getAppAttemptId());
    am.registerAppAttempt(false);
    settle();
    job.startAttempt(attempt, am, now);
    return true;
  }

  /** Whether the RM has killed the job's AM and begun another attempt. */
  boolean lostAm(Job job) {
    return job.attempt != null && job.app.getCurrentAppAttempt() != job.attempt;
  }

  /** Whether a container still exists: it does not once it was preempted. */
  boolean exists(ContainerId container) {
    return scheduler.getRMContainer(container) != null;
  }

  AllocateResponse allocate(Job job, float progress, List<ResourceRequest> asks, List<ContainerId> releases)
      throws Exception {
    return job.am.allocate(AllocateRequest.newInstance(0, progress, asks, releases, null));
  }

  /** The AM says good-bye, and its node reports the end of its container. */
  void leave(Job job) throws Exception {
    job.am.unregisterAppAttempt(false);
    settle();
    var container = job.attempt.getMasterContainer();
    ContainerId id = container.getId();
    nodeOfHost.get(container.getNodeId().getHost())
        .nodeHeartbeat(id.getApplicationAttemptId(), id.getContainerId(), ContainerState.COMPLETE);
    settle();
  }

  void update(JsonNode update) throws Exception {
    JsonNode properties = update.path("conf");
    if (properties.has(MONITORS) || properties.has(YarnConfiguration.RM_SCHEDULER_ENABLE_MONITORS)) {
      throw new IllegalArgumentException("the scheduler's monitors cannot be changed while it runs");
    }
    set(conf, properties);
    if (fair && update.has("allocations")) {
      Files.writeString(allocationFile, update.get("allocations").asText());
    }
    scheduler.reinitialize(conf, rm.getRMContext());
    if (fair) {
      fairUpdate();
    }
    settle();
  }

  @Override
  public void close() throws IOException {
    rm.stop();
    try (var files = Files.walk(folder)) {
      files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    }
  }

  /** MockRM sets the root logger to its own level. */
  private static void quiet() {
    Logger.getRootLogger().setLevel(Level.FATAL);
  }

  /** The RM's start time is protected. */
  private static final class FixedStamp extends ResourceManager {
    static void set() {
      setClusterTimeStamp(1_000_000_000_000L);
    }
  }
}
