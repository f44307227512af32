package yarntune.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.StreamSupport;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;

/** Executors, as Spark has them: asked for at once, kept to the end; stages run on their slots one after the other. */
final class ExecutorJob extends Job {
  private final int executors;
  private final Size size;
  private final int[] stageOf;
  private final List<Integer> stageSizes = new ArrayList<>();

  private int stage;
  private int leftInStage;
  private final TreeSet<Integer> waiting = new TreeSet<>();
  private final ArrayDeque<ContainerId> freeSlots = new ArrayDeque<>();
  private final ContainerId[] containers;
  private final Map<ContainerId, Collection<Integer>> held = new LinkedHashMap<>();

  ExecutorJob(JsonNode fields) {
    super(fields, StreamSupport.stream(fields.get("stages").spliterator(), false)
        .flatMap(stage -> StreamSupport.stream(stage.spliterator(), false)).mapToDouble(JsonNode::asDouble).toArray());
    JsonNode asked = fields.get("executors");
    executors = asked.get("count").asInt();
    size = new Size(asked.path("memory").asInt(1024), asked.path("vcores").asInt(1));
    if (executors < 1) {
      throw new IllegalArgumentException("job " + id + ": executors.count must be at least 1");
    }
    if (duration.length == 0) {
      throw new IllegalArgumentException("job " + id + ": no task in any stage");
    }
    stageOf = new int[duration.length];
    containers = new ContainerId[duration.length];
    int task = 0;
    for (JsonNode tasks : fields.get("stages")) {
      if (tasks.size() > 0) {
        Arrays.fill(stageOf, task, task + tasks.size(), stageSizes.size());
        stageSizes.add(tasks.size());
        task += tasks.size();
      }
    }
    forget();
  }

  @Override
  SortedMap<Size, Integer> wanted() {
    return new TreeMap<>(Map.of(size, executors));
  }

  @Override
  void collect(Container container, Size asked, List<Integer> started) {
    held.put(container.getId(), new TreeSet<>());
    for (int slot = 0; slot < size.vcores(); slot++) {
      freeSlots.add(container.getId());
    }
  }

  @Override
  void startWaiting(List<Integer> started) {
    while (!freeSlots.isEmpty() && !waiting.isEmpty() && stageOf[waiting.first()] == stage) {
      int task = waiting.pollFirst();
      ContainerId container = freeSlots.poll();
      containers[task] = container;
      held.get(container).add(task);
      started.add(task);
    }
  }

  @Override
  ContainerId containerOf(int task) {
    return containers[task];
  }

  @Override
  boolean taskEnded(int task) {
    held.get(containers[task]).remove(task);
    freeSlots.add(containers[task]);
    if (--leftInStage == 0 && !allDone()) {
      leftInStage = stageSizes.get(++stage);
    }
    return allDone();
  }

  @Override
  List<ContainerId> takeReleases() {
    return List.of();
  }

  @Override
  List<ContainerId> held() {
    return new ArrayList<>(held.keySet());
  }

  @Override
  Size lose(ContainerId container) {
    Collection<Integer> tasks = held.remove(container);
    if (tasks == null) {
      return null;
    }
    freeSlots.removeIf(container::equals);
    for (int task : tasks) {
      containers[task] = null;
      start[task] = -1;
      waiting.add(task);
    }
    return size;
  }

  @Override
  void forget() {
    stage = 0;
    leftInStage = stageSizes.get(0);
    held.clear();
    freeSlots.clear();
    for (int i = 0; i < duration.length; i++) {
      containers[i] = null;
      waiting.add(i);
    }
  }
}
