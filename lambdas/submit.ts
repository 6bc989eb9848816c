import { newCorrelationId, newId } from "../src/aws/ids.ts";
import { createLog } from "../src/aws/log.ts";
import { measured } from "../src/aws/metrics.ts";
import { DynamoTenants } from "../src/aws/tenants.ts";
import { createTracing } from "../src/aws/tracing.ts";
import { catalogTypes, dispatchPorts, dispatchSettings, gateOf, gateSettings } from "../src/aws/wiring.ts";
import { fromEnv } from "../src/config.ts";
import { tenantNoter } from "../src/core/tenants.ts";
import { serve } from "../src/http/serve.ts";
import { submitApi } from "../src/http/submit.ts";

const config = fromEnv(process.env, [...dispatchSettings, ...gateSettings]);
const log = createLog("submit");
const ports = dispatchPorts(config, log);
const types = catalogTypes(process.env);
const tracing = await createTracing();
const gate = gateOf(config, ports);
const noteTenant = tenantNoter(new DynamoTenants(ports.documents, config.table), log);
const api = submitApi({ ...ports, newId, newCorrelationId, types, tracing, gate, noteTenant });

export const handler = measured(ports.metrics, serve(api));
