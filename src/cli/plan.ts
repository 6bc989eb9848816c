import { readFileSync, writeFileSync } from "node:fs";
import { awsModel } from "../plan/model.ts";
import { picture } from "../plan/picture.ts";
import { figuresText, reportOf, reportText } from "../plan/report.ts";
import { readScenario, type Scenario } from "../plan/scenario.ts";
import { simulate } from "../plan/simulate.ts";
import type { Register } from "./register.ts";
import { UsageError } from "./terminal.ts";

/** Options as texts of the command line. */
interface PlanOptions {
  rate?: string;
  hours?: string;
  ms?: string;
  failures?: string;
  polls?: string;
  waits?: string;
  waitSeconds?: string;
  batch?: string;
  perMonth?: string;
  children?: string;
  steps?: string;
  sleeps?: string;
  places?: string;
  starts?: string;
  busiestKey?: string;
  blockedKeys?: string;
  files?: string;
  fileBytes?: string;
  resultBytes?: string;
  webhooks?: string;
  receiverMs?: string;
  containerTasks?: string;
  containerMinutes?: string;
  picture?: string;
  json?: boolean;
  defaults?: boolean;
  figures?: boolean;
}

const examples = `
A scenario is a JSON file with any of the fields that --defaults prints, with their defaults. Options override its fields.
Tiers, a curve over the day, bursts, delays, events, push, provisioned pollers and the account's limits are fields only. Prices
are AWS's list prices of us-east-1. For another Region set them in "prices", by the names that --figures prints.

The report shows, for each tier, how long tasks wait until they start; for each AWS limit, how much of it the load needs, and
which limit is reached first; and the monthly cost, compared with Step Functions and Lambda durable functions.

Examples:
  npx offload plan --rate 50 --ms 200,2000
  npx offload plan --per-month 5000000
  npx offload plan --rate 5,5,20,60,40,10 --hours 24 --failures 2
  npx offload plan --rate 50 --batch 500 --polls 0
  npx offload plan --rate 2 --polls 0 --waits 1 --wait-seconds 8
  npx offload plan --rate 0.01 --children 10000 --polls 1
  npx offload plan --rate 2 --polls 0 --steps 5 --sleeps 4
  npx offload plan --rate 5 --ms 2000 --places 10 --busiest-key 20
  npx offload plan --rate 0.1 --places 1 --blocked-keys 1000
  npx offload plan --rate 5 --files 1 --file-bytes 20000000 --result-bytes 1000000
  npx offload plan --rate 50 --webhooks 100 --receiver-ms 300
  npx offload plan --rate 1 --container-tasks 200 --container-minutes 90
  npx offload plan examples/plan-shop.json --picture plan.svg
`;

/** `offload plan` */
export const register: Register = (command, terminal) => {
  command
    .argument("[scenario]", "a JSON file; default: one task a second for a day")
    .option("--rate <tasks>", "tasks per second; comma-separated rates each last an equal part of the time")
    .option("--per-month <tasks>", "tasks a month, evenly, in place of --rate")
    .option("--hours <hours>", "simulated time, in hours")
    .option("--ms <p50,p99>", "duration of the handler in ms: median and 99th percentile")
    .option("--failures <percent>", "percentage of attempts that fail and are retried")
    .option("--polls <number>", "status polls for each task")
    .option("--waits <number>", "requests for each task that wait for its end: GET /tasks/{id}?wait=20")
    .option("--wait-seconds <seconds>", "average wait of such a request, at most 20; default: 20")
    .option("--batch <tasks>", "tasks of one request: POST /tasks/batch, up to 500")
    .option("--children <number>", "children that each task spawns")
    .option("--steps <number>", "steps of each task")
    .option("--sleeps <number>", "sleeps of each task, of at most 15 minutes each")
    .option("--places <number>", "places of each key: all tasks have a type with concurrency")
    .option("--starts <number>", "starts of each key per second: all tasks have a type with rateLimit")
    .option("--busiest-key <percent>", "percentage of tasks that have the busiest key; default: 100")
    .option(
      "--blocked-keys <number>",
      "keys at any time whose tasks wait for hours: each is looked at 15 times an hour",
    )
    .option("--files <number>", "files that each task comes with")
    .option("--file-bytes <bytes>", "size of a file; default: 1000000")
    .option("--result-bytes <bytes>", "size of a result; one over 300 KiB is stored in S3")
    .option("--webhooks <percent>", "percentage of tasks with a webhook")
    .option("--receiver-ms <ms>", "time until a webhook's receiver answers; default: 300")
    .option("--container-tasks <tasks>", "tasks a day that run in container workers, in addition to --rate")
    .option("--container-minutes <minutes>", "duration of such a task; default: 30")
    .option("--picture <file>", "write an SVG chart of waits, depth and invocations over time")
    .option("--json", "print the whole report as JSON", false)
    .option("--defaults", "print the scenario with the defaults of missing fields, and stop", false)
    .option("--figures", "print the prices and limits with their sources, and stop", false)
    .addHelpText("after", examples)
    .action((file: string | undefined, options: PlanOptions) => {
      const scenario = scenarioOf(file, options);
      if (options.figures === true) return terminal.out(figuresText());
      if (options.defaults === true) return terminal.out(JSON.stringify(scenario, null, 2));
      const outcome = simulate(awsModel(scenario));
      const report = reportOf(scenario, outcome);
      if (options.picture !== undefined) writeFileSync(options.picture, picture(scenario.name, outcome));
      terminal.out(options.json === true ? JSON.stringify(report, null, 2) : reportText(report));
    });
};

/** Fields of the scenario that several options fill. */
interface NestedFields {
  children?: object;
  steps?: object;
  limited?: object;
  files?: object;
  waits?: object;
  webhooks?: object;
  containers?: object;
}

/** @throws UsageError with a message of one line for an invalid scenario file, or an option that is not a number */
function scenarioOf(file: string | undefined, options: PlanOptions): Scenario {
  try {
    const given = (file === undefined ? {} : readJson(file)) as NestedFields;
    const fields = fieldsOf(options);
    const children = { ...given.children, ...fields.children };
    const steps = { ...given.steps, ...fields.steps };
    const limited = { ...given.limited, ...fields.limited };
    const files = { ...given.files, ...fields.files };
    const waits = { ...given.waits, ...fields.waits };
    const webhooks = { ...given.webhooks, ...fields.webhooks };
    const containers = { ...given.containers, ...fields.containers };
    return readScenario({ ...given, ...fields, children, steps, limited, files, waits, webhooks, containers });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function readJson(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    throw new Error(`cannot read ${file}`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${file} is not valid JSON`);
  }
}

/** @throws Error for a text that is not a number */
function number(option: string, text: string): number {
  if (text.trim() !== "" && Number.isFinite(Number(text))) return Number(text);
  throw new Error(`--${option} ${text}: expected a number`);
}

/** A field that is absent without its option. */
const field = (name: string, option: string, text: string | undefined): Record<string, number> =>
  text === undefined ? {} : { [name]: number(option, text) };

const containerFields = ({ containerTasks, containerMinutes }: PlanOptions) => ({
  ...field("tasksPerDay", "container-tasks", containerTasks),
  ...field("minutes", "container-minutes", containerMinutes),
});

const limitFields = ({ places, starts, busiestKey, blockedKeys }: PlanOptions) => ({
  ...field("places", "places", places),
  ...field("startsPerSecond", "starts", starts),
  ...field("blockedKeys", "blocked-keys", blockedKeys),
  ...(busiestKey !== undefined && { busiestKeyShare: number("busiest-key", busiestKey) / 100 }),
});

/** Seconds of an average month. */
const monthSeconds = (365.25 / 12) * 86_400;

/** @throws Error for a text that is no positive number */
function perSecond(perMonth: string): number {
  const tasks = number("per-month", perMonth);
  if (tasks > 0) return tasks / monthSeconds;
  throw new Error(`--per-month ${perMonth}: expected a positive number of tasks`);
}

/** Converts the options to fields of the scenario. */
function fieldsOf(options: PlanOptions): Record<string, unknown> & NestedFields {
  const {
    rate,
    hours,
    ms,
    failures,
    polls,
    waits,
    waitSeconds,
    batch,
    children,
    steps,
    sleeps,
    files,
    fileBytes,
    resultBytes,
    webhooks,
    receiverMs,
  } = options;
  const numbers = (option: string, text: string) => text.split(",").map((part) => number(option, part));
  const [p50Ms, p99Ms = p50Ms] = ms === undefined ? [] : numbers("ms", ms);
  return {
    ...(options.perMonth !== undefined && { tasksPerSecond: [perSecond(options.perMonth)] }),
    ...(rate !== undefined && { tasksPerSecond: numbers("rate", rate) }),
    ...field("hours", "hours", hours),
    ...(ms !== undefined && { durations: { p50Ms, p99Ms } }),
    ...(failures !== undefined && { failureRate: number("failures", failures) / 100 }),
    ...field("pollsPerTask", "polls", polls),
    ...field("batchSize", "batch", batch),
    children: field("perTask", "children", children),
    steps: { ...field("perTask", "steps", steps), ...field("sleeps", "sleeps", sleeps) },
    waits: { ...field("perTask", "waits", waits), ...field("seconds", "wait-seconds", waitSeconds) },
    files: {
      ...field("perTask", "files", files),
      ...field("bytes", "file-bytes", fileBytes),
      ...field("resultBytes", "result-bytes", resultBytes),
    },
    webhooks: {
      ...(webhooks !== undefined && { share: number("webhooks", webhooks) / 100 }),
      ...field("receiverMs", "receiver-ms", receiverMs),
    },
    containers: containerFields(options),
    limited: limitFields(options),
  };
}
