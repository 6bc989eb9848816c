import { type Tier, tiers } from "../../../core/model/words.ts";
import { accountOf, type Check, completed, Differs, expectSeen, NotPossible, type Tools } from "./check.ts";

/** Lines can be searched some time after they were written; so can segments. */
const settleMs = 60_000;

/** Lambda's metrics come some minutes late. */
const metricsMs = 180_000;

/** Price of a query for each GB that it reads, and the bytes after which no further query is made. */
const dollarsPerGb = 0.005;
const mostBytes = 20e9;

/** A saved query that finds the attempts of this run. */
const withRows = "durations by type";

export const logChecks: readonly Check[] = [
  {
    group: "logs",
    name: "saved queries",
    expected: `each one completes, and "${withRows}" has the attempts of this run`,
    needs: ["account"],
    most: { tasks: 0, seconds: 600, dollars: (mostBytes / 1e9) * dollarsPerGb },
    run: async (tools) => {
      await tools.clock.pause(settleMs);
      const account = accountOf(tools);
      const rows = new Map<string, number>();
      let bytes = 0;
      for (const query of await account.savedQueries()) {
        if (bytes > mostBytes) throw new NotPossible(`the logs are large: ${rows.size} queries read ${inGb(bytes)}`);
        const answer = await account.query(query, tools.startedAtMs);
        bytes += answer.bytes;
        rows.set(query.name, answer.rows.length);
      }
      if (rows.size === 0) throw new NotPossible("the deployment has saved no queries");
      const seen = `${rows.size} completed and read ${inGb(bytes)}; "${withRows}" has ${rows.get(withRows) ?? 0} rows`;
      return expectSeen((rows.get(withRows) ?? 0) > 0, seen);
    },
  },
  {
    group: "logs",
    name: "cold starts by tier",
    expected: "the workers' logs say how many processes started, and how long it took",
    needs: ["account"],
    most: { tasks: 0, seconds: 300 },
    run: async (tools) => {
      await tools.clock.pause(settleMs);
      const { workerLogs } = accountOf(tools).facts;
      const found = await Promise.all(tiers.map(async (tier) => coldStarts(tools, tier, workerLogs[tier])));
      return expectSeen(!found.every((one) => one.endsWith("none")), found.join("; "));
    },
  },
  {
    group: "logs",
    name: "trace in X-Ray",
    expected: "the trace of a task has segments of submit and of the worker",
    needs: ["tracing", "sample"],
    most: { tasks: 1, seconds: 300 },
    run: async (tools) => {
      const { task_id } = await completed(tools);
      await tools.clock.pause(settleMs);
      const logs: { lines: { fields: { trace_id?: string } }[] } = await tools.transport.get(`/tasks/${task_id}/logs`);
      const traceId = logs.lines.find(({ fields }) => fields.trace_id !== undefined)?.fields.trace_id;
      if (traceId === undefined) throw new Differs("no line of the task names its trace");
      const segments = await accountOf(tools).segmentsOf(traceId);
      return expectSeen(segments >= 2, `${segments} segments`);
    },
  },
  {
    group: "logs",
    name: "cost of this run",
    expected: "the functions' time costs less than $1",
    needs: ["account"],
    most: { tasks: 0, seconds: 300 },
    run: async (tools) => {
      await tools.clock.pause(metricsMs);
      const { invocations, gbSeconds } = await accountOf(tools).usage(tools.startedAtMs);
      if (invocations === 0) throw new NotPossible("Lambda's metrics have no invocations");
      const { lambdaGbSeconds, lambdaRequests } = await prices();
      const dollars = gbSeconds * lambdaGbSeconds.value + (invocations / 1e6) * lambdaRequests.value;
      const seen = `${invocations} invocations, ${gbSeconds.toFixed(1)} GB-seconds: $${dollars.toFixed(4)}`;
      return expectSeen(dollars < 1, seen);
    },
  },
];

const inGb = (bytes: number): string => `${(bytes / 1e9).toFixed(3)} GB`;

const prices = async () => (await import("../../plan/figures.ts")).prices;

/** The first line of metrics of each worker process has the time that its start took. */
const starts = "filter ispresent(init_ms) | stats count(*) as cold, max(init_ms) as longest";

async function coldStarts(tools: Tools, tier: Tier, logGroup: string): Promise<string> {
  const { rows } = await accountOf(tools).query({ text: starts, logGroups: [logGroup] }, tools.startedAtMs);
  const { cold = 0, longest = 0 } = rows[0] ?? {};
  return Number(cold) === 0 ? `${tier} none` : `${tier} ${cold}, longest ${Math.round(Number(longest))} ms`;
}
