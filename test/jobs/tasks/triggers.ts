import { defineTrigger } from "offload/triggers";

const eventOf = (name: string) => ({ source: ["app"], "detail-type": [name] });

export default [
  defineTrigger({
    name: "users.reinstalled",
    pattern: { source: ["app"], "detail-type": ["App Installed", "App Uninstalled"] },
    tenantId: "$.detail.tenant",
    cancel: { type: "users.sync", key: "$.detail.organisation" },
  }),
  defineTrigger({
    name: "ticket.replied",
    pattern: eventOf("Customer Reply"),
    tenantId: "$.detail.tenant",
    signal: { type: "ticket.answer", key: "$.detail.ticket", name: "reply" },
  }),
];
