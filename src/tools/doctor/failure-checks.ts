import type { ErrorKind } from "../../core/model/errors.ts";
import { firstPlaceIn } from "../../core/model/stack.ts";
import type { Check, Failure, Finding } from "./finding.ts";

/** Errors that JavaScript throws for wrong code. A network error has its own code, such as `ECONNREFUSED`. */
const codeErrors = [
  "TypeError",
  "ReferenceError",
  "RangeError",
  "SyntaxError",
  "EvalError",
  "URIError",
  "AssertionError",
];

/** Codes of connections that could not be made, or were closed. */
const networkErrors =
  /^(E(CONNREFUSED|CONNRESET|CONNABORTED|HOSTDOWN|HOSTUNREACH|NOTFOUND|AI_AGAIN|PIPE|TIMEDOUT)|UND_ERR_\w+)$/;

const adviceByKind: Readonly<Record<ErrorKind, string>> = {
  transient: "Find the cause at that place, and fix it",
  rate_limited: "The other service limits the rate: lower the tier's concurrency, or raise the waits in `retry`",
  conflict: "Something else changes the same data: let the handler read it again before it writes",
  unavailable: "The other service is down, or longer than the retries last: raise `maxAttempts`",
  not_found: "The other service does not have what the task names: check the input",
  validation: "The input, or a request made from it, is not valid: check the input, or the version of the type",
  business_rule: "A person has to decide: these tasks have `needs_review`",
  permanent: "The handler gave up: read the error",
  crashed: "The worker died: check the memory of its function, and the size of what the handler loads",
  children_failed: "Look at the children's own dead letters",
  timed_out: "Raise `timeoutSeconds`, or split the work, or find what hangs",
};

/** Advice for what ended a process. */
const adviceByType: Readonly<Record<string, string>> = {
  EventLoopBlocked:
    "The code at that place never gives the event loop back: it loops for ever, or waits in a synchronous call",
  ProcessExited: "The code at that place ends the worker's process: throw an error instead of calling `process.exit`",
  OutOfMemory: "Raise the memory of the worker, or let the code at that place keep less at a time",
};

export const failures: Check = {
  id: "failures",
  title: "No task has failed permanently",
  severities: ["high", "medium"],
  needs: "failures",
  find: ({ failures: found = [] }) => [...groupsOf(found).values()].map(findingOf),
};

/** Failures with the same task type and the same error, in the order of the first of each. */
function groupsOf(all: readonly Failure[]): Map<string, Failure[]> {
  const groups = new Map<string, Failure[]>();
  for (const one of all) {
    const name = `${one.type} ${one.error_type} ${one.error_kind}`;
    groups.set(name, [...(groups.get(name) ?? []), one]);
  }
  return groups;
}

function findingOf(group: readonly Failure[]): Finding {
  const [{ type, error, error_type: name, error_kind: kind, stack } = emptyFailure] = group;
  const place = firstPlaceIn(stack);
  const count = group.length === 1 ? "1 dead letter" : `${group.length} dead letters`;
  const at = place === undefined ? "" : ` at ${place}`;
  const isCode = codeErrors.includes(name ?? "");
  return {
    severity: isCode ? "high" : "medium",
    subject: `task ${type}`,
    found: `${count} of kind ${kind} with ${name}${at}: ${error ?? "no message"}`,
    fix: `${adviceFor(name, kind)}. Then replay: \`npx offload dlq replay --type ${type} --error-type ${name}\`.`,
  };
}

const emptyFailure: Failure = { type: "", error: null, error_type: null, error_kind: null, stack: null };

function adviceFor(name: string | null, kind: ErrorKind | null): string {
  if (codeErrors.includes(name ?? "")) return "This is an error in the code of the task type: fix it there, and deploy";
  if (networkErrors.test(name ?? "")) {
    return "The connection to the other service failed: check its address, the VPC's routes and the security groups";
  }
  return adviceByType[name ?? ""] ?? adviceByKind[kind ?? "transient"];
}

export const failureChecks: readonly Check[] = [failures];
