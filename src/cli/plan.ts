import { readFileSync, writeFileSync } from "node:fs";
import { awsModel } from "../plan/model.ts";
import { picture } from "../plan/picture.ts";
import { reportOf, reportText } from "../plan/report.ts";
import { readScenario } from "../plan/scenario.ts";
import { simulate } from "../plan/simulate.ts";

/** The options of `offload plan`, as the command line gives them. */
export interface PlanOptions {
  rate?: string;
  hours?: string;
  ms?: string;
  failures?: string;
  polls?: string;
  picture?: string;
  json?: boolean;
}

/**
 * Simulates a scenario and prints waits, limits and costs.
 * @param file A scenario as JSON, whose fields `src/plan/scenario.ts` documents. Default: all defaults.
 * @throws Error in one line for a scenario that is wrong
 */
export function plan(file: string | undefined, options: PlanOptions, print: (text: string) => void): void {
  const given: unknown = file === undefined ? {} : JSON.parse(readFileSync(file, "utf8"));
  const scenario = readScenario({ ...(given as object), ...fieldsOf(options) });
  const outcome = simulate(awsModel(scenario));
  const report = reportOf(scenario, outcome);
  if (options.picture !== undefined) writeFileSync(options.picture, picture(scenario.name, outcome));
  print(options.json === true ? JSON.stringify(report, undefined, 2) : reportText(report));
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
