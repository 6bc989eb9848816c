import { createLog } from "../src/aws/log.ts";
import { dispatchPorts, dispatchSettings } from "../src/aws/wiring.ts";
import { fromEnv } from "../src/config.ts";
import { fireTask, readPayload } from "../src/core/fire.ts";

const ports = { ...dispatchPorts(fromEnv(process.env, dispatchSettings)), log: createLog("fire") };

/** Called by EventBridge Scheduler with a schedule's input. Throwing makes it fire again. */
export const handler = async (event: unknown): Promise<void> => {
  await fireTask(ports, readPayload(event));
};
