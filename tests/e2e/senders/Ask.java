import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

/** Java's HttpClient as it is, which asks every plain server for HTTP/2: prints the status and the length of the body of
 *  GET and of HEAD, a line for each URL. */
class Ask {
    public static void main(String[] urls) throws Exception {
        var client = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(5)).build();
        for (var url : urls) {
            var line = new StringBuilder();
            for (var method : new String[] {"GET", "HEAD"}) {
                var request = HttpRequest.newBuilder(URI.create(url)).method(method, HttpRequest.BodyPublishers.noBody())
                    .timeout(Duration.ofSeconds(5)).build();
                var response = client.send(request, HttpResponse.BodyHandlers.ofString());
                line.append(response.statusCode()).append(' ').append(response.body().length()).append(' ');
            }
            System.out.println(line.toString().trim());
        }
    }
}
