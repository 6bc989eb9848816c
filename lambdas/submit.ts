import { handle } from "hono/aws-lambda";
import { createLog } from "../src/aws/log.ts";
import { catalogTypes, dispatchPorts, dispatchSettings, newCorrelationId, newId } from "../src/aws/wiring.ts";
import { fromEnv } from "../src/config.ts";
import { submitApi } from "../src/http/submit.ts";

const ports = dispatchPorts(fromEnv(process.env, dispatchSettings));
const types = catalogTypes(process.env);

export const handler = handle(submitApi({ ...ports, newId, newCorrelationId, types, log: createLog("submit") }));
