import { auditListSchema } from "../http/audit.ts";
import { metricsSchema } from "../http/metrics.ts";
import { tenantListSchema } from "../http/tenant-routes.ts";
import { described, notModified, page } from "./describe.ts";

/** The routes of the service, and of what it measured and noted. */
export const serviceTexts = described("service", {
  readHealth: {
    summary: "Check the service",
    answers: { 200: ["Health", "A submit would work.", []] },
  },
  readOpenApi: {
    summary: "Read this document",
    parameters: ["If-None-Match"],
    answers: { 200: ["OpenApi", "This document.", ["ETag", "Cache-Control"]], 304: notModified },
  },
  readIdentity: {
    summary: "Read who the caller is",
    answers: { 200: ["Identity", "The caller."] },
  },
  readMetrics: {
    summary: "Read what the deployment measured",
    description:
      "The metrics of all tenants together, by tier: tasks submitted, completed, failed and retried, waits in the queue, times of attempts. Each request " +
      "reads 28 metrics of CloudWatch, which costs $0.00028. The local server keeps its metrics in memory, from its start.",
    role: "admin",
    query: metricsSchema,
    answers: { 200: ["Metrics", "The measurements."] },
  },
  listDeployments: {
    summary: "List the newest deployments",
    description:
      "The newest 50 of the last 90 days. They are the same for all tenants. A start or reload of the local server counts as one.",
    role: "viewer",
    answers: { 200: ["DeploymentList", "The deployments."] },
  },
  listAlarms: {
    summary: "List the deployment's alarms",
    description: "The local server has none.",
    role: "admin",
    answers: { 200: ["AlarmList", "The alarms."] },
  },
  listAudit: {
    summary: "List what operators and admins changed",
    description: `The changes of the last 400 days, newest first. \`scope=deployment\`, for admins, lists the changes that concern all tenants. ${page}`,
    role: "viewer",
    query: auditListSchema,
    answers: { 200: ["AuditList", "One page of entries."] },
  },
});

/** The routes of tenants and keys. */
export const tenantTexts = described("tenants", {
  listKeys: {
    summary: "List the API keys of a tenant",
    description: "Of the caller's tenant, or of the one that `tenant` names. The list never has their secrets.",
    role: "admin",
    answers: { 200: ["KeyList", "The keys."] },
  },
  listTenants: {
    summary: "List the tenants",
    description: `Lists the tenants that have a key or have submitted a task. ${page}`,
    role: "admin",
    query: tenantListSchema,
    answers: { 200: ["TenantList", "One page of tenants."] },
  },
});
