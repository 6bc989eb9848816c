import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Client, epoch } from "../support/http-client.ts";
import { type OwnServer, startOwnServer } from "../support/local-server.ts";

/*
 * A flood is a server's own affair: this one has a local server of its own, and says nothing of a deployed one, whose
 * fairness is SQS's. Environment:
 * OFFLOAD_E2E_FLOOD  how many tasks the flood has. Default: 400; 5000 takes some minutes
 */
const deployed = process.env.OFFLOAD_E2E_QUEUES !== undefined;
const count = Number(process.env.OFFLOAD_E2E_FLOOD || 400);

/** How long each task of the flood keeps a worker, in milliseconds. */
const eachMs = 4_000;

describe.skipIf(deployed)("fairness (a local server of the test's own)", { timeout: 600_000 }, () => {
  let server: OwnServer;
  beforeAll(async () => {
    server = await startOwnServer({ OFFLOAD_KEYS: "key-flood:flood:operator,key-quiet:quiet:operator" });
  });
  afterAll(() => server?.stop());

  const of = (tenant: string) => new Client(server.url, { token: `key-${tenant}`, tenant, role: "operator" });

  test(`${count} low tasks of one tenant delay neither five low tasks of another, nor a critical one`, async () => {
    const [flood, quiet] = [of("flood"), of("quiet")];
    let next = 0;
    let last = "";
    const submitNext = async () => {
      while (next < count) {
        next += 1;
        last = (await flood.submit("probe.sleep", { ms: eachMs }, { priority: "low" })).task_id;
      }
    };
    await Promise.all(Array.from({ length: 20 }, submitNext));

    const ended = async (priority: string, tasks: number) => {
      const submitted = Array.from({ length: tasks }, () => quiet.submit("probe.echo", { value: 1 }, { priority }));
      return Promise.all((await Promise.all(submitted)).map(({ task_id }) => quiet.ended(task_id)));
    };
    const [low] = await Promise.all([ended("low", 5), ended("critical", 1)]);
    expect(await flood.task(last)).toMatchObject({ status: "pending" });
    const starts = (await flood.list("limit=100")).flatMap(({ started_at }) => started_at ?? []).map(epoch);
    // By the server's times: how many of the flood started while each of the five waited.
    const overtaken = low.map(
      ({ created_at, started_at }) =>
        starts.filter((start) => start > epoch(created_at) && start < epoch(started_at)).length,
    );
    expect(overtaken.filter((tasks) => tasks > count / 4)).toEqual([]);
  });
});
