import type { Mutation } from "./mutation.ts";

const test = "test/core/extras/on-failed.test.ts";
const file = "extras/on-failed/index.ts";

/** Each starts an `onFailed` too often, or not at all, or with something else. */
export const onFailedMutations: readonly Mutation[] = [
  {
    name: "onFailed: once a task, not once a round",
    file: "pipeline/end/on-failed-of.ts",
    find: "({ task_id, created_at, round }: TaskRecord)",
    replace: "({ task_id, created_at, parent_id: round }: TaskRecord)",
    test,
  },
  {
    name: "onFailed: it starts after every end",
    file,
    in: "start",
    find: 'if (record.status !== "failed" || record.buried_at !== undefined) return;',
    replace: "if (record.buried_at !== undefined) return;",
    test,
  },
  {
    name: "onFailed: a retry does not start what a death has left",
    file,
    find: "ended: start, beforeRound: start }",
    replace: "ended: start }",
    test,
  },
  {
    name: "onFailed: the end does not start it",
    file,
    find: "ended: start, beforeRound: start }",
    replace: "beforeRound: start }",
    test,
  },
  {
    name: "onFailed: without the input of the failed task",
    file: "extras/on-failed/start.ts",
    in: "startOnFailed",
    find: "if (stored !== undefined) {",
    replace: "if (stored === null) {",
    test,
  },
  {
    name: "onFailed: with the attempts of its submit",
    file: "extras/on-failed/start.ts",
    in: "callOf",
    find: "max_attempts: record.on_failed_attempts,",
    replace: "max_attempts: record.max_attempts,",
    test,
  },
  {
    name: "onFailed: an input that the schema refuses ends it",
    file: "pipeline/work/on-failed.ts",
    in: "inputFor",
    find: "if (error instanceof InvalidInput || error instanceof InputTooNew) return message.input;",
    replace: "if (error instanceof InputTooNew) return message.input;",
    test,
  },
  {
    name: "onFailed: of a sensitive type it is not sensitive",
    file: "pipeline/work/on-failed.ts",
    in: "typeOf",
    find: "sensitive: failed.sensitive, ",
    replace: "",
    test,
  },
];
