import type { ErrorKind } from "../model/errors.ts";
import type { TaskRecord } from "../model/record.ts";
import type { ErrorHint } from "../model/words.ts";
import type { TenantList } from "../schedules/ports.ts";
import { groupsOf, ofEach } from "./all-tenants.ts";
import {
  type DeadLetterFilter,
  errorFingerprint,
  maxDeadLetters,
  pageSize,
  type ReadPorts,
  readDeadLetters,
} from "./find-dead-letters.ts";
import { AnswerRoom } from "./list.ts";

/** Codes of AWS for credentials that have ended, are wrong, or lack a right. */
const awsCodes =
  /^(ExpiredToken|TokenRefreshRequired|InvalidToken|UnrecognizedClient|InvalidClientTokenId|MissingAuthenticationToken|AuthFailure|InvalidSignature|SignatureDoesNotMatch|IncompleteSignature|CredentialsProviderError|AccessDenied)/;

/** Errors of code that is wrong. */
const bugs = /^(TypeError|ReferenceError)$/;

/** `fetch` throws a TypeError for connections that fail. */
const ofFetch = /^(fetch failed|terminated|network error|failed to fetch)/i;

/** Words of HTTP clients for a 401 or 403: `HTTP 401`, `status code 403`, `403 Forbidden`. */
const httpStatuses = /\b(?:http|status(?: code)?:?) 40[13]\b|\b401 unauthori[sz]ed\b|\b403 forbidden\b/i;

/**
 * Where the cause of an error is to be looked for, if its class or text tells. `credentials`: another service answered
 * with 401 or 403. `bug`: the code is wrong, although the kind is `transient`, as of any error that no rule names.
 * Pure.
 */
export function errorHint({
  error_type = "",
  error = "",
}: Pick<TaskRecord, "error_type" | "error">): ErrorHint | undefined {
  if (bugs.test(error_type) && !ofFetch.test(error)) return "bug";
  return awsCodes.test(error_type) || httpStatuses.test(error_type) || httpStatuses.test(error.slice(0, 1_000))
    ? "credentials"
    : undefined;
}

/**
 * Dead letters of one type with one fingerprint, as clients see them: names and order of the fields are part of the
 * API.
 */
export interface LetterGroupView {
  fingerprint: string;
  type: string;
  error_type: string | null;
  /** Of the newest dead letter, as `error` and `task_id`. */
  error_kind: ErrorKind | null;
  error: string | null;
  count: number;
  first_failed_at: string;
  last_failed_at: string;
  task_id: string;
  /** Where to look for the cause. Absent: the error does not tell. */
  hint?: ErrorHint | undefined;
  /** Only in an answer for all tenants: the number of dead letters of each. */
  by_tenant?: Record<string, number> | undefined;
}

/** The groups of a filter's dead letters. */
export interface LetterGroups {
  /** The largest group first. */
  groups: LetterGroupView[];
  /** False: older dead letters were not read, as there are too many, or the time was over. */
  complete: boolean;
}

/**
 * No page is read after this time, in milliseconds: the last one still has its time before the request must be
 * answered.
 */
const maxReadMs = 3_500;

/**
 * Groups a tenant's dead letters by type and fingerprint. It reads the newest `maxLetters` of the filter's time span
 * at most.
 */
export async function groupDeadLetters(
  ports: ReadPorts,
  tenantId: string,
  filter: DeadLetterFilter,
): Promise<LetterGroups> {
  const endMs = ports.clock.now() + maxReadMs;
  const groups = new Map<string, LetterGroupView>();
  const complete = await readInto(groups, ports, { tenantId, filter, max: maxDeadLetters, endMs });
  return answerOf(groups, complete);
}

/**
 * Groups the dead letters of all tenants, with the number of each tenant's. It reads `maxLetters` at most, an equal
 * share of each tenant's newest.
 */
export async function groupDeadLettersOfAll(
  ports: ReadPorts & { tenants: TenantList },
  filter: DeadLetterFilter,
): Promise<LetterGroups> {
  const endMs = ports.clock.now() + maxReadMs;
  const groups = new Map<string, LetterGroupView>();
  let left = maxDeadLetters;
  let complete = true;
  for await (const ids of groupsOf(ports.tenants)) {
    if (left < pageSize || ports.clock.now() >= endMs) return answerOf(groups, false);
    const max = Math.max(pageSize, Math.floor(left / Math.max(1, ids.length)));
    const read = await ofEach(ids, async (tenantId) => {
      const own = new Map<string, LetterGroupView>();
      const all = ports.clock.now() < endMs && (await readInto(own, ports, { tenantId, filter, max, endMs }));
      for (const [key, group] of own) addGroup(groups, key, group, tenantId);
      left -= [...own.values()].reduce((sum, { count }) => sum + count, 0);
      return all;
    });
    complete &&= read.every((all) => all);
  }
  return answerOf(groups, complete);
}

/** Adds one tenant's group to that of all. The newest dead letter of all tells the error. */
function addGroup(groups: Map<string, LetterGroupView>, key: string, own: LetterGroupView, tenantId: string): void {
  const group = groups.get(key);
  const newest = group === undefined || own.last_failed_at > group.last_failed_at ? own : group;
  const first = [own.first_failed_at, group?.first_failed_at ?? own.first_failed_at].sort()[0] ?? own.first_failed_at;
  groups.set(key, {
    ...newest,
    count: own.count + (group?.count ?? 0),
    first_failed_at: first,
    by_tenant: { ...group?.by_tenant, [tenantId]: own.count },
  });
}

interface TenantRead {
  tenantId: string;
  filter: DeadLetterFilter;
  max: number;
  endMs: number;
}

/** Adds a tenant's newest dead letters to groups. False: older ones were not read. */
async function readInto(
  groups: Map<string, LetterGroupView>,
  ports: ReadPorts,
  { tenantId, filter, max, endMs }: TenantRead,
): Promise<boolean> {
  for await (const { read, matched, more } of readDeadLetters(ports, tenantId, filter)) {
    for (const record of matched) addTo(groups, record);
    if (more && (read + pageSize > max || ports.clock.now() >= endMs)) return false;
  }
  return true;
}

function answerOf(groups: ReadonlyMap<string, LetterGroupView>, complete: boolean): LetterGroups {
  const largestFirst = [...groups.values()].sort((a, b) => b.count - a.count);
  const room = new AnswerRoom();
  const fitting = largestFirst.filter((group) => room.takes(group));
  return { groups: fitting, complete: complete && fitting.length === largestFirst.length };
}

/** Adds a dead letter to its group. They come newest first, so that the first one of a group is its newest. */
function addTo(groups: Map<string, LetterGroupView>, record: TaskRecord): void {
  const fingerprint = errorFingerprint(record);
  const key = `${record.type} ${fingerprint}`;
  const failedAt = record.dead_letter_at ?? record.updated_at;
  const firstFailedAt = record.first_failed_at ?? failedAt;
  const group = groups.get(key);
  if (group !== undefined) {
    group.count += 1;
    if (firstFailedAt < group.first_failed_at) group.first_failed_at = firstFailedAt;
    return;
  }
  const hint = errorHint(record);
  groups.set(key, {
    fingerprint,
    type: record.type,
    error_type: record.error_type ?? null,
    error_kind: record.error_kind ?? null,
    error: record.error ?? null,
    count: 1,
    first_failed_at: firstFailedAt,
    last_failed_at: failedAt,
    task_id: record.task_id,
    ...(hint !== undefined && { hint }),
  });
}
