package yarntune.oracle;

import java.util.Comparator;
import org.apache.hadoop.yarn.api.records.Resource;

/** What a container asks for: MiB and vcores. Ordered by memory, then vcores. */
record Size(int memory, int vcores) implements Comparable<Size> {
  private static final Comparator<Size> ORDER = Comparator.comparingInt(Size::memory).thenComparingInt(Size::vcores);

  Resource resource() {
    return Resource.newInstance(memory, vcores);
  }

  @Override
  public int compareTo(Size other) {
    return ORDER.compare(this, other);
  }
}
