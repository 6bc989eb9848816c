import { isDeepStrictEqual } from "node:util";
import { InvalidArgumentError } from "commander";
import { type Tier, tiers } from "../core/tier.ts";
import { Client, type Connection, count, Refusal, withConnection } from "./client.ts";
import { type Probed, Prober, type Sent } from "./prober.ts";
import type { Register } from "./register.ts";
import { jsonOf } from "./schedules.ts";
import { table } from "./table.ts";
import type { Attempt } from "./tasks.ts";
import { Failure, Misuse, plain, type Terminal } from "./terminal.ts";

interface SmokeOptions extends Connection {
  count: number;
  timeout: number;
  type?: string;
  input?: string;
}

/** What the tasks are that show the latencies. */
interface Sample {
  type: string;
  input: unknown;
  /** Absent: any result will do. */
  result?: unknown;
}

/** One thing that is tried: gives what it found in words, throws when it is not as it should be. */
interface Check {
  name: string;
  run: () => Promise<string>;
}

interface Outcome {
  check: string;
  ok: boolean;
  detail: string;
}

/** Milliseconds that one task spent in each stage; together they are its total. */
type Timing = Record<(typeof stages)[number], number>;

const stages = ["submit answered", "queue wait", "run", "end seen", "total"] as const;

/** The most tasks of a tier: it is a smoke test, no load test. */
const mostOfTier = 100;

/** By how much the delayed task is delayed. */
const delaySeconds = 3;

const examples = `
Submits tasks and follows them over HTTP, as a client would: some in each tier, one that fails and is discarded again, one
that is retried, one that is delayed and one that is cancelled while it runs. Exit code 1 when one of them is not as it
should be.

It takes an operator's key, and the probe types, which a deployment has only when it was made with \`-c probes=1\`. Without
them, --type names a type of yours, whose handler then does run, and --input what it takes.

Stages: "submit answered" and "total" are this machine's; "queue wait" and "run" are the deployment's own times of a task's
creation, start and end; "end seen" is what is left of the total, until a poll showed the end.

Examples:
  npx offload smoke --key dev-acme
  npx offload smoke --url https://abc.execute-api.eu-central-1.amazonaws.com --count 10 --json
  npx offload smoke --type mail.send --input '{"to":"smoke@example.com"}'
`;

/** `offload smoke` */
export const register: Register = (command, terminal) => {
  withConnection(command)
    .option("--count <n>", "tasks in each tier, at most 100", ofTier, 3)
    .option("--timeout <seconds>", "how long the tasks may take, 15 s to clear up not counted", count, 60)
    .option("--type <type>", "a task type of yours, in place of the probes")
    .option("--input <json>", "its input")
    .addHelpText("after", examples)
    .action((options: SmokeOptions) => smoke(terminal, options));
};

function ofTier(text: string): number {
  const given = count(text);
  if (given <= mostOfTier) return given;
  throw new InvalidArgumentError(`Expected at most ${mostOfTier}.`);
}

async function smoke(terminal: Terminal, options: SmokeOptions): Promise<void> {
  const sample = sampleOf(options);
  const startedAt = performance.now();
  const client = new Client(options);
  const { version } = await client.get<{ version: string }>("/health");
  // Only an operator can discard what fails: found out before anything is there to discard.
  await client.get("/dead-letters", { limit: 1 });
  if (options.type === undefined) await expectProbes(client);
  const prober = new Prober(client, terminal, options.timeout);
  const timings: Timing[] = [];
  const checks = checksOf(prober, sample, options, timings);
  const health = { check: "health", ok: true, detail: `version ${version}` };
  const outcomes = [health, ...(await runAll(terminal, checks))];
  const left = await prober.cleanUp();
  if (left !== undefined) outcomes.push({ check: "cleared up", ok: false, detail: left });
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
  const failed = outcomes.filter(({ ok }) => !ok).length;
  const report = { url: options.url, ok: failed === 0, seconds, checks: outcomes, stages: summary(timings) };
  terminal.out(options.json ? JSON.stringify(report, null, 2) : inWords(report));
  if (failed > 0) throw new Failure(`${failed} of ${outcomes.length} checks failed`);
}

/** @throws Misuse */
function sampleOf({ type, input }: SmokeOptions): Sample {
  if (type !== undefined) return { type, input: jsonOf(input) };
  if (input !== undefined) throw new Misuse("--input needs --type");
  const value = { smoke: true };
  return { type: "probe.echo", input: { value }, result: { value } };
}

/**
 * Asks with an input that no probe takes: it makes no task.
 * @throws Failure when there are no probes, or this caller may not submit
 */
async function expectProbes(client: Client): Promise<void> {
  const refused = await client.post("/tasks", { type: "probe.echo", input: null }).catch((error: unknown) => error);
  if (refused instanceof Refusal && refused.code === "invalid_input") return;
  if (!(refused instanceof Refusal) || refused.code !== "unknown_task_type") throw refused;
  throw new Failure(
    "the probe types are not registered there, as by default in a deployment: deploy it with `-c probes=1`, or give a " +
      "type of yours, which then does run: --type mail.send --input '{...}'",
  );
}

function checksOf(prober: Prober, sample: Sample, { count, type }: SmokeOptions, timings: Timing[]): Check[] {
  const inTiers = tiers.map((tier) => ({ name: tier, run: () => completes(prober, sample, tier, count, timings) }));
  const delayed = { name: "delayed", run: () => isDelayed(prober, sample) };
  if (type !== undefined) return [...inTiers, delayed];
  return [
    ...inTiers,
    delayed,
    { name: "retried", run: () => isRetried(prober) },
    { name: "failed", run: () => failsForGood(prober) },
    { name: "cancelled", run: () => isCancelled(prober) },
  ];
}

/** Runs the checks at once, and gives their outcomes in their order. */
async function runAll(terminal: Terminal, checks: readonly Check[]): Promise<Outcome[]> {
  let done = 0;
  const show = () => terminal.progress(`${done} of ${checks.length} checks done`);
  show();
  const outcomes = checks.map(async ({ name, run }) => {
    const outcome = await run().then(
      (detail) => ({ check: name, ok: true, detail }),
      (error: unknown) => ({ check: name, ok: false, detail: error instanceof Error ? error.message : String(error) }),
    );
    done += 1;
    show();
    return outcome;
  });
  return Promise.all(outcomes).finally(() => terminal.endProgress());
}

async function completes(
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

function expectResult(sample: Sample, task: Probed): void {
  if (!("result" in sample) || isDeepStrictEqual(task.result, sample.result)) return;
  throw new Failure(`task ${task.task_id} has the result ${JSON.stringify(task.result)?.slice(0, 100)}`);
}

function timingOf({ sentAt, answeredAt }: Sent, task: Probed, seenAt: number): Timing {
  const between = (from: string | null, to: string | null) =>
    Math.max(0, Date.parse(to ?? "") - Date.parse(from ?? ""));
  const total = seenAt - sentAt;
  const answered = answeredAt - sentAt;
  const wait = between(task.created_at, task.started_at);
  const run = between(task.started_at, task.finished_at);
  const seen = Math.max(0, total - answered - wait - run);
  return { "submit answered": answered, "queue wait": wait, run, "end seen": seen, total };
}

async function isDelayed(prober: Prober, { type, input }: Sample): Promise<string> {
  const { taskId } = await prober.submit(type, input, { delay_seconds: delaySeconds });
  const { started_at, run_at } = await prober.until(taskId, "completed");
  const lateMs = Date.parse(started_at ?? "") - Date.parse(run_at ?? "");
  if (lateMs >= 0) return `by ${delaySeconds} s, then started ${lateMs} ms late`;
  throw new Failure(`task ${taskId} started ${-lateMs} ms before its time`);
}

/** A conflict is the failure with the shortest wait before the next attempt. */
async function isRetried(prober: Prober): Promise<string> {
  const { taskId } = await prober.submit("probe.fail", { kind: "conflict", times: 1 });
  const task = await prober.until(taskId, "completed");
  const { attempts } = await prober.client.get<{ attempts: Attempt[] }>(`/tasks/${taskId}/attempts`);
  const [first, second] = attempts;
  if (task.attempts !== 2 || first?.outcome !== "retried" || second === undefined) {
    throw new Failure(`task ${taskId} has ${attempts.length} attempts in its history`);
  }
  return `the second attempt came ${Date.parse(second.started_at) - Date.parse(first.started_at)} ms after the first`;
}

async function failsForGood(prober: Prober): Promise<string> {
  const message = "a smoke test's probe; it discards it itself";
  const { taskId } = await prober.submit("probe.fail", { kind: "permanent", message });
  const task = await prober.until(taskId, "failed");
  if (task.error_kind !== "permanent" || task.attempts !== 1) {
    throw new Failure(`task ${taskId} failed as ${task.error_kind} after ${task.attempts} attempts: ${task.error}`);
  }
  await prober.untilListed(task, true);
  await prober.discard([taskId]);
  await prober.untilListed(task, false);
  return "became a dead letter at once, and was discarded";
}

async function isCancelled(prober: Prober): Promise<string> {
  const { taskId } = await prober.submit("probe.sleep", { ms: 60_000 });
  await prober.until(taskId, "processing");
  const askedAt = performance.now();
  await prober.client.post(`/tasks/${taskId}/cancel`);
  await prober.until(taskId, "cancelled");
  return `while it ran; it stopped within ${Math.round(performance.now() - askedAt)} ms`;
}

interface Stage {
  stage: string;
  p50_ms: number;
  max_ms: number;
}

/** Nearest rank: a time that a task really took. Empty when none was completed. */
function summary(timings: readonly Timing[]): Stage[] {
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
  stages: readonly Stage[];
}

function inWords({ url, seconds, checks, stages }: Report): string {
  const lines = checks.map(({ check, ok, detail }) => `${ok ? "ok  " : "FAIL"}  ${check.padEnd(10)}  ${plain(detail)}`);
  const rows = stages.map(({ stage, p50_ms, max_ms }) => [stage, p50_ms, max_ms]);
  if (rows.length > 0) lines.push("", table(["stage", "p50 (ms)", "max (ms)"], rows));
  const head = `Smoke test of ${plain(url)}, in ${seconds} s`;
  return [head, "", ...lines].join("\n");
}
