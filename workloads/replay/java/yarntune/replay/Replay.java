package yarntune.replay;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * Replays jobs as real YARN applications, all of them from this one JVM.
 *
 * <p>Each application is a managed one: YARN queues it, waits for room for its ApplicationMaster and starts that
 * container. It holds no JVM but a shell, which sends the application's AMRM token here ({@link TokenServer})
 * and stays until the connection is closed. The ApplicationMaster protocol is spoken from here ({@link Application}).
 *
 * <p>Standard input: one line with the plan as JSON; when it ends, the replay is called off. Standard output: one line
 * of JSON for each thing that happens.
 */
public final class Replay {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final Map<String, Application> byAttempt = new ConcurrentHashMap<>();
  private final List<Application> applications = new ArrayList<>();
  private final ScheduledExecutorService pool;
  private final CountDownLatch left;
  private volatile boolean calledOff;

  private Replay(JsonNode plan) throws Exception {
    YarnConfiguration conf = new YarnConfiguration();
    pool = Executors.newScheduledThreadPool(plan.get("threads").asInt());
    left = new CountDownLatch(plan.get("jobs").size());
    TokenServer server = new TokenServer(plan.get("listen").asText(), byAttempt::get);
    for (JsonNode job : plan.get("jobs")) {
      applications.add(new Application(job, plan, conf, pool, server.command(), this::ended));
    }
    server.start();
    emit("ready", "", Map.of());
    for (Application application : applications) {
      pool.schedule(() -> submit(application), application.submitMs(), TimeUnit.MILLISECONDS);
    }
  }

  private void submit(Application application) {
    if (!calledOff) application.submit(byAttempt);
  }

  private void ended() {
    left.countDown();
  }

  /** Kills what has not ended; whoever reads the plan's pipe has gone, or wants the end. */
  private void callOff() {
    calledOff = true;
    for (Application application : applications) application.kill();
  }

  static void emit(String event, String job, Map<String, Object> more) {
    Map<String, Object> line = new java.util.LinkedHashMap<>();
    line.put("event", event);
    if (!job.isEmpty()) line.put("job", job);
    line.put("time_ms", System.currentTimeMillis());
    line.putAll(more);
    synchronized (MAPPER) {
      try {
        System.out.println(MAPPER.writeValueAsString(line));
      } catch (java.io.IOException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  /** Runs a replay; exit status 0 all jobs have ended, 3 called off. */
  public static void main(String[] arguments) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    Replay replay = new Replay(MAPPER.readTree(in.readLine()));
    Thread watch = new Thread(() -> {
      try {
        while (in.readLine() != null) { }
      } catch (java.io.IOException e) {
        // The pipe is broken: the same as its end.
      }
      replay.callOff();
      System.exit(3);
    });
    watch.setDaemon(true);
    watch.start();
    replay.left.await();
    emit("done", "", Map.of());
    System.exit(0);
  }
}
