import type { CatalogEntry } from "../core/catalog.ts";
import type { KnownTypes } from "../core/check-input.ts";
import type { RunsOn } from "../core/runs-on.ts";
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

const runsOnOf = ({ runs_on = "function" }: { runs_on?: RunsOn }): RunsOn => runs_on;

/** A task type as clients see it. */
export type TypeView = ReturnType<typeof typeView>;

const typeView = ({ name, description, input_schema, output_schema, ...entry }: CatalogEntry) => ({
  name,
  description,
  version: entry.version,
  priority: entry.priority,
  runs_on: runsOnOf(entry),
  timeout_seconds: entry.timeout_seconds,
  max_attempts: entry.max_attempts,
  cancellable: entry.cancellable,
  input_schema,
  output_schema: output_schema ?? null,
});
