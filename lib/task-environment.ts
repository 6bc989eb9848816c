import { Token } from "aws-cdk-lib";
import { checkNames, type TaskEnvironment } from "../src/core/task/environment.ts";
import type { HandlerOptions } from "./handler-options.ts";
import { vendorVariables } from "./instrumentation.ts";
import { settingError } from "./setting-error.ts";
import { type PlacedSecrets, placed, sourcesOf } from "./task-secrets.ts";

/** The environment that workers get for their handlers. */
export interface WorkerEnvironment {
  readonly variables: Readonly<Record<string, string>>;
  readonly secrets: PlacedSecrets;
}

/** Lambda allows 4 KB for all variables of a function. Offload's own take up to 2 KB of it. */
const mostBytes = 2_000;

/** The URLs of the queues of container workers take this part of it. */
const containerBytes = 600;

/**
 * Combines the declarations with the values of this deployment.
 * @throws TypeError for a reserved or undeclared name, and for a variable without a value
 * @throws TypeError when Lambda would refuse the size
 */
export function workerEnvironment(
  { variables, secrets: known }: TaskEnvironment,
  { environment = {}, secrets: given = {}, instrumentation }: HandlerOptions,
  withContainers = false,
): WorkerEnvironment {
  const values = { ...variables, ...environment };
  const secrets = { ...known, ...placed(given) };
  checkNames(values, secrets);
  checkDeclared("environment", Object.keys(environment), Object.keys(variables));
  checkDeclared("secrets", Object.keys(given), Object.keys(known));
  const vendor = instrumentation === undefined ? {} : vendorVariables(instrumentation);
  checkOneOwner(vendor, { ...values, ...secrets });
  const missing = Object.keys(values).filter((name) => values[name] === undefined);
  if (missing.length > 0) {
    throw settingError(
      `these variables of tasks/environment.ts have no value: ${missing.join(", ")}. Set them in the pipeline's \`environment\``,
    );
  }
  const sources = Object.keys(secrets).length > 0 ? JSON.stringify(sourcesOf(secrets)) : "";
  checkSize(
    { ...(values as Record<string, string>), ...vendor, OFFLOAD_SECRETS: sources },
    withContainers ? mostBytes - containerBytes : mostBytes,
  );
  return { variables: values as Record<string, string>, secrets };
}

/** Of two values of one variable, one would be lost without a word. */
function checkOneOwner(vendor: object, own: object): void {
  const both = Object.keys(vendor).filter((name) => Object.hasOwn(own, name));
  if (both.length === 0) return;
  throw settingError(
    `instrumentation and tasks/environment.ts both have ${both.join(", ")}: remove it from one of them`,
  );
}

/** Local workers get only declared names, so a name that only the construct knows would be missing there. */
function checkDeclared(property: string, given: readonly string[], known: readonly string[]): void {
  const unknown = given.filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  throw settingError(
    `${property} has names that tasks/environment.ts does not declare: ${unknown.join(", ")}. Declare them there, ` +
      "so that local workers get them too",
  );
}

/** Values that only a deployment knows are not counted. */
function checkSize(values: Readonly<Record<string, string>>, most: number): void {
  const known = Object.entries(values).filter(([, value]) => !Token.isUnresolved(value));
  const bytes = known.reduce((sum, pair) => sum + Buffer.byteLength(pair.join("")), 0);
  if (bytes <= most) return;
  throw settingError(
    `the variables of handlers, with the names of secrets, have ${bytes} bytes; at most ${most} fit beside Offload's own into Lambda's 4 KB. ` +
      "Store long values in a parameter or a secret, or add a file with `workerFiles`",
  );
}
