import { nearestNames } from "../../../util/nearest.ts";
import { checkNow } from "../../model/check-now.ts";
import { inputProblem, parseInput } from "../../model/invalid.ts";
import { Problem } from "../../model/problem.ts";
import type { KnownType, KnownTypes } from "../../task/catalog.ts";
import { type SubmitBody, submitSchema } from "./submit-body.ts";

export { submitSchema };

/** Checks the body of a submit. @throws Problem `invalid_input` */
export const parseBody = (body: unknown): SubmitBody => parseInput(submitSchema, body);

/**
 * Returns the task's type, after it has checked the input against the type's schema.
 * @param within Path of the task in the request's body. Default: it is the body.
 * @throws Problem `unknown_task_type`, `invalid_input`
 */
export async function checkTask(
  types: KnownTypes,
  task: { type: string; input?: unknown },
  within: readonly string[] = [],
): Promise<KnownType> {
  const type = types.get(task.type);
  if (type === undefined) {
    throw unknownType(types, task.type, [...within, "type"]);
  }
  const schema = typeof type.input === "function" ? await type.input() : type.input;
  const { error } = checkNow(schema, task.input);
  if (error !== undefined) throw inputProblem(error, task.input, [...within, "input"]);
  return type;
}

function unknownType(types: KnownTypes, name: string, path: readonly string[]): Problem {
  const nearest = nearestNames(name, types.keys()).map((one) => JSON.stringify(one));
  const meant = nearest.length === 0 ? "" : ` Did you mean ${nearest.join(" or ")}?`;
  const detail = `${path.join(".")}: no task type is named ${JSON.stringify(name)}.${meant} GET /types lists the task types.`;
  return new Problem("unknown_task_type", detail, {
    errors: [{ path: `/${path.join("/")}`, message: "no such task type" }],
  });
}
