import { acceptedIn } from "./accepted.ts";
import type { Check, Finding } from "./finding.ts";

export const unregisteredType: Check = {
  id: "unregistered-type",
  title: "The API takes the types that the workers know, and the other way round",
  severities: ["critical", "medium"],
  find: ({ deployment, types, unlisted = [] }) => {
    const known = types.map(({ name }) => name);
    return [
      ...acceptedIn(deployment).flatMap(({ accepted }) => [
        ...accepted.types.filter((name) => !known.includes(name)).map(unknownToWorkers),
        ...known.filter((name) => !accepted.types.includes(name)).map(notAccepted),
      ]),
      ...unlisted.map(notListed),
    ];
  },
};

const unknownToWorkers = (name: string): Finding => ({
  severity: "critical",
  subject: `task ${name}`,
  found: "The API takes it, and the workers do not know it: each task is a dead letter at once.",
  fix: "Add it to `tasks` in tasks/index.ts, or take it out of the pipeline's catalog.",
});

const notAccepted = (name: string): Finding => ({
  severity: "medium",
  subject: `task ${name}`,
  found: "The workers know it, and the API does not take it: nobody can submit it.",
  fix: "Add it to the pipeline's catalog, or take it out of tasks/index.ts.",
});

const notListed = (name: string): Finding => ({
  severity: "medium",
  subject: `task ${name}`,
  found: "Its file is in tasks/, and tasks/index.ts does not list it: it is no part of the app.",
  fix: "Add it to `tasks` in tasks/index.ts, or delete the file.",
});

export const scheduleType: Check = {
  id: "schedule-type",
  title: "Each schedule of the app submits a type that the workers know",
  severities: ["high"],
  find: ({ deployment, types }) =>
    acceptedIn(deployment).flatMap(({ accepted }) =>
      Object.entries(accepted.schedules)
        .filter(([, type]) => !types.some(({ name }) => name === type))
        .map(([schedule, type]) => ({
          severity: "high",
          subject: `schedule ${schedule}`,
          found: `It submits ${type}, which the workers do not know: each firing makes a dead letter.`,
          fix: "Add the type to `tasks` in tasks/index.ts, or take the schedule out of tasks/schedules.ts.",
        })),
    ),
};

export const catalogChecks: readonly Check[] = [unregisteredType, scheduleType];
