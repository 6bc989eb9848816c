import { randomUUID } from "node:crypto";
import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand } from "@aws-sdk/lib-dynamodb";
import { createTable } from "../../src/local/dynamodb/create-table.ts";
import { startTable } from "../../src/local/dynamodb/table.ts";
import { startSqs } from "../../src/local/sqs/sqs.ts";
import type { Took } from "./contestant-process.ts";
import { type Built, build, contestants, environment, type Kind, Process } from "./contestants.ts";
import { type Benchmark, type Setting, type Spread, spreadOf } from "./measure.ts";
import { batchOf, batchSize, envelopeOf, statusRequest, storedRecord, table } from "./workload.ts";

/** Calls of a function in a round. */
const calls = 20;
const queueName = "offload-normal";

type Emulators = Awaited<ReturnType<typeof startEmulators>>;

/** DynamoDB and SQS on this machine, with the table of Offload and the one that Powertools' idempotency wants. */
async function startEmulators() {
  const tableServer = await startTable({ port: 0, stateDir: undefined });
  const queueServer = await startSqs({
    port: 0,
    stateDir: undefined,
    queues: [{ name: queueName, visibilitySeconds: 600 }],
  });
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const client = new DynamoDBClient({ endpoint: tableServer.url, region: "us-east-1", credentials });
  await createTable(client, table);
  await client.send(
    new CreateTableCommand({
      ...{ TableName: "idempotency", BillingMode: "PAY_PER_REQUEST" },
      AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
      KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
    }),
  );
  return {
    store: queueServer.store,
    documents: DynamoDBDocumentClient.from(client),
    urls: { table: tableServer.url, queue: queueServer.url },
    close: async () => {
      client.destroy();
      await tableServer.close();
      await queueServer.close();
    },
  };
}

/** A task that waits for its first attempt. */
async function putPending({ documents }: Emulators): Promise<string> {
  const taskId = randomUUID();
  const at = "2027-01-01T00:00:00.000Z";
  const { started_at: _, lease_until: __, ...record } = storedRecord();
  const Item = {
    ...record,
    ...{ pk: `task#acme#${taskId}`, task_id: taskId, status: "pending", attempts: 0, attempts_total: 0 },
    ...{ created_at: at, due_at: new Date(0).toISOString() },
  };
  await documents.send(new PutCommand({ TableName: table, Item }));
  return taskId;
}

/** A batch whose tasks are in the table and whose messages are in flight. */
async function realBatch(emulators: Emulators): Promise<unknown> {
  const taskIds = await Promise.all(Array.from({ length: batchSize }, () => putPending(emulators)));
  for (const taskId of taskIds) emulators.store.send(queueName, { body: JSON.stringify(envelopeOf(taskId)) });
  const handles = emulators.store.receive(queueName, batchSize).map(({ receiptHandle }) => receiptHandle);
  return batchOf(taskIds, handles);
}

/** Makes the events of a round; undefined where the contestant makes them itself. */
const prepare: Record<Kind, ((emulators: Emulators) => Promise<unknown>) | undefined> = {
  worker: realBatch,
  submit: undefined,
  status: async (emulators) => statusRequest(await putPending(emulators)),
};

/** The same work over the wire, to the emulators that the local server uses: how long a call takes for whoever waits for it. */
export const emulatedBenchmark = (kind: Kind): Benchmark => ({
  name: `${kind}-emulated`,
  async run(setting) {
    const emulators = await startEmulators();
    try {
      const measured = await measure(emulators, kind, setting);
      const per = kind === "worker" ? batchSize : 1;
      return {
        name: `${kind}-emulated`,
        title: `${kind}, over the emulators, microseconds per ${kind === "worker" ? "task" : "call"}`,
        columns: ["", "wall", "half of the rounds", "CPU of the function"],
        rows: measured.map(({ contestant, wallUs, cpuUs }) => {
          const [median, low, high] = [wallUs.median, wallUs.low, wallUs.high].map((us) => (us / per).toFixed(0));
          return [contestant, median ?? "", `${low} to ${high}`, (cpuUs.median / per).toFixed(0)];
        }),
        goals: [],
        data: measured,
      };
    } finally {
      await emulators.close();
    }
  },
});

interface Measured {
  contestant: string;
  wallUs: Spread;
  cpuUs: Spread;
}

async function measure(emulators: Emulators, kind: Kind, { folder, rounds, note }: Setting): Promise<Measured[]> {
  const env = environment(folder, { table: emulators.urls.table, queue: emulators.urls.queue });
  const built = build(folder, kind);
  const running = await Promise.all(built.map((one) => Process.start(one, env, "network")));
  const taken = new Map<Built["contestant"], Took[]>(contestants.map((contestant) => [contestant, []]));
  for (let round = 0; round <= rounds; round++) {
    note(`round ${round} of ${rounds}`);
    for (const [index, { contestant }] of built.entries()) {
      const took = await running[index]?.ask<Took>(await askOf(emulators, kind));
      // The first round warms up.
      if (took !== undefined && round > 0) taken.get(contestant)?.push(took);
    }
  }
  for (const one of running) one.stop();
  return [...taken].map(([contestant, rounds]) => ({
    contestant,
    wallUs: spreadOf(rounds.map(({ wallMs }) => wallMs * 1000)),
    cpuUs: spreadOf(rounds.map(({ cpuMs }) => cpuMs * 1000)),
  }));
}

async function askOf(emulators: Emulators, kind: Kind) {
  const make = prepare[kind];
  if (make === undefined) return { kind: "run", calls } as const;
  const events: unknown[] = [];
  for (let call = 0; call <= calls; call++) events.push(await make(emulators));
  return { kind: "run-events", events } as const;
}
