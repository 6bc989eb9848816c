import { request } from "node:http";
import type { APIGatewayProxyEventV2, SQSEvent } from "aws-lambda";

// The transport alone: the floor's requests, whose texts are made once, with no client, no signature and no look at the
// answers. What it takes is the benchmark's own, and is subtracted from every other contestant.

const TableName = "offload-bench";
const id = "0197f0d2-6c5e-7cc1-9d4a-2f1d8a1b9c11";
const at = "2027-01-01T00:00:00.000Z";
const Key = { pk: { S: `task#acme#${id}` }, sk: { S: "record" } };
const update = {
  ...{ TableName, Key, ConditionExpression: "#status = :pending" },
  UpdateExpression: "SET #status = :processing, started_at = :now, updated_at = :now ADD attempts :one",
  ExpressionAttributeNames: { "#status": "status" },
  ExpressionAttributeValues: { ":pending": { S: "pending" }, ":processing": { S: "processing" }, ":now": { S: at } },
};
const record = { tenant_id: { S: "acme" }, task_id: { S: id }, type: { S: "probe.echo" }, status: { S: "pending" } };
const Item = { ...Key, tenant_pk: { S: "acme" }, tenant_sk: { S: at }, ...record, created_at: { S: at } };
const MessageBody = JSON.stringify({ tenant_id: "acme", task_id: id, type: "probe.echo", input: { value: "hello" } });
const Entries = Array.from({ length: 10 }, (_, index) => ({
  ...{ Id: String(index), ReceiptHandle: "A".repeat(300), VisibilityTimeout: 65 },
}));

const updateItem = sender("UpdateItem", update);
const putItem = sender("PutItem", { TableName, Item, ConditionExpression: "attribute_not_exists(pk)" });
const getItem = sender("GetItem", { TableName, Key });
const sendMessage = sender("SendMessage", { QueueUrl: "offload-normal", MessageBody, MessageGroupId: "acme" });
const hold = sender("ChangeMessageVisibilityBatch", { QueueUrl: "offload-normal", Entries });

function sender(operation: string, body: object): () => Promise<void> {
  const text = JSON.stringify(body);
  const options = { method: "POST", headers: { "x-amz-target": `stub.${operation}` } };
  return () =>
    new Promise((resolve, reject) => {
      const sent = request(options, (response) => {
        response.on("data", () => {});
        response.on("end", resolve);
      });
      sent.on("error", reject);
      sent.end(text);
    });
}

export async function handler(event: SQSEvent | APIGatewayProxyEventV2): Promise<object> {
  if ("Records" in event) {
    await hold();
    await Promise.all(event.Records.map(() => updateItem().then(updateItem)));
    return { batchItemFailures: [] };
  }
  if (event.requestContext.http.method === "GET") {
    await getItem();
    return { statusCode: 200 };
  }
  await putItem();
  await sendMessage();
  return { statusCode: 202 };
}
