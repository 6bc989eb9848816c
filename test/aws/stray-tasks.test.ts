import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { afterAll, expect, test } from "vitest";
import { bundle } from "../../lib/esbuild.ts";
import { DynamoRecords } from "../../src/aws/records.ts";
import { tiers } from "../../src/core/model/words.ts";
import { toCatalog } from "../../src/core/task/to-catalog.ts";
import { startEventSource, type Target } from "../../src/local/lambda/event-source.ts";
import { accountId } from "../../src/local/sqs/queue-message.ts";
import { startSqs } from "../../src/local/sqs/sqs.ts";
import { type PerTier, toEnv } from "../../src/settings/config.ts";
import { emulatedTable, pointTo } from "../contract/emulators.ts";
import { LambdaFunction } from "../support/lambda-function.ts";
import { leftPrograms, linesByTask, plannedStrays, strayCount, strayFaults } from "../support/stray-batches.ts";
import keyed from "../support/stray-tasks/stray.keyed.ts";
import soon from "../support/stray-tasks/stray.soon.ts";
import work from "../support/stray-tasks/stray.work.ts";

const folder = mkdtempSync(join(tmpdir(), "offload-stray-tasks-"));
const cleanups: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
afterAll(async () => {
  for (const clean of cleanups.reverse()) await clean();
});

/** The execution environments of a built worker function, one at a time. */
class Environments implements Target {
  readonly #start: () => Promise<LambdaFunction>;
  #present: Promise<LambdaFunction> | undefined;
  #busy: Promise<unknown> = Promise.resolve();
  /** All that they logged. */
  output = "";
  started = 0;

  constructor(start: () => Promise<LambdaFunction>) {
    this.#start = start;
  }

  async free(): Promise<void> {
    await this.#busy;
  }

  async invoke(event: SQSEvent): Promise<SQSBatchResponse> {
    const invoking = this.#environment().then((environment) => environment.invoke(event));
    this.#busy = invoking.catch(() => {});
    const answer = await invoking;
    if (answer instanceof Error) throw answer;
    return answer as SQSBatchResponse;
  }

  /** One that asks for its next invocation. */
  async #environment(): Promise<LambdaFunction> {
    const present = await this.#present;
    if (present !== undefined && (await present.asksForNext())) return present;
    this.output += present?.output ?? "";
    this.started += 1;
    this.#present = this.#start();
    return this.#present;
  }

  async close(): Promise<void> {
    const present = await this.#present;
    present?.process.kill();
    await present?.ended();
    this.output += present?.output ?? "";
  }
}

const arn = (service: string, name: string) => `arn:aws:${service}:us-east-1:${accountId}:${name}`;

/** The deployment's table and queues, and the functions that submit and work. */
async function deployment() {
  const table = await emulatedTable();
  cleanups.push(table.close);
  const names = [...tiers, ...tiers.map((tier) => `${tier}-dlq`), "notify"];
  const sqs = await startSqs({ port: 0, stateDir: undefined, queues: names.map((name) => ({ name })) });
  cleanups.push(sqs.close);
  pointTo("SQS", sqs.url);
  const url = (name: string) => `${sqs.url}/${accountId}/${name}`;
  const urls = (end: string) =>
    Object.fromEntries(tiers.map((tier) => [tier, url(`${tier}${end}`)])) as PerTier<string>;
  const { AWS_ENDPOINT_URL_DYNAMODB = "" } = process.env;
  const env = {
    ...{ AWS_REGION: "us-east-1", AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" },
    ...{ AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL_SQS: sqs.url },
    ...toEnv({ table: table.table, bucket: "none", queueUrls: urls(""), dlqUrls: urls("-dlq"), tier: "normal" }),
    ...toEnv({ notifyUrl: url("notify"), scheduleGroup: "g", fireArn: arn("lambda", "function:fire") }),
    ...toEnv({ schedulerRoleArn: arn("iam", "role/fire"), schedulerDlqArn: arn("sqs", "firings") }),
  };
  const built = (name: "submit" | "worker") => {
    const catalog = JSON.stringify(toCatalog([work, soon, keyed]));
    bundle(name, join(folder, name), { tasks: "test/support/stray-tasks", texts: { "catalog.json": catalog } });
    return join(folder, name, "index.mjs");
  };
  const worker = built("worker");
  const environments = new Environments(() => LambdaFunction.start(worker, env));
  const submit = await LambdaFunction.start(built("submit"), env);
  cleanups.push(() => submit.process.kill());
  return { store: sqs.store, records: new DynamoRecords(table.dynamoTable, 1), environments, submit };
}

const batchEvent = (body: unknown) => ({
  ...{ version: "2.0", routeKey: "$default", rawPath: "/tasks/batch", rawQueryString: "", isBase64Encoded: false },
  headers: { host: "localhost", "content-type": "application/json" },
  requestContext: {
    http: { method: "POST", path: "/tasks/batch", protocol: "HTTP/1.1", sourceIp: "127.0.0.1", userAgent: "test" },
    authorizer: { lambda: { tenant_id: "acme", principal: "olga", role: "operator" } },
  },
  body: JSON.stringify(body),
});

/** Submits tasks in batches of ten. Returns their ids. */
async function submitAll(submit: LambdaFunction, bodies: readonly unknown[]): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < bodies.length; at += 10) {
    const answer = (await submit.invoke(batchEvent({ tasks: bodies.slice(at, at + 10) }))) as { body: string };
    expect(answer).toMatchObject({ statusCode: 202 });
    const { tasks } = JSON.parse(answer.body) as { tasks: { task_id: string }[] };
    ids.push(...tasks.map(({ task_id }) => task_id));
  }
  return ids;
}

const patienceMs = 3_600_000;

test(
  `of ${strayCount} tasks on a worker function, each tenth of which strays, each innocent one completes in its first attempt`,
  async () => {
    const { store, records, environments, submit } = await deployment();
    const planned = plannedStrays(strayCount);
    const ids = await submitAll(
      submit,
      planned.map(({ body }) => body),
    );
    expect(ids).toHaveLength(strayCount);
    const failures: unknown[] = [];
    const stop = startEventSource({
      ...{ store, queue: "normal", target: environments },
      onFailure: (error) => failures.push(error),
    });
    await expect.poll(() => store.counts("normal").oldestSentAt, { timeout: patienceMs }).toBeUndefined();
    await stop();
    await environments.close();
    expect(failures).toEqual([]);
    const logged = linesByTask(environments.output, /"task_id":"([^"]+)"/);
    const faults: string[] = [];
    for (const [index, task_id] of ids.entries()) {
      const record = await records.get({ tenant_id: "acme", task_id });
      const { status = "missing", attempts = 0, error = null, error_kind = null } = record ?? {};
      faults.push(
        ...strayFaults(planned[index]?.culprit, task_id, { status, attempts, error, error_kind }, logged.get(task_id)),
      );
    }
    expect(faults).toEqual([]);
    // Another suite's programs of this kind end soon.
    await expect.poll(leftPrograms).toEqual([]);
    expect(environments.started).toBeGreaterThan(1);
  },
  patienceMs,
);
