import * as z from "zod";
import { type DeadLetterFilter, listDeadLetters, listDeadLettersOfAll } from "../../core/control/find-dead-letters.ts";
import { groupDeadLetters, groupDeadLettersOfAll } from "../../core/control/group-dead-letters.ts";
import { errorKinds } from "../../core/model/errors.ts";
import { seesInputs, tiers } from "../../core/model/words.ts";
import { isForAll } from "../acts/act.ts";
import { ofOperators, operationIn, shownOperation } from "../acts/operation.ts";
import { askedOf, shown } from "./act-handlers.ts";
import { type HandlersOf, identify } from "./api.ts";
import { pageAnswer } from "./cursor.ts";
import { pageParameters, queryOf, timeParameter } from "./query.ts";
import type { StatusPorts } from "./status.ts";

/** Filter fields of dead letters, the same in a query and in a body. */
export const filterFields = {
  type: z.string().min(1).max(64).optional(),
  error_type: z.string().min(1).max(128).optional(),
  error_kind: z.enum(errorKinds).optional(),
  fingerprint: z
    .string()
    .regex(/^[0-9a-f]{16}$/, "expected 16 hexadecimal digits")
    .optional(),
  priority: z.enum(tiers).optional(),
  failed_after: timeParameter.optional(),
  failed_before: timeParameter.optional(),
};

/** Query of `GET /dead-letters`. */
export const letterListSchema = z.object({ ...pageParameters, ...filterFields });

/** Query of `GET /dead-letters/groups`. */
export const letterGroupsSchema = z.object(filterFields);

type FilterFields = { [Name in keyof typeof filterFields]?: z.output<(typeof filterFields)[Name]> };

/** Returns the filter in the fields of a request. */
export const filterOf = (fields: FilterFields): DeadLetterFilter => ({
  type: fields.type,
  errorType: fields.error_type,
  errorKind: fields.error_kind,
  fingerprint: fields.fingerprint,
  priority: fields.priority,
  failedAfter: fields.failed_after,
  failedBefore: fields.failed_before,
});

/** Handlers that read dead letters and the operations on them. */
export const deadLetterReads = (ports: StatusPorts) =>
  ({
    listDeadLetters: async (call) => {
      const identity = identify(call, "viewer", "all");
      const { limit, cursor, ...fields } = queryOf(call, letterListSchema);
      const filter = filterOf(fields);
      const list = { identity, list: "dead-letters", filters: { ...filter }, cursor };
      return pageAnswer(ports, call, list, async (from) => {
        const { items, next } = isForAll(identity)
          ? await listDeadLettersOfAll(ports, filter, { limit, from })
          : await listDeadLetters(ports, identity.tenantId, filter, { limit, from });
        const letters = seesInputs(identity) ? items : items.map((letter) => ({ ...letter, input: null }));
        return { items: { dead_letters: letters }, next };
      });
    },
    groupDeadLetters: async (call) => {
      const identity = identify(call, "viewer", "all");
      const filter = filterOf(queryOf(call, letterGroupsSchema));
      const groups = isForAll(identity)
        ? await groupDeadLettersOfAll(ports, filter)
        : await groupDeadLetters(ports, identity.tenantId, filter);
      return call.unstored(groups);
    },
    readOperation: async (call) => {
      const asked = askedOf(call, { ...ofOperators, role: "viewer" });
      return shown(call, shownOperation(ports, await operationIn(ports, asked)));
    },
  }) satisfies Partial<HandlersOf<"status">>;
