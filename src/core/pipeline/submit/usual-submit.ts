import type { KnownType, KnownTypes } from "../../task/catalog.ts";
import type { SubmitBody } from "./submit-body.ts";
import type { SubmitPorts } from "./submit-ports.ts";

/** The type of a submitted task, and the version of its input. */
export interface Checked {
  type: KnownType;
  version: number;
}

type CheckPorts = Pick<SubmitPorts, "isUsualBody">;

let loaded: typeof import("./check-input.ts") | undefined;

/** Loads the schemas with zod, half of submit's code, which decide where the checks of this file do not. */
export async function loadSchemas(): Promise<typeof import("./check-input.ts")> {
  loaded ??= await import("./check-input.ts");
  return loaded;
}

/** Loads the schema of a submit's body, for a refusal that shows it. */
export const loadSubmitSchema = async () => (await loadSchemas()).submitSchema;

/** Checks the body of a submit. @throws Problem `invalid_input` */
export async function checkBody({ isUsualBody }: CheckPorts, body: unknown): Promise<SubmitBody> {
  return isUsualBody?.(body) ? (body as SubmitBody) : (await loadSchemas()).parseBody(body);
}

/**
 * Checks a submit's input. An input that was stored with an earlier version of its type was checked then: the worker
 * brings it to the present version.
 * @param inputVersion The version of a stored input. Undefined: the input is a client's, of the present version.
 * @throws Problem `unknown_task_type`, `invalid_input`
 */
export async function checkInput(
  types: KnownTypes,
  body: SubmitBody,
  inputVersion: number | undefined,
): Promise<Checked> {
  const type = types.get(body.type);
  if (type !== undefined && inputVersion !== undefined && inputVersion < type.version) {
    return { type, version: inputVersion };
  }
  if (type?.fits?.(body.input)) return { type, version: type.version };
  const checked = await (await loadSchemas()).checkTask(types, body);
  return { type: checked, version: checked.version };
}
