import type { Counters } from "../src/core/ports.ts";
import type { TaskType } from "../src/core/task.ts";
import invoiceGenerate from "./invoice.generate.ts";
import probeContext from "./probe.context.ts";
import probeCrash from "./probe.crash.ts";
import probeEcho from "./probe.echo.ts";
import probeFail from "./probe.fail.ts";
import probeOnce from "./probe.once.ts";
import probeSleep from "./probe.sleep.ts";

/** Your task types: add yours here. */
export const tasks: readonly TaskType[] = [invoiceGenerate];

/** Types that show how a deployment behaves; registered where `OFFLOAD_PROBES` is 1. */
export const probes = (counters: Counters): readonly TaskType[] => [
  probeEcho,
  probeSleep,
  probeFail,
  probeCrash,
  probeContext,
  probeOnce(counters),
];

/** For the catalogue, which describes types and runs none. */
const noCounters: Counters = {
  add: () => Promise.reject(new Error("the catalogue runs no task")),
};

/** The types that a deployment accepts. */
export const acceptedTypes = (withProbes: boolean): readonly TaskType[] =>
  withProbes ? [...tasks, ...probes(noCounters)] : tasks;
