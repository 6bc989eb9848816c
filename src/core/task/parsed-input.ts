import { InvalidInput } from "../model/errors.ts";
import type { TaskType } from "./task.ts";
import { upcastInput } from "./version.ts";

/**
 * Parses an input with its type's schema, after the steps from an earlier version to the present one.
 * @throws InvalidInput when it does not fit; whatever code of the schema throws
 */
export function parsedInput(type: TaskType, given: unknown, version: number): unknown {
  const parsed = type.input.safeParse(upcastInput(type, given, version));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue?.path.length ? `input.${issue.path.join(".")}` : "input";
  const origin = version === type.version ? "" : `from version ${version}, `;
  throw new InvalidInput(`${origin}${where}: ${issue?.message ?? "does not fit the schema"}`);
}
