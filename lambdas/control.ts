import { handle } from "hono/aws-lambda";
import { queueClient } from "../src/aws/clients.ts";
import { createLog } from "../src/aws/log.ts";
import { SqsQueueDepths } from "../src/aws/queue-depths.ts";
import { catalogTypes, dispatchPorts, dispatchSettings, newCorrelationId, newId } from "../src/aws/wiring.ts";
import { fromEnv } from "../src/config.ts";
import { internalTypes } from "../src/core/internal-types.ts";
import { controlApi } from "../src/http/control.ts";
import { addOperations } from "../src/http/operations.ts";
import { addQueues } from "../src/http/queues.ts";

const config = fromEnv(process.env, dispatchSettings);
const ports = {
  ...dispatchPorts(config),
  depths: new SqsQueueDepths(queueClient(), config.queueUrls, config.dlqUrls),
  newId,
  newCorrelationId,
  types: new Map([...catalogTypes(process.env), ...internalTypes]),
  log: createLog("control"),
};
const api = controlApi(ports);
addOperations(api, ports);
addQueues(api, ports);

export const handler = handle(api);
