import * as tasks from "../src/api/acts/task-acts.ts";
import { handlersOf } from "../src/api/http/act-handlers.ts";
import { apiOf, withLazy } from "../src/api/http/api.ts";
import { audited } from "../src/api/http/audit.ts";
import { operationStarts } from "../src/api/http/bulk.ts";
import { serve } from "../src/api/http/serve.ts";
import { DynamoAuditLog } from "../src/aws/audit-log.ts";
import { answersWithin, apiMs } from "../src/aws/call-times.ts";
import { catalogTypes } from "../src/aws/catalog-types.ts";
import { endingPorts } from "../src/aws/ending-ports.ts";
import { newCorrelationId, newId } from "../src/aws/ids.ts";
import { lazyCountRequest } from "../src/aws/lazy-count-request.ts";
import { lazyForgetResult } from "../src/aws/lazy-forget-result.ts";
import { createLog } from "../src/aws/log.ts";
import { observed } from "../src/aws/observed.ts";
import { DynamoStepStore } from "../src/aws/step-store.ts";
import { DynamoTenants } from "../src/aws/tenants.ts";
import { createTracing } from "../src/aws/tracing.ts";
import { dispatchPorts, dispatchSettings, gateSettings } from "../src/aws/wiring.ts";
import { internalTypes } from "../src/core/task/internal-types.ts";
import { fromEnv } from "../src/settings/config.ts";
import type { ControlPorts } from "./rare/control.ts";

const config = fromEnv(process.env, [...dispatchSettings, ...gateSettings, "firingsUrl"]);
const base = dispatchPorts(config, createLog("control"));
const { table } = base;
const steps = new DynamoStepStore(table);
const tenants = new DynamoTenants(table);
const types = catalogTypes(process.env);
const ports: ControlPorts = {
  ...base,
  config,
  newId,
  newCorrelationId,
  audit: new DynamoAuditLog(table),
  steps,
  ...endingPorts(table, steps),
  types: new Map([...types, ...internalTypes]),
  ownTypes: types,
  tracing: await createTracing(),
  forgetResult: lazyForgetResult(table),
  countRequest: lazyCountRequest(config, base),
  tenants,
};
const usual = { ...handlersOf(ports, tasks.acts()), ...operationStarts(ports) };
const handlers = withLazy("control", usual, async () => (await import("./rare/control.ts")).rareRoutes(ports));

export const handler = answersWithin(
  apiMs,
  observed(ports, serve(apiOf("control", ports, audited("control", ports, handlers)))),
);
