import type { AccountFacts, QueryAnswer, VerifiedAccount } from "../../../../src/aws/verified/verified-account.ts";
import type { FakeDeployment } from "./fake-deployment.ts";

const facts: AccountFacts = {
  ...{ accountId: "111122223333", region: "eu-central-1", deployment: "Offload-dev", stage: "dev", table: "T" },
  ...{ url: "https://abcdefghij.execute-api.eu-central-1.amazonaws.com", isTraced: true, logGroups: ["all"] },
  containers: { cluster: "c", service: "s" },
  workerLogs: { critical: "w", high: "w", normal: "w", low: "w" },
};

interface Faults {
  /** The Scheduler keeps schedules that have completed. */
  keeps?: boolean;
  expression?: string;
  /** Body of the dead firing. Default: the schedule's input. */
  body?: string;
  /** Line of the function of schedules about an input. Default: as it writes it. */
  line?: (input: string) => object | undefined;
  containers?: (seconds: number) => number;
  rows?: number;
  bytes?: number;
  segments?: number;
  invocations?: number;
}

/** The account of a deployment in memory. */
export function fakeAccount(deployment: FakeDeployment, faults: Faults = {}): VerifiedAccount & { calls: string[] } {
  const { clock } = deployment;
  const startMs = clock.now();
  const calls: string[] = [];
  let brokenAtMs = Infinity;
  let fired: { input: string; atMs: number } | undefined;
  /** The answer to the query for an input that could not be read: its line, three minutes later. */
  const refused = (): QueryAnswer => {
    const { line = (payload: string) => ({ payload, error: "200: no" }) } = faults;
    const found = fired !== undefined && clock.now() > fired.atMs + 200_000 ? line(fired.input) : undefined;
    return {
      rows:
        found === undefined
          ? []
          : [
              {
                "@message": `START RequestId\n${JSON.stringify({ message: "could not read a firing", ...found })}\nEND`,
              },
            ],
      bytes: 0,
    };
  };
  return {
    facts,
    calls,
    oneOffOf: async (taskId) => {
      const task = deployment.tasks.find(({ task_id }) => task_id === taskId);
      if (task === undefined || (clock.now() > task.endsMs + 20_000 && !faults.keeps)) return undefined;
      const expression = `at(${new Date(task.dueMs - 60_000).toISOString().slice(0, 19)})`;
      return { name: `${taskId}.1.2`, expression: faults.expression ?? expression };
    },
    breakOneOff: async (name) => void calls.push(`break ${name}`),
    createBroken: async (_, atMs) => {
      brokenAtMs = atMs;
    },
    deleteSchedule: async (name) => void calls.push(`delete ${name}`),
    takeDeadFiring: async (name) =>
      clock.now() < brokenAtMs
        ? undefined
        : { body: faults.body ?? JSON.stringify({ verify: name }), attributes: ["E"] },
    savedQueries: async () => ["durations by type", "crashes"].map((name) => ({ name, text: "", logGroups: ["all"] })),
    fireWith: async (input) => {
      fired = { input, atMs: clock.now() };
    },
    query: async ({ text }): Promise<QueryAnswer> =>
      text.includes("could not read a firing")
        ? refused()
        : {
            rows: Array.from({ length: faults.rows ?? 1 }, () => ({ cold: "4", longest: "812.4" })),
            bytes: faults.bytes ?? 1_000,
          },
    usage: async () => ({ invocations: faults.invocations ?? 10, gbSeconds: 2.5 }),
    segmentsOf: async () => faults.segments ?? 4,
    containers: async () => {
      const running = faults.containers?.((clock.now() - startMs) / 1000) ?? 0;
      return { desired: running, running };
    },
    close: () => {},
  };
}
