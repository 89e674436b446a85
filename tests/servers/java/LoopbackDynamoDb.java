import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import software.amazon.dynamodb.services.local.main.ServerRunner;
import software.amazon.dynamodb.services.local.server.DynamoDBProxyServer;

/** DynamoDB Local on 127.0.0.1: by itself (3.0.0) it listens on every interface and has no option against that. */
class LoopbackDynamoDb {
    public static void main(String[] arguments) throws Exception {
        DynamoDBProxyServer dynamodb = ServerRunner.createServerFromCommandLineArgs(arguments);
        var inside = DynamoDBProxyServer.class.getDeclaredField("server");
        inside.setAccessible(true);
        for (Connector connector : ((Server) inside.get(dynamodb)).getConnectors()) {
            ((ServerConnector) connector).setHost("127.0.0.1");
        }
        dynamodb.safeStart();
        dynamodb.join();
    }
}
