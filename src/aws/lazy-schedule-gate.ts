import type { SubmitGate } from "../core/limits/gate.ts";
import type { gateOf } from "./gate.ts";

/**
 * The gate for the tasks of schedules. Its code loads with the first of them: most calls of fire dispatch a delayed
 * task.
 */
export function lazyScheduleGate(...given: Parameters<typeof gateOf>): SubmitGate {
  let gate: Promise<SubmitGate> | undefined;
  const loaded = () => {
    gate ??= import("./gate.ts").then(({ scheduleGateOf }) => scheduleGateOf(...given));
    return gate;
  };
  return {
    admit: async (request) => (await loaded()).admit(request),
    admitUpload: async (...upload) => (await loaded()).admitUpload(...upload),
    takeUpload: async (...upload) => (await loaded()).takeUpload(...upload),
  };
}
