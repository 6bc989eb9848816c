import { acceptedIn } from "./accepted.ts";
import type { Check, Finding } from "./finding.ts";

export const unregisteredType: Check = {
  id: "unregistered-type",
  title: "The API and the workers have the same task types",
  severities: ["critical", "medium"],
  find: ({ deployment, types }) => {
    const known = types.map(({ name }) => name);
    return acceptedIn(deployment).flatMap(({ accepted }) => [
      ...accepted.types.filter((name) => !known.includes(name)).map(unknownToWorkers),
      ...known.filter((name) => !accepted.types.includes(name)).map(notAccepted),
    ]);
  },
};

const unknownToWorkers = (name: string): Finding => ({
  severity: "critical",
  subject: `task ${name}`,
  found: "The API accepts it, but the workers do not know it: each task becomes a dead letter immediately.",
  fix: `Add the file tasks/${name}.ts, or remove the type from the pipeline's catalog.`,
});

const notAccepted = (name: string): Finding => ({
  severity: "medium",
  subject: `task ${name}`,
  found: "The workers know it, but the API does not accept it: no client can submit it.",
  fix: `Add it to the pipeline's catalog, or delete the file tasks/${name}.ts.`,
});

export const scheduleType: Check = {
  id: "schedule-type",
  title: "Each schedule and trigger of the app submits a type that the workers know",
  severities: ["high"],
  find: ({ deployment, types }) =>
    acceptedIn(deployment).flatMap(({ accepted: { schedules, triggers = {} } }) =>
      [
        { kind: "schedule", all: schedules, when: "each firing", file: "tasks/schedules.ts" },
        { kind: "trigger", all: triggers, when: "each event", file: "tasks/triggers.ts" },
      ].flatMap(({ kind, all, when, file }) =>
        Object.entries(all)
          .filter(([, type]) => !types.some(({ name }) => name === type))
          .map(([name, type]) => ({
            severity: "high" as const,
            subject: `${kind} ${name}`,
            found: `It submits ${type}, which the workers do not know: ${when} creates a dead letter.`,
            fix: `Add the file tasks/${type}.ts, or remove the ${kind} from ${file}.`,
          })),
      ),
    ),
};

export const catalogChecks: readonly Check[] = [unregisteredType, scheduleType];
