import { largestResultBytes } from "../../core/task/result.ts";
import { hoursPerMonth } from "./figures.ts";
import type { Scenario } from "./scenario.ts";
import type { Outcome } from "./simulate.ts";

/** Size of a part in which workers send large results, in bytes. */
const partBytes = 5 * 1024 * 1024;

/**
 * Write units of a file: the upload, its entry in the list of objects, the task's own entry; each entry is moved or
 * removed later.
 */
const writesPerFile = 8;
/** Write units of a result in the bucket: its entry is written, moved to the end of the retention, and removed. */
const writesPerResult = 4;

/** Load of files and of large results. Each is 0 for tasks without them. Children have none. */
export interface ObjectLoad {
  /** Requests of `POST /uploads`. */
  uploads: number;
  /** S3 requests by price: PUT and POST; GET and HEAD. */
  puts: number;
  gets: number;
  tableWrites: number;
  /** Bytes that all tasks of the simulated time store. */
  bytes: number;
}

export function objectLoad({ files }: Scenario, { traffic, tiers }: Outcome): ObjectLoad {
  const tasks = traffic.submits.total;
  const attempts = tiers.reduce((sum, tier) => sum + tier.attempts, 0);
  const attemptsPerTask = traffic.created.total === 0 ? 0 : attempts / traffic.created.total;
  const uploads = tasks * files.perTask;
  const results = files.resultBytes > largestResultBytes ? tasks : 0;
  return {
    uploads,
    puts: uploads + results * putsOf(files.resultBytes),
    // A submit asks for each file's size, and each attempt reads it. A client reads the result once.
    gets: uploads * (1 + attemptsPerTask) + results,
    tableWrites: uploads * writesPerFile + results * writesPerResult,
    bytes: uploads * files.bytes + results * files.resultBytes,
  };
}

/** A result of several parts has a request to begin and one to end. */
const putsOf = (bytes: number): number => (bytes <= partBytes ? 1 : Math.ceil(bytes / partBytes) + 2);

/** Bytes that are stored at the same time. Objects go up to a day after the retention. */
export const bytesKept = (scenario: Scenario, outcome: Outcome, months: number): number =>
  (objectLoad(scenario, outcome).bytes / months) * (((scenario.retentionDays + 1) * 24) / hoursPerMonth);
