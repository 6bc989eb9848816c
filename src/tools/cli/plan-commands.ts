import { readFileSync, writeFileSync } from "node:fs";
import { Option } from "commander";
import { awsModel } from "../plan/model.ts";
import { picture } from "../plan/picture.ts";
import { figuresText, reportOf, reportText } from "../plan/report.ts";
import { readScenario, type Scenario } from "../plan/scenario.ts";
import { simulate } from "../plan/simulate.ts";
import type { Register } from "./group.ts";
import type { Given } from "./options.ts";
import { UsageError } from "./terminal.ts";

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

/** Seconds of an average month. */
const monthSeconds = (365.25 / 12) * 86_400;

/** Reads the text of an option. @throws Error for a text that is not a number */
type Read = (option: string, text: string) => unknown;

function number(option: string, text: string): number {
  if (text.trim() !== "" && Number.isFinite(Number(text))) return Number(text);
  throw new Error(`${option} ${text}: expected a number`);
}

const numbers = (option: string, text: string) => text.split(",").map((part) => number(option, part));

const percent: Read = (option, text) => number(option, text) / 100;

const perMonth: Read = (option, text) => {
  const tasks = number(option, text);
  if (tasks > 0) return [tasks / monthSeconds];
  throw new Error(`${option} ${text}: expected a positive number of tasks`);
};

const duration: Read = (option, text) => {
  const [p50Ms, p99Ms = p50Ms] = numbers(option, text);
  return { p50Ms, p99Ms };
};

/** Options that give a field of the scenario. Of two for the same field the first one wins. */
const fields: readonly (readonly [form: string, meaning: string, field: string, read?: Read])[] = [
  [
    "--rate <tasks>",
    "tasks per second; comma-separated rates each last an equal part of the time",
    "tasksPerSecond",
    numbers,
  ],
  ["--per-month <tasks>", "tasks a month, evenly, in place of --rate", "tasksPerSecond", perMonth],
  ["--hours <hours>", "simulated time, in hours", "hours"],
  ["--ms <p50,p99>", "duration of the handler in ms: median and 99th percentile", "durations", duration],
  ["--failures <percent>", "percentage of attempts that fail and are retried", "failureRate", percent],
  ["--polls <number>", "status polls for each task", "pollsPerTask"],
  ["--waits <number>", "requests for each task that wait for its end: GET /tasks/{id}?wait=20", "waits.perTask"],
  ["--wait-seconds <seconds>", "average wait of such a request, at most 20; default: 20", "waits.seconds"],
  ["--batch <tasks>", "tasks of one request: POST /tasks/batch, up to 500", "batchSize"],
  ["--children <number>", "children that each task spawns", "children.perTask"],
  ["--steps <number>", "steps of each task", "steps.perTask"],
  ["--sleeps <number>", "sleeps of each task, of at most 15 minutes each", "steps.sleeps"],
  ["--places <number>", "places of each key: all tasks have a type with concurrency", "limited.places"],
  [
    "--starts <number>",
    "starts of each key per second: all tasks have a type with rateLimit",
    "limited.startsPerSecond",
  ],
  [
    "--busiest-key <percent>",
    "percentage of tasks that have the busiest key; default: 100",
    "limited.busiestKeyShare",
    percent,
  ],
  [
    "--blocked-keys <number>",
    "keys at any time whose tasks wait for hours: each is looked at 15 times an hour",
    "limited.blockedKeys",
  ],
  ["--files <number>", "files that each task comes with", "files.perTask"],
  ["--file-bytes <bytes>", "size of a file; default: 1000000", "files.bytes"],
  ["--result-bytes <bytes>", "size of a result; one over 300 KiB is stored in S3", "files.resultBytes"],
  ["--webhooks <percent>", "percentage of tasks with a webhook", "webhooks.share", percent],
  ["--receiver-ms <ms>", "time until a webhook's receiver answers; default: 300", "webhooks.receiverMs"],
  [
    "--container-tasks <tasks>",
    "tasks a day that run in container workers, in addition to --rate",
    "containers.tasksPerDay",
  ],
  ["--container-minutes <minutes>", "duration of such a task; default: 30", "containers.minutes"],
];

const options = [
  ["[scenario]", "a JSON file; default: one task a second for a day"],
  ...fields.map(([form, meaning]): Given => [form, meaning]),
  ["--picture <file>", "write an SVG chart of waits, depth and invocations over time"],
  ["--json", "print the whole report as JSON", { initial: false }],
  ["--defaults", "print the scenario with the defaults of missing fields, and stop", { initial: false }],
  ["--figures", "print the prices and limits with their sources, and stop", { initial: false }],
] as const;

/** `offload plan` */
export const register: Register = (group) => {
  group.help(examples).does(options, (given, file) => {
    const scenario = scenarioOf(file, given as object as Readonly<Record<string, string>>);
    const { out } = group.terminal;
    if (given.figures || given.defaults) {
      out(given.figures ? figuresText() : JSON.stringify(scenario, null, 2));
      return;
    }
    const outcome = simulate(awsModel(scenario));
    const report = reportOf(scenario, outcome);
    if (given.picture !== undefined) writeFileSync(given.picture, picture(scenario.name, outcome));
    return { json: report, text: () => reportText(report) };
  });
};

/** @throws UsageError with a message of one line for an invalid scenario file, or an option that is not a number */
function scenarioOf(file: string | undefined, given: Readonly<Record<string, string>>): Scenario {
  try {
    const scenario: Record<string, unknown> = { ...(file === undefined ? {} : (readJson(file) as object)) };
    for (const [form, , field, read = number] of fields.toReversed()) {
      const option = new Option(form);
      const text = given[option.attributeName()];
      if (text === undefined) continue;
      const value = read(option.long ?? form, text);
      const [name = "", member] = field.split(".");
      scenario[name] = member === undefined ? value : { ...(scenario[name] as object), [member]: value };
    }
    return readScenario(scenario);
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
