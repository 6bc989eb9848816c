import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, GetCommand } from "@aws-sdk/lib-dynamodb";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { answersWithin, boundedCalls, callTime, endsInTime, nextTry, timeLeftMs } from "../../src/aws/call-times.ts";
import { viaPort } from "../../src/aws/errors.ts";
import { boundedTries } from "../../src/aws/http-handler.ts";
import { DynamoDBClient as LeanTableClient } from "../../src/aws/lean/client-dynamodb.ts";
import * as lean from "../../src/aws/lean/lib-dynamodb.ts";
import { localServicesVariable } from "../../src/aws/local-services.ts";
import { PortUnavailable } from "../../src/core/model/errors.ts";

type Answer = (response: ServerResponse) => void;

const good: Answer = (response) => response.end('{"Item":{"pk":{"S":"a"}}}');
const silent: Answer = () => {};
/** Half an answer, then nothing. */
const stalled: Answer = (response) => {
  response.writeHead(200, { "content-length": 100 });
  response.write('{"Item":');
};
/** Half an answer, then the end of the connection. */
const cut: Answer = (response) => {
  stalled(response);
  setTimeout(() => response.destroy(), 10);
};
const notJson: Answer = (response) => response.end("<html>");
const endless: Answer = (response) => {
  const chunk = Buffer.alloc(1_000_000, " ");
  const more = () => {
    while (response.write(chunk));
    response.once("drain", more);
  };
  more();
};

let answers: Answer[] = [];
let requests = 0;
const server = createServer((_, response) => {
  requests += 1;
  (answers.shift() ?? good)(response);
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  Object.assign(process.env, {
    AWS_REGION: "eu-west-1",
    AWS_ACCESS_KEY_ID: "local",
    AWS_SECRET_ACCESS_KEY: "local",
    AWS_ENDPOINT_URL_DYNAMODB: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  delete process.env.AWS_ENDPOINT_URL_DYNAMODB;
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
});
beforeEach(() => {
  answers = [];
  requests = 0;
});

/** The time of calls; that of sockets stays real. */
const callTimers = { toFake: ["setTimeout" as const, "clearTimeout" as const, "Date" as const] };

async function requestArrives(): Promise<void> {
  while (requests === 0) await new Promise((resolve) => setImmediate(resolve));
}

const input = { TableName: "t", Key: { pk: "a" } };
const clients = {
  SDK: () => {
    const client = boundedCalls(DynamoDBDocumentClient.from(new DynamoDBClient(boundedTries())));
    return () => client.send(new GetCommand(input));
  },
  lean: () => {
    const client = boundedCalls(lean.DynamoDBDocumentClient.from(new LeanTableClient(boundedTries())));
    return () => client.send(new lean.GetCommand(input));
  },
};

describe.each(["SDK", "lean"] as const)("a call of the %s client", (name) => {
  test("a complete answer is returned", async () => {
    expect((await clients[name]()()).Item).toEqual({ pk: "a" });
  });

  test("an answer that is cut is requested again", async () => {
    answers = [cut, cut];
    expect((await clients[name]()()).Item).toEqual({ pk: "a" });
    expect(requests).toBe(3);
  });

  test.each([
    ["no answer", silent],
    ["half an answer", stalled],
  ])("a call with %s ends with the time of its invocation", async (_, answer) => {
    answers = [answer];
    const call = clients[name]();
    vi.useFakeTimers(callTimers);
    const failed = answersWithin(1_500, () => viaPort("the table", call()))();
    failed.catch(() => {});
    await requestArrives();
    vi.advanceTimersByTime(1_500);
    await expect(failed).rejects.toMatchObject({ name: "PortUnavailable", cause: { name: "OutOfTime" } });
    expect(requests).toBe(1);
  });

  test("a last try has used up the time, although its timer ended before the clock said so", async () => {
    answers = [silent];
    vi.useFakeTimers({ toFake: ["Date"] });
    await expect(answersWithin(100, clients[name]())()).rejects.toMatchObject({ name: "OutOfTime" });
    expect(requests).toBe(1);
  });

  test("a worker's call ends two seconds before the worker is stopped", async () => {
    answers = [silent];
    const call = clients[name]();
    const handler = endsInTime(() => call());
    const context = { getRemainingTimeInMillis: () => 2_200 } as never;
    vi.useFakeTimers(callTimers);
    const failed = handler(undefined, context);
    failed.catch(() => {});
    await requestArrives();
    vi.advanceTimersByTime(200);
    await expect(failed).rejects.toMatchObject({ name: "OutOfTime" });
  });

  test("no request is sent when the invocation's time is over", async () => {
    const call = clients[name]();
    await expect(answersWithin(0, call)()).rejects.toMatchObject({ name: "OutOfTime" });
    expect(requests).toBe(0);
  });

  test.each([
    ["not JSON", notJson],
    ["too large", endless],
  ])("an answer that is %s counts as an outage", async (_, answer) => {
    answers = [answer];
    // A busy machine takes longer than a try to read an answer of 40 MB.
    vi.stubEnv(localServicesVariable, "{}");
    await expect(viaPort("the table", clients[name]()())).rejects.toBeInstanceOf(PortUnavailable);
  });
});

test("calls to the local server's emulators have twenty times the time: what is slow there is the machine", async () => {
  const times = () => answersWithin(1_000, async () => [nextTry().ms, timeLeftMs()])();
  const [tryMs = 0, leftMs = 0] = await times();
  expect(Math.max(tryMs, leftMs)).toBeLessThanOrEqual(1_000);
  vi.stubEnv(localServicesVariable, "{}");
  const [localTryMs = 0, localLeftMs = 0] = await times();
  expect(localTryMs).toBeGreaterThan(10_000);
  expect(localLeftMs).toBeGreaterThan(10_000);
  expect(Math.max(localTryMs, localLeftMs)).toBeLessThanOrEqual(20_000);
});

describe("time of their own", () => {
  test("calls after a long wait have the given time, not what the request has left", async () => {
    const left = await answersWithin(0, () => callTime.within(3_000, async () => timeLeftMs()))();
    expect(left).toBeGreaterThan(2_000);
    expect(left).toBeLessThanOrEqual(3_000);
  });

  test("work that belongs to no request has no limit of a request, also in what it starts later", async () => {
    const left = answersWithin(0, () =>
      callTime.apart(async () => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        return [timeLeftMs(), await callTime.within(50, async () => timeLeftMs())];
      }),
    );
    const [apart, within] = await left();
    expect(apart).toBe(Number.POSITIVE_INFINITY);
    expect(within).toBeLessThanOrEqual(50);
  });

  test("a request that is answered by such work goes on with its own time", async () => {
    const left = answersWithin(60_000, async () => {
      await new Promise<void>((resolve) => callTime.apart(() => setTimeout(resolve, 5)));
      return timeLeftMs();
    });
    expect(await left()).toBeLessThanOrEqual(60_000);
  });
});
