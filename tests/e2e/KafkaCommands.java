import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Runs several commands of Kafka's own in one JVM, whose start costs more than they do. Each line of the standard input is a class and its
 * arguments, separated by tabs. Only for commands that return: AclCommand and ConfigCommand, not TopicCommand.
 */
public class KafkaCommands {
    public static void main(String[] none) throws Exception {
        for (String line : new String(System.in.readAllBytes(), StandardCharsets.UTF_8).split("\n")) {
            String[] words = line.split("\t");
            String[] args = Arrays.copyOfRange(words, 1, words.length);
            Class.forName(words[0]).getMethod("main", String[].class).invoke(null, (Object) args);
        }
    }
}
