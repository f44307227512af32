package yarntune.oracle;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;

/** The command: {@code Oracle CASE RESULT [CASE RESULT ...] [--tasks]}; exit 1 when a case could not be replayed. */
public final class Oracle {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private static final OperatingSystemMXBean PROCESS =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private Oracle() { }

  public static void main(String[] args) {
    boolean withTasks = args.length % 2 == 1 && "--tasks".equals(args[args.length - 1]);
    if (args.length < 2 || args.length % 2 == 1 && !withTasks) {
      System.err.println("usage: Oracle CASE RESULT [CASE RESULT ...] [--tasks]");
      System.exit(2);
    }
    DefaultMetricsSystem.setMiniClusterMode(true);
    int failed = 0;
    for (int i = 0; i + 1 < args.length; i += 2) {
      try {
        replay(Path.of(args[i]), Path.of(args[i + 1]), withTasks);
      } catch (Throwable e) { // an assertion or a fault of one case is no reason to drop the others
        failed++;
        System.err.println(args[i] + ": " + describe(e));
      }
    }
    System.exit(failed == 0 ? 0 : 1); // threads of the RM may still be there
  }

  /** In one line; Hadoop's services wrap what went wrong in exceptions that do not say it. */
  private static String describe(Throwable e) {
    StringBuilder words = new StringBuilder(e.toString());
    for (Throwable cause = e.getCause(); cause != null; cause = cause.getCause()) {
      if (cause.getMessage() != null && words.indexOf(cause.getMessage()) < 0) {
        words.append(": ").append(cause.getMessage());
      }
    }
    return words.toString().replaceAll("\\s*\\R\\s*", " ");
  }

  private static void replay(Path caseFile, Path resultFile, boolean withTasks) throws Exception {
    long begin = System.nanoTime();
    long cpuBegin = PROCESS.getProcessCpuTime();
    QueueMetrics.clearQueueMetrics();
    try (Replay replay = new Replay(MAPPER.readTree(caseFile.toFile()))) {
      long started = System.nanoTime();
      replay.run();
      ObjectNode out = MAPPER.createObjectNode();
      replay.write(out, withTasks);
      long end = System.nanoTime();
      out.put("wall_seconds", (end - begin) / 1e9);
      out.put("replay_seconds", (end - started) / 1e9);
      out.put("cpu_seconds", (PROCESS.getProcessCpuTime() - cpuBegin) / 1e9);
      Path part = resultFile.resolveSibling(resultFile.getFileName() + ".part");
      MAPPER.writeValue(part.toFile(), out);
      Files.move(part, resultFile, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }
  }
}
