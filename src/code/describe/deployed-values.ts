import type { TaskEnvironment } from "../../core/task/environment.ts";
import type { Values } from "./describe-code.ts";

/** This text stands for a secret where the code is only loaded. */
export const placeholderOf = (name: string): string => `placeholder-of-the-secret-${name}`;

/**
 * Values of a deployment: its own of variables, else those of the declaration. The values of secrets are not here.
 * @param given Values that the deployment sets.
 */
export const deployedValues =
  (given: Readonly<Record<string, string>>) =>
  ({ variables, secrets }: TaskEnvironment): Values => ({
    values: Object.fromEntries(
      Object.entries({ ...variables, ...given }).filter((one): one is [string, string] => one[1] !== undefined),
    ),
    placeholders: Object.fromEntries(Object.keys(secrets).map((name) => [name, placeholderOf(name)])),
  });
