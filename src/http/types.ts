import type { CatalogEntry } from "../core/catalog.ts";
import type { KnownTypes } from "../core/check-input.ts";
import { type ApiPorts, type HandlersOf, identify } from "./api.ts";

/** The handler that lists the task types. */
export const typeReads = ({ types }: ApiPorts & { types: KnownTypes }) =>
  ({
    listTypes: (call) => {
      identify(call);
      call.header("cache-control", "no-store");
      return call.json({ types: [...types.values()].map(typeView) });
    },
  }) satisfies Partial<HandlersOf<"control">>;

/** A task type as clients see it. */
export type TypeView = ReturnType<typeof typeView>;

const typeView = ({ name, description, input_schema, output_schema, ...entry }: CatalogEntry) => ({
  name,
  description,
  version: entry.version,
  priority: entry.priority,
  runs_on: entry.runs_on ?? "function",
  timeout_seconds: entry.timeout_seconds,
  max_attempts: entry.max_attempts,
  cancellable: entry.cancellable,
  input_schema,
  output_schema: output_schema ?? null,
});
