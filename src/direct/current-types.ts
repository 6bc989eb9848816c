import { fitsOf } from "../core/model/fits.ts";
import { Problem } from "../core/model/problem.ts";
import { orUnavailable } from "../core/pipeline/submit/admit-task.ts";
import type { Clock } from "../core/ports/tasks.ts";
import { type KnownTypes, parseCatalog } from "../core/task/catalog.ts";
import { knownTypes } from "../core/task/known-types.ts";

/** The catalogue is read again after this time, in milliseconds. */
const readEveryMs = 60_000;

/** The catalogue that the deployment has published. */
export interface PublishedCatalog {
  /** Returns its JSON. Undefined: none is published. */
  load(): Promise<string | undefined>;
}

interface Read {
  json: string;
  types: KnownTypes;
  untilMs: number;
}

/**
 * Returns a function that returns the deployment's task types. They are never older than a minute: a type that the API
 * no longer accepts is not accepted here either, however old the caller's own code is.
 */
export function currentTypes(catalog: PublishedCatalog, clock: Clock): () => Promise<KnownTypes> {
  let last: Read | undefined;
  let reading: Promise<Read> | undefined;
  const read = async (): Promise<Read> => {
    const untilMs = clock.now() + readEveryMs;
    const json = await orUnavailable(catalog.load());
    if (json === undefined) throw notPublished();
    last = { json, types: last?.json === json ? last.types : knownTypes(parseCatalog(json), fitsOf), untilMs };
    return last;
  };
  return async () => {
    if (last !== undefined && clock.now() < last.untilMs) return last.types;
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return (await reading).types;
  };
}

const notPublished = () =>
  new Problem(
    "unavailable",
    "The deployment has not published its task types. Call grantSubmit or submitSettings of TaskPipeline, and deploy.",
    { retryAfterSeconds: 30 },
  );
