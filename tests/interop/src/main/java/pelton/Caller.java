package pelton;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;
import org.springframework.kafka.requestreply.ReplyingKafkaTemplate;
import org.springframework.kafka.requestreply.RequestReplyFuture;
import org.springframework.kafka.support.TopicPartitionOffset;

/** Asks as any Spring Kafka program does: BROKERS REQUESTS REPLIES N. Prints "way number partition answer" for each. */
public final class Caller {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private Caller() {}

    public static void main(String[] arguments) throws Exception {
        String brokers = arguments[0];
        String requests = arguments[1];
        String replies = arguments[2];
        int n = Integer.parseInt(arguments[3]);
        ContainerProperties any = new ContainerProperties(replies);
        ContainerProperties one = new ContainerProperties(new TopicPartitionOffset(replies, 2));
        ask("group", brokers, requests, any, n);
        ask("partition", brokers, requests, one, n);
        System.exit(0); // the template's scheduler would keep the process alive
    }

    private static void ask(String way, String brokers, String requests, ContainerProperties place, int n)
            throws Exception {
        Map<String, Object> toSend = Map.of(
                ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, brokers,
                ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, StringSerializer.class,
                ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, StringSerializer.class);
        Map<String, Object> toRead = Map.of(
                ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, brokers,
                ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "latest",
                ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class,
                ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        place.setGroupId("interop-" + UUID.randomUUID());
        DefaultKafkaProducerFactory<String, String> producers = new DefaultKafkaProducerFactory<>(toSend);
        KafkaMessageListenerContainer<String, String> answers =
                new KafkaMessageListenerContainer<>(new DefaultKafkaConsumerFactory<String, String>(toRead), place);
        ReplyingKafkaTemplate<String, String, String> template = new ReplyingKafkaTemplate<>(producers, answers);
        template.setSharedReplyTopic(true);
        template.setDefaultReplyTimeout(PATIENCE);
        template.start();
        try {
            if (!template.waitForAssignment(PATIENCE)) {
                throw new IllegalStateException("no partitions of the replies were assigned");
            }
            List<RequestReplyFuture<String, String, String>> asked = new ArrayList<>();
            for (int number = 0; number < n; number++) {
                String body = "{\"inputs\":{\"x\":" + number + "}}";
                asked.add(template.sendAndReceive(new ProducerRecord<>(requests, body)));
            }
            for (int number = 0; number < n; number++) {
                ConsumerRecord<String, String> answer = asked.get(number).get(30, TimeUnit.SECONDS);
                System.out.println(way + " " + number + " " + answer.partition() + " " + answer.value());
            }
        } finally {
            template.destroy();
            producers.destroy();
        }
    }
}
