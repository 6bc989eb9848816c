import { ProblemError } from "../../../client/index.ts";
import { type Check, completed, expectSeen, NotPossible, type Tools, untilSeen } from "./check.ts";
import { inWords } from "./task-checks.ts";

/** A message about a task's end comes so long after it. */
const mostLateMs = 10_000;

/** API Gateway closes a connection after two hours. */
const longMinutes = 125;
const everyMinutes = 10;

export const pushChecks: readonly Check[] = [
  {
    group: "push",
    name: "push of a task's end",
    expected: `the channel hears the end within ${mostLateMs / 1000} s`,
    needs: ["sample"],
    most: { tasks: 1, seconds: 120 },
    run: async (tools) =>
      listening(tools, async (heard) => `heard ${inWords(await heardAfter(tools, heard))} after the end`),
  },
  {
    group: "push",
    name: "push over two hours",
    expected: `a task every ${everyMinutes} minutes is heard, also after API Gateway has closed the connection`,
    needs: ["long", "deployed", "sample"],
    most: { tasks: Math.ceil(longMinutes / everyMinutes), seconds: (longMinutes + 10) * 60, dollars: 0.001 },
    run: async (tools) =>
      listening(tools, async (heard) => {
        const lates: number[] = [];
        const endMs = tools.clock.now() + longMinutes * 60_000;
        while (tools.clock.now() < endMs) {
          lates.push(await heardAfter(tools, heard));
          await tools.clock.pause(everyMinutes * 60_000);
        }
        const late = `${lates.length} heard, the latest ${inWords(Math.max(...lates))} after its end`;
        return expectSeen(heard.opened > 1, `${late}; the connection opened ${heard.opened} times`);
      }),
  },
];

/** Messages that a channel has brought. */
interface Heard {
  opened: number;
  /** Ids of tasks whose end was told. */
  readonly ended: Set<string>;
  failure?: unknown;
}

/** Listens to a channel while `work` runs. @throws NotPossible when the deployment has no channels */
async function listening(tools: Tools, work: (heard: Heard) => Promise<string>): Promise<string> {
  const abort = new AbortController();
  const heard: Heard = { opened: 0, ended: new Set() };
  const listen = async () => {
    for await (const message of tools.prober.client.subscribe({ signal: abort.signal })) {
      if (message.type === "channel.open") heard.opened += 1;
      else if (message.type === "task.completed") heard.ended.add(message.task_id);
    }
  };
  const listens = listen().catch((error: unknown) => {
    heard.failure = error;
  });
  try {
    await untilHeard(tools, heard, "the opening of the channel", () => heard.opened > 0);
    return await work(heard);
  } finally {
    abort.abort();
    await listens;
  }
}

/** Submits a task, and returns how long after its end the channel told it, in milliseconds. */
async function heardAfter(tools: Tools, heard: Heard): Promise<number> {
  const { task_id } = await completed(tools);
  const endedAtMs = tools.clock.now();
  await untilHeard(tools, heard, "the task's end", () => heard.ended.has(task_id));
  return tools.clock.now() - endedAtMs;
}

/** @throws Error when it is not heard in time */
const untilHeard = (tools: Tools, heard: Heard, what: string, isHeard: () => boolean): Promise<true> =>
  untilSeen(tools, { withinMs: mostLateMs, everyMs: 100 }, async () => {
    if (isHeard()) return true;
    if (heard.failure instanceof ProblemError && heard.failure.code === "not_found") {
      throw new NotPossible("deployed without `push`");
    }
    if (heard.failure !== undefined) throw heard.failure;
    return `${what} was not heard within ${mostLateMs / 1000} s`;
  });
