import type { Mutation } from "./mutation.ts";

const test = "test/core/extras/children/runs.test.ts";

/** Each runs a child twice, or lets its parent go on without it, or never. */
export const runMutations: readonly Mutation[] = [
  {
    name: "run: the end of a child is not stored",
    file: "extras/children/runs.ts",
    in: "run",
    find: "return outcome(await this.#steps.add(entry), call, taskId);",
    replace: "return outcome(entry, call, taskId);",
    test,
  },
  {
    name: "run: a child has a key of its own in each attempt",
    file: "extras/children/runs.ts",
    in: "run",
    find: "const at = await this.#spawner.create(child, awaitedKey(call.name), () => this.#turn());",
    replace:
      "const at = await this.#spawner.create(child, awaitedKey(call.name + Math.min(2, record.attempts_total)), () => this.#turn());",
    test,
  },
  {
    name: "run: a child that was replayed has ended",
    file: "extras/children/runs.ts",
    in: "#ended",
    find: 'return child.status === "pending" || child.status === "processing" ? undefined : child;',
    replace: "return child;",
    test,
  },
  {
    name: "run: an end of an earlier round counts in each",
    file: "extras/children/runs.ts",
    in: "run",
    find: "(last.error === undefined || last.round === record.round)",
    replace: "(last.error === undefined || last.round !== undefined)",
    test,
  },
  {
    name: "run: the end of a child does not wake its parent",
    file: "pipeline/end/close-family.ts",
    in: "countEnd",
    find: "  if (child.family_awaited === true) await wakeParent(ports, child);\n",
    replace: "",
    test,
  },
  {
    name: "run: an attempt is not told of a child that ends while it runs",
    file: "pipeline/end/close-family.ts",
    in: "isNotified",
    find: "set: { woken_by: by }, add: { signals: 1 }",
    replace: "set: { woken_by: by }",
    test,
  },
  {
    name: "run: the message that a death has left unsent is not sent by the repeat",
    file: "pipeline/end/close-family.ts",
    in: "isNotified",
    find: "    if (woken_by === by && due_at <= now) await send(ports, parent);\n",
    replace: "",
    test,
  },
  {
    name: "run: each of many ends sends a message",
    file: "pipeline/end/close-family.ts",
    in: "isNotified",
    find: "if (woken_by === by && due_at <= now) await",
    replace: "if (due_at <= now) await",
    test,
  },
  {
    name: "run: a task of runs alone waits for a family",
    file: "extras/children/spawner.ts",
    in: "seal",
    find: "    if (!this.#pages.hasSpawned) return undefined;\n",
    replace: "",
    test,
  },
  {
    name: "run: a failure that the handler has caught counts for the threshold",
    file: "model/family-node.ts",
    in: "neededOf",
    find: "total - caught",
    replace: "total",
    test,
  },
];
