import { newCorrelationId, newId } from "../src/aws/ids.ts";
import { createLog } from "../src/aws/log.ts";
import { DynamoTenants } from "../src/aws/tenants.ts";
import { catalogTypes, dispatchPorts, dispatchSettings, gateOf, gateSettings } from "../src/aws/wiring.ts";
import { fromEnv } from "../src/config.ts";
import { tenantNoter } from "../src/core/tenants.ts";
import { serve } from "../src/http/serve.ts";
import { submitApi } from "../src/http/submit.ts";

const config = fromEnv(process.env, [...dispatchSettings, ...gateSettings]);
const ports = dispatchPorts(config);
const types = catalogTypes(process.env);
const log = createLog("submit");
const gate = gateOf(config, ports, log);
const noteTenant = tenantNoter(new DynamoTenants(ports.documents, config.table), log);

export const handler = serve(submitApi({ ...ports, newId, newCorrelationId, types, log, gate, noteTenant }));
