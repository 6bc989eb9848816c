import { readFileSync, writeFileSync } from "node:fs";
import { awsModel } from "../plan/model.ts";
import { picture } from "../plan/picture.ts";
import { reportOf, reportText } from "../plan/report.ts";
import { readScenario, type Scenario } from "../plan/scenario.ts";
import { simulate } from "../plan/simulate.ts";
import type { Register } from "./main.ts";
import { Misuse } from "./terminal.ts";

/** The options as the command line gives them. */
interface PlanOptions {
  rate?: string;
  hours?: string;
  ms?: string;
  failures?: string;
  polls?: string;
  picture?: string;
  json?: boolean;
}

const examples = `
A scenario is a JSON file; src/plan/scenario.ts documents its fields, and each has a default. Options take their place.
Prices and limits are AWS's of us-east-1, in src/plan/figures.ts with their sources; a scenario can give its own.

Examples:
  npx offload plan --rate 50 --ms 200,2000
  npx offload plan examples/plan-shop.json --picture plan.svg
`;

/** `offload plan` */
export const register: Register = (command, terminal) => {
  command
    .argument("[scenario]", "a JSON file; default: one task a second for a day")
    .option("--rate <tasks>", "tasks per second; several, with commas: each for an equal part of the time")
    .option("--hours <hours>", "how long to simulate")
    .option("--ms <p50,p99>", "how long a handler takes: half of all, 99 of 100")
    .option("--failures <percent>", "attempts that fail and are retried")
    .option("--polls <number>", "status polls for each task")
    .option("--picture <file>", "draw waits, depth and invocations over the time, as SVG")
    .option("--json", "print everything as JSON", false)
    .addHelpText("after", examples)
    .action((file: string | undefined, options: PlanOptions) => {
      const scenario = scenarioOf(file, options);
      const outcome = simulate(awsModel(scenario));
      const report = reportOf(scenario, outcome);
      if (options.picture !== undefined) writeFileSync(options.picture, picture(scenario.name, outcome));
      terminal.out(options.json === true ? JSON.stringify(report, null, 2) : reportText(report));
    });
};

/** @throws Misuse in one line for a file that is no scenario, or an option that is no number */
function scenarioOf(file: string | undefined, options: PlanOptions): Scenario {
  try {
    const given: unknown = file === undefined ? {} : JSON.parse(readFileSync(file, "utf8"));
    return readScenario({ ...(given as object), ...fieldsOf(options) });
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** The scenario's fields that options give. */
function fieldsOf({ rate, hours, ms, failures, polls }: PlanOptions): Record<string, unknown> {
  const numbers = (text: string) => text.split(",").map(Number);
  const [p50Ms, p99Ms = p50Ms] = ms === undefined ? [] : numbers(ms);
  return {
    ...(rate !== undefined && { tasksPerSecond: numbers(rate) }),
    ...(hours !== undefined && { hours: Number(hours) }),
    ...(ms !== undefined && { durations: { p50Ms, p99Ms } }),
    ...(failures !== undefined && { failureRate: Number(failures) / 100 }),
    ...(polls !== undefined && { pollsPerTask: Number(polls) }),
  };
}
