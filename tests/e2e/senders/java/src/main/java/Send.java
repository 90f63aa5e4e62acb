import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.security.Security;
import nl.martijndwars.webpush.Encoding;
import nl.martijndwars.webpush.Notification;
import nl.martijndwars.webpush.PushService;
import nl.martijndwars.webpush.Subscription;
import nl.martijndwars.webpush.Urgency;
import org.apache.http.Header;
import org.apache.http.HttpResponse;
import org.apache.http.util.EntityUtils;
import org.bouncycastle.jce.provider.BouncyCastleProvider;

/** nl.martijndwars:web-push, as its README shows it; a JVM starts slowly, so that one serves many calls, each a line. */
public final class Send {
    private static String text(JsonObject object, String name) {
        JsonElement value = object.get(name);
        return value == null || value.isJsonNull() ? null : value.getAsString();
    }

    private static Urgency urgency(String text) {
        for (Urgency urgency : Urgency.values()) {
            if (urgency.getHeaderValue().equals(text)) return urgency;
        }
        return null;
    }

    public static void main(String[] arguments) throws Exception {
        Security.addProvider(new BouncyCastleProvider());
        BufferedReader calls = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = calls.readLine(); line != null; line = calls.readLine()) {
            System.out.println(new GsonBuilder().serializeNulls().create().toJson(report(JsonParser.parseString(line).getAsJsonObject())));
        }
        System.exit(0);
    }

    private static JsonObject report(JsonObject call) throws Exception {
        JsonObject vapid = call.getAsJsonObject("vapid");
        PushService service = new PushService(text(vapid, "publicKey"), text(vapid, "privateKey"), text(vapid, "subject"));
        Subscription subscription = new Gson().fromJson(call.get("subscription"), Subscription.class);
        Notification.NotificationBuilder builder = Notification.builder()
            .endpoint(subscription.endpoint)
            .userPublicKey(subscription.keys.p256dh)
            .userAuth(subscription.keys.auth)
            .payload(text(call, "payload") == null ? "" : text(call, "payload"))
            .ttl(call.get("ttl").getAsInt());
        if (text(call, "topic") != null) builder.topic(text(call, "topic"));
        if (text(call, "urgency") != null) builder.urgency(urgency(text(call, "urgency")));

        JsonObject result = new JsonObject();
        try {
            Encoding encoding = "aesgcm".equals(text(call, "encoding")) ? Encoding.AESGCM : Encoding.AES128GCM;
            HttpResponse response = service.send(builder.build(), encoding);
            int status = response.getStatusLine().getStatusCode();
            Header retryAfter = response.getFirstHeader("Retry-After");
            result.addProperty("status", status);
            result.addProperty("expired", status == 404 || status == 410);
            result.addProperty("retryAfter", retryAfter == null ? null : retryAfter.getValue());
            result.addProperty("error", status < 300 ? null : EntityUtils.toString(response.getEntity()));
        } catch (Exception failure) {
            result.addProperty("status", 0);
            result.addProperty("expired", false);
            result.addProperty("error", failure.toString());
        }
        return result;
    }
}
