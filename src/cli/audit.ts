import { Audit, type AuditEntry, type AuditFilter } from "../client/index.ts";
import { apiRoutes, isRecorded } from "../http/routes.ts";
import { type Connection, connectionOf, count, take, withAdminKey, withConnection } from "./client.ts";
import type { Register } from "./register.ts";
import { type Looks, table } from "./table.ts";
import type { Terminal } from "./terminal.ts";

const examples = `
Entries are kept for 400 days. An entry without an answer: the process died, and the change may have been made or not. The actor
of a command that works on the table itself, such as \`keys create\`, is the user of that machine.

Examples:
  npx offload audit --after 2027-01-01T22:00:00Z          what was changed since then
  npx offload audit --task 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11
  npx offload audit --actor olga --action pauseType
  npx offload audit --actor offload                       types that paused themselves
  npx offload audit --deployment --key dev-admin          what concerns all tenants

Set OFFLOAD_URL and OFFLOAD_KEY instead of giving --url and --key each time. The key must have the role operator or admin.
`;

interface AuditOptions extends Connection {
  actor?: string;
  action?: string;
  task?: string;
  after?: string;
  before?: string;
  deployment?: boolean;
  limit: number;
}

/**
 * The actions of requests, in the order of the API's routes. Commands that work on the table itself have their own
 * words.
 */
const actions = apiRoutes.filter(isRecorded).map(({ name }) => name);

const actionsText = `
Actions: ${actions.join(", ")};
of commands: keys create, keys revoke, limits set, limits clear.
`;

/** `offload audit` */
export const register: Register = (command, terminal) => {
  command
    .option("--actor <name>", "only acts of this principal")
    .option("--action <name>", 'only this action: an operationId of openapi.json, or a command such as "keys create"')
    .option("--task <task_id>", "only acts on this task")
    .option("--after <time>", "at or after this time (ISO 8601)")
    .option("--before <time>", "before this time (ISO 8601)")
    .option("--deployment", "acts that concern all tenants (admins only)")
    .option("--limit <n>", "maximum number of entries", count, 50)
    .addHelpText("after", actionsText + examples);
  withConnection(command).action((options: AuditOptions) => showAudit(terminal, options));
};

async function showAudit(terminal: Terminal, given: AuditOptions): Promise<void> {
  const options = given.deployment ? withAdminKey(given) : given;
  const { items, more } = await take(new Audit(connectionOf(options)).list(filterOf(options)), options.limit);
  if (options.json) terminal.out(JSON.stringify({ entries: items }, null, 2));
  else terminal.out(items.length === 0 ? "Nothing was changed." : entryTable(items, terminal, options));
  if (more) terminal.note(`There are more than ${items.length}: raise --limit.`);
}

const filterOf = ({ actor, action, task, after, before, deployment }: AuditOptions): AuditFilter => ({
  ...{ actor, action, taskId: task, after, before },
  scope: deployment ? "deployment" : undefined,
});

function entryTable(entries: readonly AuditEntry[], terminal: Terminal, looks: Looks): string {
  const rows = entries.map(({ at, actor, action, target, request, status }) => [
    at,
    actor,
    action,
    [...Object.values(target), ...(request === null ? [] : [JSON.stringify(request)])].join(" "),
    status,
  ]);
  return table(["at", "actor", "action", "what", "answer"], rows, terminal, looks);
}
