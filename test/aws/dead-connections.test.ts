import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { Service } from "../../src/aws/lean/service.ts";

/** A service of AWS whose connections die while nobody looks: their next request ends them. */
async function dyingService() {
  const dead = new Set<Socket>();
  const all = new Set<Socket>();
  let requests = 0;
  const server = createServer(async (request, response) => {
    requests += 1;
    if (dead.has(request.socket)) return void request.socket.resetAndDestroy();
    // Requests at the same time need a connection each.
    await sleep(50);
    response.end("{}");
  });
  server.on("connection", (socket) => all.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    freeze: () => {
      for (const socket of all) dead.add(socket);
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test("a call after a freeze meets one dead connection at most, however many there are", async () => {
  await using aws = await dyingService();
  const env = {
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: "k",
    AWS_SECRET_ACCESS_KEY: "s",
    AWS_ENDPOINT_URL: aws.url,
  };
  const service = new Service({ name: "sqs", contentType: "application/x-amz-json-1.0" }, {}, env);
  const call = () => service.send({ method: "POST", path: "/", body: "{}" });
  await Promise.all(Array.from({ length: 6 }, call));
  const before = aws.requests();
  aws.freeze();
  expect(await call()).toEqual({});
  expect(aws.requests() - before).toBe(2);
  service.destroy();
});
