import { isDeepStrictEqual } from "node:util";
import { InvalidArgumentError } from "commander";
import { type Client, ProblemError, type TaskView } from "../../client/index.ts";
import { type Tier, tiers } from "../../core/model/words.ts";
import type { Answer } from "./answer.ts";
import { clientOf, connection, count, textOf } from "./connection.ts";
import type { Register } from "./group.ts";
import type { Options } from "./options.ts";
import { Prober, type SentProbe, sampleGiven } from "./prober.ts";
import { CommandFailed, plain, type Terminal } from "./terminal.ts";
import { tableOf } from "./text-table.ts";
import { msBetween } from "./verify/check.ts";
import type { Sample as AnySample } from "./verify/target.ts";

/** Task type and input of the tasks whose latencies are measured. */
interface Sample extends AnySample {
  /** Expected result. Absent: any. */
  result?: unknown;
}

const echo: Sample = { type: "probe.echo", input: { value: { smoke: true } }, result: { value: { smoke: true } } };

/** One check. `run` returns its result as text, and throws when the check fails. */
interface Check {
  name: string;
  run: () => Promise<string>;
}

interface Outcome {
  check: string;
  ok: boolean;
  detail: string;
}

/** Milliseconds that one task spent in each stage. "total" is their sum. */
type Timing = Record<(typeof stages)[number], number>;

const stages = ["submit answered", "queue wait", "run", "end seen", "total"] as const;

/** Maximum number of tasks per tier: this is a smoke test, not a load test. */
const maxPerTier = 100;

/** Delay of the delayed task. */
const delaySeconds = 3;

const examples = `
Submits tasks over HTTP and polls them, as a client does: some in each tier, one that fails and is then discarded, one that is
retried, one that is delayed, and one that is cancelled while it runs. The exit code is 1 when a check fails.

Needs a key with the role operator or admin, and the probe types. A local server has them; a deployment has them only when
deployed with \`-c probes=1\`. Without probe types, name one of your own types with --type and give its --input. Its handler
really runs: --count times in each of the four tiers, and once more with a delay. The other checks are left out.

Stages: "submit answered" and "total" are measured on this machine. "queue wait" and "run" are calculated from the times of a
task's creation, start and end in its record. "end seen" is the rest of the total: the time until a poll showed the end.

Examples:
  npx offload smoke
  npx offload smoke --url https://abc.execute-api.eu-central-1.amazonaws.com --count 10 --json
  npx offload smoke --type mail.send --input '{"to":"smoke@example.com"}'
`;

const given = [
  ...connection,
  ["--count <n>", "tasks in each tier, at most 100", { read: tasksPerTier, initial: 3 }],
  ["--timeout <seconds>", "time limit of all tasks; the clean-up has 15 s more", { read: count, initial: 60 }],
  ["--type <type>", "one of your own task types, in place of the probes"],
  ["--input <json>", "input of the tasks of --type, as JSON; default: {}"],
] as const;

type SmokeOptions = Options<typeof given>;

/** `offload smoke` */
export const register: Register = (group) => {
  group.help(examples).does(given, (options) => smoke(group.terminal, options));
};

function tasksPerTier(text: string): number {
  const given = count(text);
  if (given <= maxPerTier) return given;
  throw new InvalidArgumentError(`Expected at most ${maxPerTier}.`);
}

async function smoke(terminal: Terminal, options: SmokeOptions): Promise<Answer> {
  const sample = sampleGiven(options) ?? echo;
  const startedAt = performance.now();
  const client = clientOf(options);
  const { version } = await client.health();
  // Only an operator can discard the failed task, so check the role before any submit.
  await client.deadLetters.list().page({ limit: 1 });
  if (options.type === undefined) await expectProbes(client);
  const clock = { now: () => performance.now(), pause: terminal.pause };
  const prober = new Prober(client, clock, { tag: "smoke", limitSeconds: options.timeout });
  const timings: Timing[] = [];
  const checks = checksOf(prober, sample, options, timings);
  const health = { check: "health", ok: true, detail: `version ${version}` };
  const outcomes = [health, ...(await runAll(terminal, checks))];
  const left = await prober.cleanUp();
  if (left !== undefined) outcomes.push({ check: "cleared up", ok: false, detail: left });
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
  const failed = outcomes.filter(({ ok }) => !ok).length;
  const report = { url: options.url, ok: failed === 0, seconds, checks: outcomes, stages: summary(timings) };
  const failure = failed > 0 ? `${failed} of ${outcomes.length} checks failed` : undefined;
  return { json: report, text: reportText(report, terminal), failure };
}

/**
 * Submits an input that the probe type refuses, so that no task is created.
 * @throws CommandFailed when the probe types are not registered, or the caller may not submit
 */
async function expectProbes(client: Client): Promise<void> {
  const refused = await client.submit("probe.echo", null).catch((error: unknown) => error);
  if (refused instanceof ProblemError && refused.code === "invalid_input") return;
  if (!(refused instanceof ProblemError) || refused.code !== "unknown_task_type") throw refused;
  throw new CommandFailed(
    "the probe types are not registered there (the default of a deployment): deploy with `-c probes=1`, or use one of " +
      "your own types, whose handler really runs: --type mail.send --input '{...}'",
  );
}

function checksOf(prober: Prober, sample: Sample, { count, type }: SmokeOptions, timings: Timing[]): Check[] {
  const inTiers = tiers.map((tier) => ({ name: tier, run: () => checkTier(prober, sample, tier, count, timings) }));
  const delayed = { name: "delayed", run: () => checkDelayed(prober, sample) };
  const ofProbes = Object.entries({ retried: checkRetried, failed: checkFailed, cancelled: checkCancelled });
  return [
    ...inTiers,
    delayed,
    ...(type === undefined ? ofProbes : []).map(([name, check]) => ({ name, run: () => check(prober) })),
  ];
}

/** Runs all checks in parallel. Returns their outcomes in the order of the checks. */
async function runAll(terminal: Terminal, checks: readonly Check[]): Promise<Outcome[]> {
  let done = 0;
  const show = () => terminal.progress(`${done} of ${checks.length} checks done`);
  show();
  const outcomes = checks.map(async ({ name, run }) => {
    const outcome = await run().then(
      (detail) => ({ check: name, ok: true, detail }),
      (error: unknown) => ({ check: name, ok: false, detail: textOf(error) }),
    );
    done += 1;
    show();
    return outcome;
  });
  return Promise.all(outcomes).finally(() => terminal.endProgress());
}

async function checkTier(
  prober: Prober,
  sample: Sample,
  tier: Tier,
  count: number,
  timings: Timing[],
): Promise<string> {
  const own = await Promise.all(
    Array.from({ length: count }, async () => {
      const sent = await prober.submit(sample.type, sample.input, { priority: tier });
      const task = await prober.until(sent.taskId, "completed");
      const timing = timingOf(sent, task, performance.now());
      expectResult(sample, task);
      timings.push(timing);
      return timing.total;
    }),
  );
  return `${own.length} completed, the slowest in ${Math.round(Math.max(...own))} ms`;
}

function expectResult(sample: Sample, task: TaskView): void {
  if (!("result" in sample) || isDeepStrictEqual(task.result, sample.result)) return;
  throw new CommandFailed(
    `task ${task.task_id} has an unexpected result: ${JSON.stringify(task.result)?.slice(0, 100)}`,
  );
}

function timingOf({ sentAt, answeredAt }: SentProbe, task: TaskView, seenAt: number): Timing {
  const between = (from: string | null, to: string | null) => Math.max(0, msBetween(from, to));
  const total = seenAt - sentAt;
  const answered = answeredAt - sentAt;
  const wait = between(task.created_at, task.started_at);
  const run = between(task.started_at, task.finished_at);
  const seen = Math.max(0, total - answered - wait - run);
  return { "submit answered": answered, "queue wait": wait, run, "end seen": seen, total };
}

async function checkDelayed(prober: Prober, { type, input }: Sample): Promise<string> {
  const { task_id, started_at, run_at } = await prober.completed(type, input, { delaySeconds });
  const lateMs = msBetween(run_at, started_at);
  if (lateMs >= 0) return `started ${lateMs} ms after its delay of ${delaySeconds} s`;
  throw new CommandFailed(`task ${task_id} started ${-lateMs} ms before its time`);
}

const attemptsOf = (count: number): string => `${count} attempt${count === 1 ? "" : "s"}`;

/** Fails once with "conflict", the kind with the shortest wait before the next attempt. */
async function checkRetried(prober: Prober): Promise<string> {
  const task = await prober.completed("probe.fail", { kind: "conflict", times: 1 });
  const attempts = await prober.client.attempts(task);
  const [first, second] = attempts;
  if (task.attempts !== 2 || first?.outcome !== "retried" || second === undefined) {
    throw new CommandFailed(`task ${task.task_id} has ${attempts.length} attempts in its history, expected one retry`);
  }
  return `the second attempt came ${Date.parse(second.started_at) - Date.parse(first.started_at)} ms after the first`;
}

async function checkFailed(prober: Prober): Promise<string> {
  const message = "expected failure of a smoke test, which discards it";
  const { taskId } = await prober.submit("probe.fail", { kind: "permanent", message });
  const task = await prober.until(taskId, "failed");
  if (task.error_kind !== "permanent" || task.attempts !== 1) {
    throw new CommandFailed(
      `task ${taskId} failed as ${task.error_kind} after ${attemptsOf(task.attempts)}: ${task.error}`,
    );
  }
  await prober.untilListed(task, true);
  await prober.discard([taskId]);
  await prober.untilListed(task, false);
  return "became a dead letter after one attempt, and was discarded";
}

async function checkCancelled(prober: Prober): Promise<string> {
  const { taskId } = await prober.submit("probe.sleep", { ms: 60_000 });
  await prober.until(taskId, "processing");
  const askedAt = performance.now();
  await prober.client.cancel(taskId);
  await prober.until(taskId, "cancelled");
  return `stopped ${Math.round(performance.now() - askedAt)} ms after the request`;
}

/** Median and maximum of each stage, by nearest rank. Empty when no task completed. */
function summary(timings: readonly Timing[]) {
  if (timings.length === 0) return [];
  return stages.map((stage) => {
    const sorted = timings.map((timing) => Math.round(timing[stage])).sort((a, b) => a - b);
    return { stage, p50_ms: sorted[Math.ceil(sorted.length / 2) - 1] ?? 0, max_ms: sorted.at(-1) ?? 0 };
  });
}

interface Report {
  url: string;
  seconds: number;
  checks: readonly Outcome[];
  stages: ReturnType<typeof summary>;
}

function reportText({ url, seconds, checks, stages }: Report, terminal: Terminal): string {
  const lines = checks.map(({ check, ok, detail }) => `${ok ? "ok  " : "FAIL"}  ${check.padEnd(10)}  ${plain(detail)}`);
  const columns = { stage: "stage", "p50 (ms)": "p50_ms", "max (ms)": "max_ms" } as const;
  if (stages.length > 0) lines.push("", tableOf(stages, columns, { terminal }));
  const head = `Smoke test of ${plain(url)}, in ${seconds} s`;
  return [head, "", ...lines].join("\n");
}
