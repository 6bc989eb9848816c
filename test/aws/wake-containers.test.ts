import { describe, expect, test } from "vitest";
import { startFirstContainer } from "../../src/aws/container-service.ts";
import { DescribeServicesCommand, ECSClient, UpdateServiceCommand } from "../../src/aws/lean/client-ecs.ts";
import { InvokeCommand, LambdaClient } from "../../src/aws/lean/client-lambda.ts";
import type { SqsQueues } from "../../src/aws/queues.ts";
import { containerWaker } from "../../src/aws/wake-containers.ts";
import { wakingQueues, withWake } from "../../src/aws/waking-queues.ts";
import { PortUnavailable } from "../../src/core/model/errors.ts";
import type { Log, Outgoing } from "../../src/core/ports/tasks.ts";
import { httpStub } from "../support/http-stub.ts";

/** A log that keeps its warnings. */
function warningsOf() {
  const warnings: string[] = [];
  const log: Log = {
    debug: () => {},
    info: () => {},
    warn: (message, fields) => warnings.push(`${message} ${JSON.stringify(fields)}`),
    error: () => {},
    with: () => log,
  };
  return { log, warnings };
}

describe("the waker", () => {
  function setUp(invoke: (name: string) => Promise<unknown> = async () => {}) {
    const { log, warnings } = warningsOf();
    const invoked: string[] = [];
    const clock = { ms: 0 };
    const wake = containerWaker("offload-wake", log, {
      invoke: (name) => {
        invoked.push(name);
        return invoke(name);
      },
      now: () => clock.ms,
    });
    return { wake, invoked, warnings, clock };
  }

  test("the first message starts the function", async () => {
    const { wake, invoked } = setUp();
    await wake();
    expect(invoked).toEqual(["offload-wake"]);
  });

  test("messages of the next minute do not start it again", async () => {
    const { wake, invoked, clock } = setUp();
    await wake();
    clock.ms = 59_999;
    await wake();
    expect(invoked).toHaveLength(1);
    clock.ms = 60_000;
    await wake();
    expect(invoked).toHaveLength(2);
  });

  test("messages that are sent at the same time share one call", async () => {
    const { wake, invoked } = setUp(() => new Promise((resolve) => setTimeout(resolve, 20)));
    await Promise.all([wake(), wake(), wake()]);
    expect(invoked).toHaveLength(1);
  });

  test("an error is logged and does not fail the send; the next message tries again", async () => {
    const { wake, invoked, warnings } = setUp(() => Promise.reject(new Error("no route to Lambda")));
    await wake();
    await wake();
    expect(invoked).toHaveLength(2);
    expect(warnings[0]).toContain("no route to Lambda");
  });
});

describe("queues with a wake", () => {
  const message = (runsOn?: "container") => ({ tier: "low", runsOn, delaySeconds: 0 }) as unknown as Outgoing;

  function setUp(sent: () => Promise<unknown> = async () => []) {
    const events: string[] = [];
    const send = async () => {
      events.push("send");
      return sent();
    };
    const queues = { send, sendMany: send, sendCheck: send, hold: send, deadLetter: send } as unknown as SqsQueues;
    const woken = withWake(queues, async () => {
      events.push("wake");
    });
    return { queues, woken, events };
  }

  test("a message for container workers wakes them after it was sent", async () => {
    const { woken, events } = setUp();
    await woken.send(message("container"));
    expect(events).toEqual(["send", "wake"]);
  });

  test("a message for worker functions wakes nothing", async () => {
    const { woken, events } = setUp();
    await woken.send(message());
    await woken.sendMany({ tier: "low" }, [message(), message()]);
    expect(events).toEqual(["send", "send"]);
  });

  test("a check for container workers wakes them, another one wakes nothing", async () => {
    const { woken, events } = setUp();
    const check = { line: "concurrency/t/acme/", check_id: "id" };
    await woken.sendCheck({ tier: "low", check, delaySeconds: 0 });
    await woken.sendCheck({ tier: "low", runsOn: "container", check, delaySeconds: 0 });
    expect(events).toEqual(["send", "send", "wake"]);
  });

  test("many messages wake once", async () => {
    const { woken, events } = setUp();
    await woken.sendMany({ tier: "low", runsOn: "container" }, [message("container"), message("container")]);
    expect(events).toEqual(["send", "wake"]);
  });

  test("a message that could not be sent wakes nothing", async () => {
    const { woken, events } = setUp(() => Promise.reject(new PortUnavailable("the queue")));
    await expect(woken.send(message("container"))).rejects.toThrow(PortUnavailable);
    expect(events).toEqual(["send"]);
  });

  test("a deployment without containers has its queues as they are", () => {
    const { queues } = setUp();
    expect(wakingQueues(queues, undefined, warningsOf().log)).toBe(queues);
  });
});

describe("the first container", () => {
  const place = { cluster: "offload", service: "workers" };

  /** An ECS whose service has a desired count. */
  function ecsWith(services: object[]) {
    const updates: object[] = [];
    const send = async (command: DescribeServicesCommand | UpdateServiceCommand) => {
      if (command instanceof UpdateServiceCommand) updates.push(command.input);
      return { services };
    };
    return { ecs: { send }, updates };
  }

  test("a service without containers gets one", async () => {
    const { ecs, updates } = ecsWith([{ status: "ACTIVE", desiredCount: 0 }]);
    expect(await startFirstContainer(ecs, place)).toBe(true);
    expect(updates).toEqual([{ cluster: "offload", service: "workers", desiredCount: 1 }]);
  });

  test.each([1, 7])("a service that wants %d containers is left to its scaling", async (desiredCount) => {
    const { ecs, updates } = ecsWith([{ status: "ACTIVE", desiredCount }]);
    expect(await startFirstContainer(ecs, place)).toBe(false);
    expect(updates).toEqual([]);
  });

  test.each([[[]], [[{ status: "DRAINING", desiredCount: 0 }]]])("services %j are an error", async (services) => {
    await expect(startFirstContainer(ecsWith(services).ecs, place)).rejects.toThrow("no active service workers");
  });
});

describe("the requests to AWS", () => {
  async function stubbed(service: string) {
    const stub = await httpStub(() => ({ status: 200, body: "" }));
    Object.assign(process.env, {
      AWS_REGION: "eu-west-1",
      AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
      AWS_SECRET_ACCESS_KEY: "wJalrXUtnFEMI",
      [`AWS_ENDPOINT_URL_${service}`]: stub.url,
    });
    return stub;
  }

  test("Lambda starts the function without an answer to wait for", async () => {
    const { requests } = await stubbed("LAMBDA");
    await new LambdaClient().send(new InvokeCommand({ FunctionName: "Offload-dev-wake", InvocationType: "Event" }));
    const [{ method, url, headers } = {}] = requests as { method?: string; url?: string; headers?: object }[];
    expect(`${method} ${url}`).toBe("POST /2015-03-31/functions/Offload-dev-wake/invocations");
    expect(headers).toMatchObject({ "x-amz-invocation-type": "Event" });
    expect(JSON.stringify(headers)).toContain("/eu-west-1/lambda/aws4_request");
  });

  test("ECS gets the operation in a header", async () => {
    const { requests } = await stubbed("ECS");
    await new ECSClient().send(new DescribeServicesCommand({ cluster: "c", services: ["s"] }));
    expect(requests[0]?.headers["x-amz-target"]).toBe("AmazonEC2ContainerServiceV20141113.DescribeServices");
    expect(requests[0]?.body).toBe('{"cluster":"c","services":["s"]}');
  });
});
