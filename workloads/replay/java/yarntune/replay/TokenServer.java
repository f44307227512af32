package yarntune.replay;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.function.Function;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.yarn.api.records.ContainerId;

/**
 * Takes the tokens that ApplicationMaster containers send, one connection each.
 *
 * <p>A connection begins with a line of this run's secret, the container's id and the size of its token file, which
 * follows. It stays open as long as the application runs: when either side ends, the other one notices.
 */
final class TokenServer extends Thread {
  private static final int MOST_BYTES = 1 << 20;

  private final ServerSocket socket;
  private final String secret;
  private final Function<String, Application> find;

  TokenServer(String address, Function<String, Application> find) throws IOException {
    super("tokens");
    setDaemon(true);
    this.find = find;
    socket = new ServerSocket(0, 256, InetAddress.getByName(address));
    byte[] bytes = new byte[16];
    new SecureRandom().nextBytes(bytes);
    secret = new java.math.BigInteger(1, bytes).toString(16);
  }

  /** What an ApplicationMaster's container runs: bash, which YARN's own launch script needs anyway. */
  String command() {
    String file = "\"$HADOOP_TOKEN_FILE_LOCATION\"";
    return "exec 3<>/dev/tcp/" + socket.getInetAddress().getHostAddress() + "/" + socket.getLocalPort()
        + " && echo " + secret + " \"$CONTAINER_ID\" $(($(wc -c <" + file + "))) >&3 && cat " + file + " >&3"
        + " && read -r _ <&3; exit 0";
  }

  @Override
  public void run() {
    while (true) {
      try {
        Socket connection = socket.accept();
        new Thread(() -> take(connection)).start();
      } catch (IOException e) {
        Replay.emit("problem", "", java.util.Map.of("words", String.valueOf(e)));
        return;
      }
    }
  }

  private void take(Socket connection) {
    try {
      connection.setSoTimeout(30_000);
      DataInputStream in = new DataInputStream(connection.getInputStream());
      String[] words = line(in).split(" ");
      boolean known = words.length == 3 && MessageDigest.isEqual(words[0].getBytes(), secret.getBytes());
      int size = known ? Integer.parseInt(words[2]) : -1;
      Application application = known
          ? find.apply(ContainerId.fromString(words[1]).getApplicationAttemptId().toString()) : null;
      if (application == null || size < 0 || size > MOST_BYTES) {
        connection.close();
        return;
      }
      byte[] bytes = new byte[size];
      in.readFully(bytes);
      Credentials credentials = new Credentials();
      credentials.readTokenStorageStream(new DataInputStream(new java.io.ByteArrayInputStream(bytes)));
      application.masterStarted(credentials, connection);
    } catch (IOException | IllegalArgumentException e) {
      Replay.emit("problem", "", java.util.Map.of("words", "a token could not be read: " + e));
      try {
        connection.close();
      } catch (IOException ignored) {
        // It is gone already.
      }
    }
  }

  private static String line(DataInputStream in) throws IOException {
    StringBuilder text = new StringBuilder();
    for (int c = in.read(); c >= 0 && c != '\n' && text.length() < 300; c = in.read()) text.append((char) c);
    return text.toString();
  }
}
