import * as z from "zod";
import { parseLocalKeys } from "../../api/http/authorizer.ts";
import { parseLimits } from "../../core/limits/parse-limits.ts";
import { allowedHosts } from "../../settings/read-setting.ts";

/** Keys of a server without OFFLOAD_KEYS. They are no secrets: the documentation shows them. */
export const defaultKeys =
  "dev-acme:acme:operator,dev-globex:globex:operator,dev-acme-sub:acme:submitter,dev-admin:acme:admin";

const port = (fallback: number) => z.coerce.number().int().min(0).max(65_535).default(fallback);

const settingsSchema = z.object({
  OFFLOAD_TASKS: z.string().min(1).default("tasks"),
  PORT: port(3000),
  OFFLOAD_DYNAMODB_PORT: port(8000),
  OFFLOAD_SQS_PORT: port(9324),
  OFFLOAD_STATE_DIR: z.string().min(1).default(".offload"),
  OFFLOAD_KEYS: z.string().default(defaultKeys).superRefine(readable(parseLocalKeys)),
  OFFLOAD_TIME_SCALE: z.coerce.number().positive().max(1000).default(1),
  OFFLOAD_LIMITS: z.string().default("").superRefine(readable(parseLimits)),
  OFFLOAD_CALLBACK_HOSTS: z.string().default("").superRefine(readable(allowedHosts)),
  OFFLOAD_PROBES: z.enum(["0", "1"]).default("1"),
  OFFLOAD_TRACING: z.enum(["0", "1"]).default("0"),
  OFFLOAD_VERBOSE: z.enum(["0", "1"]).default("0"),
  OFFLOAD_SPANS_FILE: z.string().min(1).optional(),
  OFFLOAD_MOVE_DATE: z.enum(["0", "1"]).default("0"),
  OFFLOAD_CONTAINER_CONCURRENCY: z.coerce.number().int().min(0).max(1_000).default(4),
});

export type Variable = keyof z.infer<typeof settingsSchema>;

/** Checks only that a text can be read. The functions read it again. */
function readable(read: (text: string) => unknown) {
  return (text: string, context: z.RefinementCtx): void => {
    try {
      read(text);
    } catch (error) {
      const message = (error as Error).message.replace(/^OFFLOAD_KEYS: /, "");
      context.addIssue({ code: "custom", message });
    }
  };
}

interface Setting {
  /** Option of `offload dev` and `offload start`. It wins over the variable. */
  flag: string;
  meaning: string;
  /** Message for a wrong value, where zod's own is hard to understand. */
  expected?: string;
  /** Value of the variable that a flag without a value stands for. */
  stands?: "0" | "1";
}

const expectedPort = "expected a whole number from 0 to 65535";

/** The settings by their environment variables. `docs/develop.md` has this table. */
export const localSettings: Readonly<Record<Variable, Setting>> = {
  OFFLOAD_TASKS: { flag: "--tasks <folder>", meaning: "folder of the task types" },
  PORT: { flag: "--port <n>", meaning: "port of the API; 0 takes a free one", expected: expectedPort },
  OFFLOAD_DYNAMODB_PORT: { flag: "--dynamodb-port <n>", meaning: "port of DynamoDB", expected: expectedPort },
  OFFLOAD_SQS_PORT: { flag: "--sqs-port <n>", meaning: "port of SQS", expected: expectedPort },
  OFFLOAD_STATE_DIR: { flag: "--state <folder>", meaning: "folder of the state" },
  OFFLOAD_KEYS: { flag: "--keys <list>", meaning: "keys as `key:tenant:role`, with commas between them" },
  OFFLOAD_TIME_SCALE: {
    flag: "--time-scale <factor>",
    meaning: "factor for the waits between attempts, above 0, at most 1000; 0.01 makes 30 s 0.3 s",
    expected: "expected a number above 0 and up to 1000",
  },
  OFFLOAD_LIMITS: { flag: "--limits <json>", meaning: "limits of tenants and tiers, as JSON" },
  OFFLOAD_CALLBACK_HOSTS: {
    flag: "--callback-hosts <list>",
    meaning: "receivers of webhooks that need not be public nor use https, as `host:port`, with commas between them",
  },
  OFFLOAD_PROBES: {
    flag: "--no-probes",
    meaning: "leaves out types named `probe.*`, as the variable with the value 0 does",
    expected: "expected 0 or 1",
    stands: "0",
  },
  OFFLOAD_TRACING: {
    flag: "--trace",
    meaning: "saves the spans of requests and attempts for `offload trace`, as the variable with the value 1 does",
    expected: "expected 0 or 1",
    stands: "1",
  },
  OFFLOAD_VERBOSE: {
    flag: "--verbose",
    meaning: "logs every request, and whole ids, as the variable with the value 1 does",
    expected: "expected 0 or 1",
    stands: "1",
  },
  OFFLOAD_SPANS_FILE: { flag: "--spans-file <file>", meaning: "file of the spans" },
  OFFLOAD_MOVE_DATE: {
    flag: "--move-date",
    meaning: "handlers' `Date` has the server's time, when its clock is moved, as with the variable's value 1",
    expected: "expected 0 or 1",
    stands: "1",
  },
  OFFLOAD_CONTAINER_CONCURRENCY: {
    flag: "--container-concurrency <n>",
    meaning:
      "attempts of container types at the same time; 0 starts no worker for them, so that you run `offload work`",
    expected: "expected a whole number from 0 to 1000",
  },
};

/** Values that the command line gives, by the variables that they win over. */
export type Given = Partial<Record<Variable, string>>;

/** Name of a variable's flag, such as `--port`. */
export const flagOf = (variable: Variable): string => localSettings[variable].flag.split(" ")[0] ?? "";

/** Default of a setting as text. Undefined: it has none. */
export const defaultOf = (variable: Variable): string | undefined =>
  (({ ...settingsSchema.parse({}) }) as Partial<Record<Variable, unknown>>)[variable]?.toString();

/** The local server's settings, read from the environment. */
export interface LocalSettings {
  port: number;
  dynamodbPort: number;
  sqsPort: number;
  /** Folder of the server's data. Undefined: the data is in memory, and lost when the server stops. */
  stateDir: string | undefined;
  keys: string;
  timeScale: number;
  /** Limits of tenants and tiers, as JSON. Empty: none. */
  limits: string;
  /** Receivers of webhooks that need not be public, as `host:port`, with commas between them. Empty: none. */
  callbackHosts: string;
  probes: boolean;
  /** True when spans are recorded. */
  tracing: boolean;
  /** True when reads are logged, too, and ids whole. */
  verbose: boolean;
  /** File of the recorded spans. Undefined: `spans.jsonl` in the server's folder. */
  spansFile: string | undefined;
  /** Attempts of container types at the same time. 0: the server starts no worker for them. */
  containerConcurrency: number;
  /** True when `Date` has the server's time in handlers. */
  moveDate: boolean;
  /** True when the server follows changes of the task files. */
  reload?: boolean;
  /** Debugger port of the first tier's worker. Undefined: no debugger. */
  inspectPort?: number;
}

/**
 * Reads the settings from the environment and the command line.
 * @throws Error with one line that names the first wrong flag or variable
 */
export function readLocalSettings(env: NodeJS.ProcessEnv, ephemeral: boolean, flags: Given = {}): LocalSettings {
  const blank = Object.entries(flags).find(([, value]) => value.trim() === "")?.[0] as Variable | undefined;
  if (blank !== undefined) throw new Error(`${flagOf(blank)}: expected a value`);
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ""));
  const parsed = settingsSchema.safeParse({ ...set, ...flags });
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new Error(faultOf(issue?.path[0] as Variable, issue?.message ?? "is not valid", env, flags));
  }
  const values = parsed.data;
  return {
    port: values.PORT,
    dynamodbPort: values.OFFLOAD_DYNAMODB_PORT,
    sqsPort: values.OFFLOAD_SQS_PORT,
    stateDir: ephemeral ? undefined : values.OFFLOAD_STATE_DIR,
    keys: values.OFFLOAD_KEYS,
    timeScale: values.OFFLOAD_TIME_SCALE,
    limits: values.OFFLOAD_LIMITS,
    callbackHosts: values.OFFLOAD_CALLBACK_HOSTS,
    probes: values.OFFLOAD_PROBES === "1",
    tracing: values.OFFLOAD_TRACING === "1",
    verbose: values.OFFLOAD_VERBOSE === "1",
    spansFile: values.OFFLOAD_SPANS_FILE,
    containerConcurrency: values.OFFLOAD_CONTAINER_CONCURRENCY,
    moveDate: values.OFFLOAD_MOVE_DATE === "1",
  };
}

/** One line about a wrong value. It never shows keys. */
function faultOf(name: Variable, message: string, env: NodeJS.ProcessEnv, flags: Given): string {
  const isFlag = flags[name] !== undefined;
  const value = name === "OFFLOAD_KEYS" ? "" : `${isFlag ? " " : "="}${flags[name] ?? env[name]}`;
  return `${isFlag ? flagOf(name) : name}${value}: ${localSettings[name].expected ?? message}`;
}
