import { handle } from "hono/aws-lambda";
import { createLog } from "../src/aws/log.ts";
import { catalogTypes, dispatchPorts, dispatchSettings, newCorrelationId } from "../src/aws/wiring.ts";
import { fromEnv } from "../src/config.ts";
import { controlApi } from "../src/http/control.ts";

const ports = dispatchPorts(fromEnv(process.env, dispatchSettings));

export const handler = handle(
  controlApi({ ...ports, newCorrelationId, types: catalogTypes(process.env), log: createLog("control") }),
);
