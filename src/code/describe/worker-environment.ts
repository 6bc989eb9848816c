import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import type { TaskEnvironment } from "../../core/task/environment.ts";
import type { Values } from "./describe-code.ts";
import { setVariable } from "./set-variable.ts";

type Variables = Readonly<Record<string, string | undefined>>;

/** Variables of Offload, AWS, Lambda and Node, which workers always get. */
const keptPrefixes = ["OFFLOAD_", "AWS_", "LAMBDA_", "NODE_", "POWERTOOLS_", "OTEL_", "LC_"];

/**
 * Variables of the machine, which workers always get: paths, language, proxies, certificates, and the terminal's
 * colours.
 */
const keptNames = new Set([
  ...["PATH", "HOME", "USER", "SHELL", "PWD", "TMPDIR", "TEMP", "TMP", "LANG", "TZ", "TERM", "COLORTERM"],
  ...["NO_COLOR", "FORCE_COLOR", "CI", "SSL_CERT_FILE", "SSL_CERT_DIR", "LD_LIBRARY_PATH"],
  ...["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"],
  ...["SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "OS"],
  ...["USERPROFILE", "USERNAME", "USERDOMAIN", "HOMEDRIVE", "HOMEPATH", "LOGONSERVER", "COMPUTERNAME", "PUBLIC"],
  ...["PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)"],
  ...["NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "PROCESSOR_IDENTIFIER", "PSMODULEPATH"],
]);

/** True for variables that belong to the machine, Node, AWS or Offload, not to handlers. */
const isKept = (name: string): boolean =>
  keptPrefixes.some((prefix) => name.startsWith(prefix)) || keptNames.has(name.toUpperCase());

/** Environment of the local workers' handlers. */
export interface WorkerEnvironment {
  /** Values of the declared variables and secrets. */
  values: Record<string, string>;
  /** Declared names without a value. */
  missing: string[];
  /** Names in `.env` that are not declared. Workers do not get them. */
  undeclared: string[];
  /** Names in `.env` of the machine, Node, AWS or Offload, which are read from the shell only. */
  shellOnly: string[];
}

/**
 * Values of declared names: from the shell, else from `.env`, else from the declaration. Secrets are never read from
 * AWS.
 */
export function workerEnvironment(
  { variables, secrets }: TaskEnvironment,
  shell: Variables,
  dotEnv: Variables,
): WorkerEnvironment {
  const names = [...Object.keys(variables), ...Object.keys(secrets)];
  const given = (name: string) => shell[name] ?? dotEnv[name] ?? variables[name];
  const found = names.flatMap((name): [string, string][] => {
    const value = given(name);
    return value === undefined ? [] : [[name, value]];
  });
  return {
    values: Object.fromEntries(found),
    missing: names.filter((name) => given(name) === undefined),
    undeclared: Object.keys(dotEnv).filter((name) => !names.includes(name) && !isKept(name)),
    shellOnly: Object.keys(dotEnv).filter((name) => !names.includes(name) && isKept(name)),
  };
}

/**
 * Returns values of declared names on this machine, for code that is only loaded. A name without a value has none here
 * either.
 */
export const localValues =
  (shell: Variables) =>
  (declared: TaskEnvironment): Values => ({
    values: workerEnvironment(declared, shell, readDotEnv()).values,
    placeholders: {},
  });

/** The key of webhook secrets. Workers have it nowhere: handlers run in them. */
const webhookKey = "OFFLOAD_WEBHOOK_KEY";

/** Variables of a process that its workers get even if they are not declared. */
export const keptVariables = (env: Variables): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => isKept(name) && name !== webhookKey));

/** Reads the project's `.env`. Without the file there are no variables. */
export const readDotEnv = (path = ".env"): Variables => (existsSync(path) ? parseEnv(readFileSync(path, "utf8")) : {});

/** Names that a program reads as variables by convention; not `toJSON` and the like. */
const variableName = /^[A-Z][A-Z0-9_]*$/;

/**
 * Wraps an environment to report reads of variables that it does not have: reads by the project's own code, and all
 * reads of `undeclared` names. Libraries look for many variables that nobody has to set.
 */
export function watched(
  env: NodeJS.ProcessEnv,
  undeclared: readonly string[],
  report: (name: string) => void,
): NodeJS.ProcessEnv {
  const get = (target: NodeJS.ProcessEnv, name: string | symbol) => {
    const value = Reflect.get(target, name) as string | undefined;
    if (value !== undefined || typeof name !== "string" || isKept(name)) return value;
    if (undeclared.includes(name) || (variableName.test(name) && isProjectCode(callerOf(get)))) report(name);
    return value;
  };
  return new Proxy(env, { get, set: setVariable });
}

/** Line of the stack for the caller of a function. */
function callerOf(callee: (...args: never[]) => unknown): string {
  const holder: { stack?: string } = {};
  Error.captureStackTrace(holder, callee);
  return holder.stack?.split("\n")[1] ?? "";
}

const isProjectCode = (line: string): boolean => !/node_modules[/\\]|\(?node:/.test(line);
