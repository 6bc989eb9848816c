import { apiRoutes, isRecorded } from "../../api/http/routes.ts";
import { Audit, type AuditEntry } from "../../client/index.ts";
import { firstOf } from "./answer.ts";
import { connection, connectionOf, limit, withAdminKey } from "./connection.ts";
import type { Register } from "./group.ts";
import { valuesOf } from "./options.ts";
import type { Columns } from "./text-table.ts";

const examples = `
Entries are kept for 400 days. An entry without an answer: the process died, and the change may have been made or not. The actor
of a command that works on the table itself, such as \`keys create\`, is the user of that machine.

Examples:
  npx offload audit --after 2027-01-01T22:00:00Z          what was changed since then
  npx offload audit --task 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11
  npx offload audit --actor olga --action pauseType
  npx offload audit --actor offload                       types that paused themselves
  npx offload audit --deployment --key dev-admin          what concerns all tenants
`;

/**
 * The actions of requests, in the order of the API's routes. Commands that work on the table itself have their own
 * words.
 */
const actions = apiRoutes.filter(isRecorded).map(({ name }) => name);

const actionsText = `
Actions: ${actions.join(", ")};
of commands: keys create, keys revoke, limits set, limits clear.
`;

const filter = [
  ["--actor <name>", "only acts of this principal"],
  ["--action <name>", 'only this action: an operationId of openapi.json, or a command such as "keys create"'],
  ["--task <task_id>", "only acts on this task"],
  ["--after <time>", "at or after this time (ISO 8601)"],
  ["--before <time>", "before this time (ISO 8601)"],
] as const;

const own = [["--deployment", "acts that concern all tenants (admins only)"], limit("entries", 50)] as const;

/** `offload audit` */
export const register: Register = (group) => {
  group.help(actionsText + examples, "operator or admin").does([...filter, ...own, ...connection], (given) => {
    const options = given.deployment ? withAdminKey(given) : given;
    const { task: taskId, ...others } = valuesOf(filter, options);
    const scope = options.deployment ? ("deployment" as const) : undefined;
    const entries = new Audit(connectionOf(options)).list({ ...others, taskId, scope });
    return firstOf(entries, options.limit, { json: "entries", none: "Nothing was changed.", columns });
  });
};

const columns: Columns<AuditEntry> = {
  ...{ at: "at", actor: "actor", action: "action" },
  what: ({ target, request }) =>
    [...Object.values(target), ...(request === null ? [] : [JSON.stringify(request)])].join(" "),
  answer: "status",
};
