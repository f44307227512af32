package yarntune.replay;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.Socket;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.yarn.api.ApplicationMasterProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.protocolrecords.FinishApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterRequest;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.NMToken;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.client.ClientRMProxy;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.client.api.NMTokenCache;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.security.AMRMTokenIdentifier;

/** One job of the replay: submits itself, asks for a container for each task, and starts a block in each. */
final class Application {
  private static final int FIRST_PRIORITY = 20;
  private static final int MOST_TRIES = 4;

  private final JsonNode job;
  private final String id;
  private final String tag;
  private final String runner;
  private final YarnConfiguration conf;
  private final ScheduledExecutorService pool;
  private final String masterCommand;
  private final Runnable whenEnded;
  private final long heartbeatMs;
  private final UserGroupInformation user;

  private final Map<Integer, ArrayDeque<JsonNode>> waiting = new HashMap<>();
  private final Map<ContainerId, JsonNode> running = new HashMap<>();
  private final Map<Integer, Resource> sizes = new HashMap<>();
  private final Map<JsonNode, Integer> tries = new IdentityHashMap<>();
  private final Set<Integer> askAgain = new HashSet<>();
  private List<ContainerId> surplus = new ArrayList<>();
  private final NMTokenCache tokens = new NMTokenCache();
  private YarnClient client;
  private ApplicationId applicationId;
  private ApplicationMasterProtocol master;
  private NMClient nodes;
  private Socket connection;
  private ScheduledFuture<?> beats;
  private int response;
  private int total;
  private int done;
  private boolean over;

  Application(JsonNode job, JsonNode plan, YarnConfiguration conf, ScheduledExecutorService pool, String masterCommand,
      Runnable whenEnded) {
    this.job = job;
    this.conf = conf;
    this.pool = pool;
    this.masterCommand = masterCommand;
    this.whenEnded = whenEnded;
    id = job.get("id").asText();
    tag = plan.get("tag").asText();
    runner = plan.get("runner").asText();
    heartbeatMs = plan.get("am_heartbeat_ms").asLong();
    user = UserGroupInformation.createRemoteUser(job.get("user").asText());
    Map<Long, Integer> priorities = new HashMap<>();
    TreeMap<Long, ArrayDeque<JsonNode>> bySize = new TreeMap<>();
    for (JsonNode task : job.get("tasks")) {
      long size = (task.get("memory").asLong() << 16) | task.get("vcores").asLong();
      bySize.computeIfAbsent(size, key -> new ArrayDeque<>()).add(task);
      total++;
    }
    for (Map.Entry<Long, ArrayDeque<JsonNode>> each : bySize.entrySet()) {
      int priority = FIRST_PRIORITY + priorities.size();
      priorities.put(each.getKey(), priority);
      waiting.put(priority, each.getValue());
      sizes.put(priority, Resource.newInstance((int) (each.getKey() >> 16), (int) (each.getKey() & 0xffff)));
    }
  }

  long submitMs() {
    return Math.round(job.get("submit").asDouble() * 1000);
  }

  /** Submits the application as its user. */
  synchronized void submit(Map<String, Application> byAttempt) {
    if (over) return;
    try {
      user.doAs((PrivilegedExceptionAction<Void>) () -> {
        client = YarnClient.createYarnClient();
        client.init(conf);
        client.start();
        ApplicationSubmissionContext context = client.createApplication().getApplicationSubmissionContext();
        applicationId = context.getApplicationId();
        byAttempt.put(ApplicationAttemptId.newInstance(applicationId, 1).toString(), this);
        context.setApplicationName(id);
        context.setApplicationType("YARNTUNE");
        context.setApplicationTags(Set.of(tag));
        context.setQueue(job.get("queue").asText());
        context.setMaxAppAttempts(1);
        context.setResource(Resource.newInstance(job.get("am_memory").asInt(), 1));
        context.setAMContainerSpec(launch(masterCommand));
        say("submitted", Map.of("application", applicationId.toString()));
        client.submitApplication(context);
        return null;
      });
      pool.schedule(this::look, 2, TimeUnit.SECONDS);
    } catch (Exception e) {
      // The queue refuses it, or the ResourceManager is gone; which of them is in the words.
      end("rejected", String.valueOf(e.getMessage()).split("\n")[0]);
    }
  }

  /** Until its ApplicationMaster has started, looks whether the application was refused or killed. */
  private synchronized void look() {
    if (over || master != null) return;
    try {
      var report = client.getApplicationReport(applicationId);
      switch (report.getYarnApplicationState()) {
        case FAILED, KILLED, FINISHED -> end("failed", report.getDiagnostics());
        default -> pool.schedule(this::look, 2, TimeUnit.SECONDS);
      }
    } catch (YarnException | IOException e) {
      end("failed", String.valueOf(e.getMessage()));
    }
  }

  /** YARN puts the command between double quotes in a shell script and runs the result in another shell. */
  private static ContainerLaunchContext launch(String command) {
    String escaped = command.replace("\\", "\\\\").replace("\"", "\\\"").replace("$", "\\$").replace("`", "\\`");
    return ContainerLaunchContext.newInstance(
        Map.of(), Map.of(), List.of(escaped + " 2><LOG_DIR>/stderr"), null, null, null);
  }

  /** Its ApplicationMaster's container runs and has sent its token. */
  synchronized void masterStarted(Credentials credentials, Socket connection) throws IOException {
    this.connection = connection;
    if (over) {
      connection.close();
      return;
    }
    UserGroupInformation attempt = UserGroupInformation.createRemoteUser(applicationId.toString());
    for (Token<?> token : credentials.getAllTokens()) {
      if (token.getKind().equals(AMRMTokenIdentifier.KIND_NAME)) {
        token.setService(ClientRMProxy.getAMRMTokenService(conf));
        attempt.addToken(token);
      }
    }
    try {
      master = attempt.doAs((PrivilegedExceptionAction<ApplicationMasterProtocol>) () ->
          ClientRMProxy.createRMProxy(conf, ApplicationMasterProtocol.class));
      master.registerApplicationMaster(RegisterApplicationMasterRequest.newInstance("localhost", 0, ""));
      nodes = NMClient.createNMClient();
      nodes.setNMTokenCache(tokens);
      nodes.cleanupRunningContainersOnStop(false);
      nodes.init(conf);
      nodes.start();
    } catch (YarnException | InterruptedException | IOException e) {
      end("failed", String.valueOf(e));
      return;
    }
    say("am_started", Map.of());
    beats = pool.scheduleWithFixedDelay(this::beat, 0, heartbeatMs, TimeUnit.MILLISECONDS);
  }

  private synchronized void beat() {
    if (over) return;
    try {
      List<ResourceRequest> asks = new ArrayList<>();
      for (int priority : response == 0 ? waiting.keySet() : askAgain) asks.add(ask(priority));
      askAgain.clear();
      List<ContainerId> released = surplus;
      surplus = new ArrayList<>();
      AllocateResponse answer = master.allocate(
          AllocateRequest.newInstance(response, total == 0 ? 1f : (float) done / total, asks, released, null));
      response = answer.getResponseId();
      for (NMToken token : answer.getNMTokens()) tokens.setToken(token.getNodeId().toString(), token.getToken());
      for (ContainerStatus status : answer.getCompletedContainersStatuses()) completed(status);
      for (Container container : answer.getAllocatedContainers()) start(container);
      if (done == total) finish();
    } catch (YarnException | IOException e) {
      end("failed", String.valueOf(e.getMessage()).split("\n")[0]);
    } catch (RuntimeException e) {
      // A scheduled task that throws is dropped without a word.
      end("failed", String.valueOf(e));
    }
  }

  private ResourceRequest ask(int priority) {
    return ResourceRequest.newInstance(
        Priority.newInstance(priority), ResourceRequest.ANY, sizes.get(priority), waiting.get(priority).size());
  }

  private void start(Container container) {
    ArrayDeque<JsonNode> queue = waiting.get(container.getPriority().getPriority());
    JsonNode task = queue == null ? null : queue.poll();
    if (task == null) {
      surplus.add(container.getId());
      return;
    }
    running.put(container.getId(), task);
    if (done == 0 && running.size() == 1) say("first", Map.of());
    // Starting takes the node some 20 ms: other beats need not wait for it.
    pool.execute(() -> {
      try {
        nodes.startContainer(container, launch(runner + " '" + argument(task) + "' >/dev/null"));
      } catch (YarnException | IOException e) {
        notStarted(container, String.valueOf(e.getMessage()));
      }
    });
  }

  /** The block; two braces in a row would be taken for YARN's own variables ({{NAME}}). */
  private static String argument(JsonNode task) {
    return task.get("block").toString().replace("{{", "{ {").replace("}}", "} }");
  }

  private synchronized void notStarted(Container container, String words) {
    if (over) return;
    Replay.emit("problem", id, Map.of("words", "a container could not be started: " + words));
    surplus.add(container.getId());
  }

  private void completed(ContainerStatus status) {
    JsonNode task = running.remove(status.getContainerId());
    if (task == null) return;
    if (status.getExitStatus() == ContainerExitStatus.SUCCESS) {
      done++;
      return;
    }
    // Preempted, or its node is gone: it runs again. One that fails by itself fails again, and then the job does.
    int priority = priorityOf(task);
    if (status.getExitStatus() != ContainerExitStatus.PREEMPTED && tries.merge(task, 1, Integer::sum) >= MOST_TRIES) {
      end("failed", "a task's container failed: " + status.getDiagnostics());
      return;
    }
    waiting.get(priority).add(task);
    askAgain.add(priority);
  }

  private int priorityOf(JsonNode task) {
    Resource size = Resource.newInstance(task.get("memory").asInt(), task.get("vcores").asInt());
    return sizes.entrySet().stream().filter(each -> each.getValue().equals(size)).findFirst().orElseThrow().getKey();
  }

  private void finish() throws YarnException, IOException {
    FinishApplicationMasterRequest request =
        FinishApplicationMasterRequest.newInstance(FinalApplicationStatus.SUCCEEDED, "", "");
    while (!master.finishApplicationMaster(request).getIsUnregistered()) {
      java.util.concurrent.locks.LockSupport.parkNanos(20_000_000);
    }
    end("finished", "");
  }

  /** Kills it if it has not ended. */
  synchronized void kill() {
    if (over) return;
    if (client != null && applicationId != null) {
      try {
        client.killApplication(applicationId);
      } catch (YarnException | IOException e) {
        Replay.emit("problem", id, Map.of("words", "it could not be killed: " + e.getMessage()));
      }
    }
    end("killed", "");
  }

  private void end(String event, String words) {
    if (over) return;
    over = true;
    say(event, words.isEmpty() ? Map.of() : Map.of("words", words));
    if (beats != null) beats.cancel(false);
    try {
      if (connection != null) connection.close();
    } catch (IOException e) {
      // Closed from the other side.
    }
    if (nodes != null) nodes.stop();
    if (client != null) client.stop();
    whenEnded.run();
  }

  private void say(String event, Map<String, Object> more) {
    Replay.emit(event, id, more);
  }
}
