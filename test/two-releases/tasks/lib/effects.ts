import { appendFileSync, existsSync, writeFileSync } from "node:fs";

const { EFFECTS_FILE = "", EFFECTS_RELEASE, EFFECTS_ENVIRONMENT, OFFLOAD_TIER } = process.env;

// The workers of the other release get the environment of one of these.
if (EFFECTS_ENVIRONMENT && OFFLOAD_TIER !== undefined && !existsSync(EFFECTS_ENVIRONMENT))
  writeFileSync(EFFECTS_ENVIRONMENT, JSON.stringify(process.env));

/** Notes one effect of a task. */
export const effect = ({ taskId }: { taskId: string }, what: string, more: object = {}): void =>
  appendFileSync(
    EFFECTS_FILE,
    `${JSON.stringify({ at: Date.now(), release: EFFECTS_RELEASE, task: taskId, what, ...more })}\n`,
  );
