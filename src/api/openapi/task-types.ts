import { submitSchema } from "../../core/pipeline/submit/submit-body.ts";
import type { Catalog, CatalogEntry } from "../../core/task/catalog.ts";
import { inputSchema } from "../../core/task/input-schema.ts";
import { type Json, moved, refOf, refTo, withName } from "./json-schema.ts";

const submit = withName("Submit", submitSchema);

/** The schemas of task types, and what the routes refer to. */
export interface TaskTypeParts {
  /** By name: `<type>.input`, `<type>.result` and `<type>.submit`. */
  schemas: Record<string, Json>;
  /** Body of `POST /tasks`. */
  submit: Json;
  /** JSON result of a task. */
  result: Json;
}

/**
 * Describes the task types of a deployment.
 * @param options Schema of a submit of any type.
 */
export function taskTypeParts(catalog: Catalog, options: Json): TaskTypeParts {
  const schemas = Object.fromEntries(catalog.flatMap((entry) => schemasOf(entry, options)));
  const submits = catalog.map(({ name }) => [name, refTo(`${name}.submit`)] as const);
  const mapping = Object.fromEntries(submits.map(([name, { $ref }]) => [name, $ref]));
  const results = catalog.filter(hasResult).map(({ name }) => refTo(`${name}.result`));
  return {
    schemas,
    submit:
      submits.length === 0
        ? refOf(submit)
        : { oneOf: submits.map(([, ref]) => ref), discriminator: { propertyName: "type", mapping } },
    // Types may return any JSON, and those that the deployment no longer has may have left results.
    result: results.length === 0 ? {} : { anyOf: [...results, {}] },
  };
}

const hasResult = ({ output_schema }: CatalogEntry): boolean => output_schema !== undefined;

function schemasOf(entry: CatalogEntry, options: Json): [string, Json][] {
  const { name, output_schema } = entry;
  return [
    [`${name}.input`, moved(`${name}.input`, entry.input_schema)],
    ...(output_schema === undefined
      ? []
      : [[`${name}.result`, moved(`${name}.result`, output_schema)] as [string, Json]]),
    [`${name}.submit`, submitOf(entry, options)],
  ];
}

/** A submit of one type. The input is required where the API requires it: where its schema refuses an absent value. */
function submitOf(entry: CatalogEntry, { properties, ...options }: Json): Json {
  const { name, description, priority, max_attempts } = entry;
  const inputRequired = !inputSchema(entry).safeParse(undefined).success;
  const fields = properties as Record<string, Json>;
  return {
    ...options,
    ...(description === "" ? {} : { description }),
    properties: {
      ...fields,
      type: { const: name },
      input: refTo(`${name}.input`),
      priority: { ...fields.priority, default: priority },
      max_attempts: { ...fields.max_attempts, default: max_attempts },
    },
    required: inputRequired ? ["type", "input"] : ["type"],
  };
}
