package yarntune.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.StreamSupport;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;

/** A container per task, as MapReduce has it: each goes back when its task ends. */
final class TaskJob extends Job {
  private final Size[] size;
  private final SortedMap<Size, TreeSet<Integer>> waiting = new TreeMap<>();
  private final ContainerId[] containers;
  private final Map<ContainerId, Integer> running = new HashMap<>();
  private List<ContainerId> releases = new ArrayList<>();

  TaskJob(JsonNode fields) {
    super(fields, StreamSupport.stream(fields.get("tasks").spliterator(), false)
        .mapToDouble(task -> task.get("duration").asDouble()).toArray());
    size = new Size[duration.length];
    containers = new ContainerId[duration.length];
    for (int i = 0; i < size.length; i++) {
      JsonNode task = fields.get("tasks").get(i);
      size[i] = new Size(task.path("memory").asInt(1024), task.path("vcores").asInt(1));
    }
    forget();
  }

  @Override
  SortedMap<Size, Integer> wanted() {
    SortedMap<Size, Integer> counts = new TreeMap<>();
    waiting.forEach((key, tasks) -> counts.put(key, tasks.size()));
    return counts;
  }

  @Override
  void collect(Container container, Size asked, List<Integer> started) {
    Integer task = waiting.get(asked).pollFirst();
    if (task == null) {
      releases.add(container.getId());
      return;
    }
    containers[task] = container.getId();
    running.put(container.getId(), task);
    started.add(task);
  }

  @Override
  void startWaiting(List<Integer> started) { }

  @Override
  ContainerId containerOf(int task) {
    return containers[task];
  }

  @Override
  boolean taskEnded(int task) {
    releases.add(containers[task]);
    running.remove(containers[task]);
    return true;
  }

  @Override
  List<ContainerId> takeReleases() {
    List<ContainerId> taken = releases;
    releases = new ArrayList<>();
    return taken;
  }

  @Override
  List<ContainerId> held() {
    return List.of();
  }

  @Override
  Size lose(ContainerId container) {
    Integer task = running.remove(container);
    if (task == null) {
      return null;
    }
    containers[task] = null;
    start[task] = -1;
    waiting.get(size[task]).add(task);
    return size[task];
  }

  @Override
  void forget() {
    running.clear();
    releases.clear();
    for (int i = 0; i < size.length; i++) {
      containers[i] = null;
      waiting.computeIfAbsent(size[i], key -> new TreeSet<>()).add(i);
    }
  }
}
