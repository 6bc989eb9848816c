import { handlerSchedules } from "../../../src/core/schedules/handler-schedules.ts";
import type { Part } from "../pipeline-ports.ts";

/** Schedules that handlers make. */
export const schedules: Part = { ports: (ports) => ({ handlerSchedules: handlerSchedules(ports) }) };
