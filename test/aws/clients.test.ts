import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { queueClient } from "../../src/aws/clients.ts";

afterEach(() => vi.unstubAllEnvs());

test("an endpoint of the environment holds for queues, too, whose URLs have another host", async () => {
  const asked: (string | undefined)[] = [];
  const emulator = createServer((request, response) => {
    asked.push(request.headers["x-amz-target"] as string | undefined);
    response.setHeader("content-type", "application/x-amz-json-1.0").end(JSON.stringify({}));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void emulator.close());
  await once(emulator, "listening");
  const { port } = emulator.address() as AddressInfo;
  for (const name of ["OFFLOAD_LOCAL_SERVICES", "AWS_ENDPOINT_URL_SQS"]) vi.stubEnv(name, undefined);
  vi.stubEnv("AWS_ENDPOINT_URL", `http://127.0.0.1:${port}`);
  vi.stubEnv("AWS_REGION", "us-east-1");
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  const QueueUrl = "https://queue.invalid/000000000000/low";
  await queueClient().send(new ReceiveMessageCommand({ QueueUrl }));
  expect(asked).toEqual(["AmazonSQS.ReceiveMessage"]);
});
