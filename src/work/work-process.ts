import { queueClient } from "../aws/clients.ts";
import { taskLinesFromConsole } from "../aws/console-lines.ts";
import { reportOwnStray } from "../aws/own-strays.ts";
import { type OwnPorts, workerSettings, workPorts } from "../aws/work-ports.ts";
import { SqsWorkQueues } from "../aws/work-queues.ts";
import type { WorkerCode } from "../aws/worker-types.ts";
import { QueueServer, type ServePorts, serveMessage } from "../core/pipeline/work/serve-queues.ts";
import { Drain } from "../core/pipeline/work/work.ts";
import type { Delivery } from "../core/ports/tasks.ts";
import { disk } from "../machine/disk.ts";
import { loadFollow } from "../machine/load-follow.ts";
import { catchStrayErrors } from "../machine/stray-errors.ts";
import { turn } from "../machine/turn.ts";
import { fromEnv } from "../settings/config.ts";
import type { Order, Report, Role } from "./messages.ts";
import { type Orders, receiveOrders } from "./orders.ts";
import { type WorkSettings, workSettings } from "./settings.ts";

/** Milliseconds between two reports of the state, and between two flushes of metrics, spans and the process. */
const reportMs = 5_000;

const send = (report: Report): void => {
  // The supervisor may have ended.
  if (process.connected) process.send?.(report, () => {});
};

/**
 * Runs a process of a container worker to its end.
 * @param code The task types.
 * @param own Ports in place of those of a container.
 */
export async function runProcess(role: Role, code: WorkerCode, own: OwnPorts = {}): Promise<void> {
  // The output's reader is gone, or its file is on a full disk. That must not end attempts.
  for (const output of [process.stdout, process.stderr]) output.on("error", () => {});
  // Ctrl-C reaches every process of the group, but the supervisor decides when this one stops.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {});
  const settings = workSettings(process.env);
  const orders = receiveOrders(settings.drainSeconds);
  const config = fromEnv(process.env, workerSettings);
  if (config.containerQueueUrls === undefined) {
    throw new Error("this deployment has no queues for container workers: set `containers` on the TaskPipeline");
  }
  const given = { disk, turn, loadFollow, own, env: process.env };
  const { ports, releases, metrics, tracing, life } = await workPorts(config, "work", code, given);
  // An error of no task has no tier, and this process works for all of them.
  catchStrayErrors({ own: reportOwnStray(ports, "normal"), onException: () => send({ kind: "worn" }) });
  taskLinesFromConsole();
  const workQueues = new SqsWorkQueues(queueClient(), config.containerQueueUrls);
  const flush = async () => {
    metrics.flush();
    await Promise.all([releases.flush(), tracing.flush(), life()?.flush()]);
  };
  const flushing = setInterval(() => void flush(), reportMs);
  await (role === "alone" ? serveAlone : serveAll)({ ...ports, workQueues }, orders, settings);
  clearInterval(flushing);
  await flush();
  await life()?.end();
  // A handler that ignored the end of its attempt may keep timers and connections.
  process.exit(0);
}

/** Serves the queues until the supervisor stops this process, or has ended. */
async function serveAll(ports: ServePorts, orders: Orders, { tiers, concurrency }: WorkSettings): Promise<void> {
  const alone = new Map<number, () => void>();
  let nextId = 1;
  const runAlone = (delivery: Delivery) =>
    new Promise<void>((resolve) => {
      const id = nextId++;
      alone.set(id, resolve);
      send({ kind: "alone", id, delivery });
    });
  const state = () => send({ kind: "state", running: server.running, stalled: server.stalled });
  const onInterrupted = () => send({ kind: "worn" });
  const server = new QueueServer(ports, { tiers, concurrency, runAlone, onRunning: state, onInterrupted });
  const reporting = setInterval(state, reportMs);
  const serving = server.run();
  send({ kind: "ready" });
  orders.listen((order) => {
    if (order.kind === "stop") server.stop(order.drainSeconds);
    if (order.kind === "ended") alone.get(order.id)?.();
  });
  await serving;
  clearInterval(reporting);
}

/** Works on messages until the supervisor stops this process, or has ended. The supervisor sends one at a time. */
function serveAlone(ports: ServePorts, orders: Orders): Promise<void> {
  const drain = new Drain(ports.clock);
  const { onStopping, isStopping } = drain;
  let running = 0;
  let stopped = false;
  const endProcess = () => {
    stopped = true;
    drain.now();
    send({ kind: "worn" });
  };
  const own = { ...ports, onStopping, isStopping, endProcess };
  return new Promise((resolve) => {
    const run = async ({ id, delivery }: Extract<Order, { kind: "run" }>) => {
      running += 1;
      await serveMessage(own, delivery, "alone");
      running -= 1;
      send({ kind: "ended", id });
      if (stopped) resolve();
    };
    send({ kind: "ready" });
    orders.listen((order) => {
      if (order.kind === "run") void run(order);
      if (order.kind !== "stop") return;
      stopped = true;
      drain.begin(order.drainSeconds);
      if (running === 0) resolve();
    });
  });
}
