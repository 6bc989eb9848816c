import { setTimeout as sleep } from "node:timers/promises";
import { orderClock } from "../../src/installed/server-clock.ts";
import { Client, expectStatus, type Task } from "./http-client.ts";
import { type OwnServer, startOwnServer } from "./local-server.ts";

const token = "key-timely";
const tenant = "timely";

/** Time that passes between two looks at a task, in seconds. Less than any lease, so that what runs can renew its own. */
const stepSeconds = 5;

/** A server's time, which a test moves: leases, expiry, schedules and the memory of keys take no time. */
interface Time {
  /** Lets time pass for the server and its workers: what was due within it happens. Returns the server's time, in epoch milliseconds. */
  pass(seconds: number): Promise<number>;
  /** Lets time pass until a step gives something. */
  passUntil<T>(what: string, step: () => Promise<T | undefined>): Promise<T>;
  /** Lets time pass until the task has ended. */
  ended(taskId: string): Promise<Task>;
}

/** A local server of a test's own, with its time. */
export interface TimelyServer extends OwnServer, Time {
  operator: Client;
}

const terminal = ["completed", "failed", "cancelled", "expired"];

export async function startTimelyServer(): Promise<TimelyServer> {
  const server = await startOwnServer({ OFFLOAD_KEYS: `${token}:${tenant}:operator` });
  const operator = new Client(server.url, { token, tenant, role: "operator" });
  return { ...server, operator, ...timeOf(operator, server.output) };
}

/** The time of a server. */
export function timeOf(operator: Client, output: () => string): Time {
  // A move answers when the server is at rest. Where a thousand tasks are due that is many minutes later, and no fault.
  const pass = async (seconds: number) =>
    Date.parse((await orderClock(operator.url, { advance_seconds: seconds })).now);
  const passUntil = async <T>(what: string, step: () => Promise<T | undefined>): Promise<T> => {
    // The machine needs time of its own, to start a worker process above all.
    for (let leftMs = 120_000; ; ) {
      const found = await step();
      if (found !== undefined) return found;
      if (leftMs <= 0) throw new Error(`let time pass in vain for ${what}: ${output().slice(-2000)}`);
      await pass(stepSeconds);
      const restsAt = Date.now();
      await sleep(200);
      leftMs -= Date.now() - restsAt;
    }
  };
  const ended = (taskId: string) =>
    passUntil(`the end of ${taskId}`, async () => {
      const answer = await operator.get(`/tasks/${taskId}`);
      // The emulated table of a busy machine may answer too late.
      const task = answer.status === 503 ? undefined : expectStatus(answer, 200).json<Task>();
      return task !== undefined && terminal.includes(task.status) ? task : undefined;
    });
  return { pass, passUntil, ended };
}
