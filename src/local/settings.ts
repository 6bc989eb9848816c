import * as z from "zod";
import { parseLimits } from "../core/limits/limits.ts";

/** Keys of a server without OFFLOAD_KEYS. They are no secrets: the documentation shows them. */
export const defaultKeys =
  "dev-acme:acme:operator,dev-globex:globex:operator,dev-acme-sub:acme:submitter,dev-admin:acme:admin";

const port = (fallback: number) => z.coerce.number().int().min(0).max(65_535).default(fallback);

const settingsSchema = z.object({
  PORT: port(3000),
  OFFLOAD_DYNAMODB_PORT: port(8000),
  OFFLOAD_SQS_PORT: port(9324),
  OFFLOAD_STATE_DIR: z.string().min(1).default(".offload"),
  OFFLOAD_KEYS: z.string().default(defaultKeys),
  OFFLOAD_TIME_SCALE: z.coerce.number().positive().max(1000).default(1),
  OFFLOAD_PROBES: z.enum(["0", "1"]).default("1"),
  OFFLOAD_TRACING: z.enum(["0", "1"]).default("0"),
  OFFLOAD_SPANS_FILE: z.string().min(1).optional(),
  OFFLOAD_LIMITS: z.string().optional().superRefine(checkLimits),
});

/** Checks only that the limits can be read. The functions read them again. */
function checkLimits(text: string | undefined, context: z.RefinementCtx): void {
  try {
    parseLimits(text ?? "");
  } catch (error) {
    context.addIssue({ code: "custom", message: (error as Error).message });
  }
}

const expectedPort = "expected a whole number from 0 to 65535";

/** Error messages for variables whose own message from zod is hard to understand. */
const expectations: Record<string, string> = {
  PORT: expectedPort,
  OFFLOAD_DYNAMODB_PORT: expectedPort,
  OFFLOAD_SQS_PORT: expectedPort,
  OFFLOAD_TIME_SCALE: "expected a number above 0 and up to 1000",
  OFFLOAD_PROBES: "expected 0 or 1",
  OFFLOAD_TRACING: "expected 0 or 1",
};

/** The local server's settings, read from the environment. */
export interface LocalSettings {
  port: number;
  dynamodbPort: number;
  sqsPort: number;
  /** Folder of the server's data. Undefined: the data is in memory, and lost when the server stops. */
  stateDir: string | undefined;
  keys: string;
  timeScale: number;
  probes: boolean;
  /** True when spans are recorded. */
  tracing: boolean;
  /** File of the recorded spans. Undefined: `spans.jsonl` in the server's folder. */
  spansFile: string | undefined;
  /** True when the server follows changes of the task files. */
  reload?: boolean;
  /** Debugger port of the first tier's worker. Undefined: no debugger. */
  inspectPort?: number;
}

/** @throws Error with one line that names the first variable that is wrong */
export function readLocalSettings(env: NodeJS.ProcessEnv, ephemeral: boolean): LocalSettings {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ""));
  const parsed = settingsSchema.safeParse(given);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const name = String(issue?.path[0]);
    throw new Error(`${name}=${env[name]}: ${expectations[name] ?? issue?.message}`);
  }
  const values = parsed.data;
  return {
    port: values.PORT,
    dynamodbPort: values.OFFLOAD_DYNAMODB_PORT,
    sqsPort: values.OFFLOAD_SQS_PORT,
    stateDir: ephemeral ? undefined : values.OFFLOAD_STATE_DIR,
    keys: values.OFFLOAD_KEYS,
    timeScale: values.OFFLOAD_TIME_SCALE,
    probes: values.OFFLOAD_PROBES === "1",
    tracing: values.OFFLOAD_TRACING === "1",
    spansFile: values.OFFLOAD_SPANS_FILE,
  };
}
