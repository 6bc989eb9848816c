import type { Mutation } from "./mutation.ts";

/** Each breaks a promise of receivers of webhooks. */
export const receiverMutations: readonly Mutation[] = [
  {
    name: "receivers: one whose first try failed is forgotten",
    file: "notify/notify.ts",
    in: "deliverToReceivers",
    find: "  if (failed !== undefined) throw failed.reason;\n",
    replace: "",
  },
  {
    name: "receivers: a disabled one has deliveries",
    file: "notify/receivers.ts",
    in: "asksFor",
    find: "  enabled && events.some((one) => one === event)",
    replace: "  enabled !== undefined && events.some((one) => one === event)",
  },
  {
    name: "receivers: those of one tenant are told of another's ends",
    file: "notify/notify.ts",
    in: "deliverToReceivers",
    find: "ports.receivers.list(notice.tenant_id)",
    replace: 'ports.receivers.list("acme")',
  },
  {
    name: "receivers: all of a tenant share one delivery",
    file: "notify/receivers.ts",
    in: "receiverDeliveryId",
    find: "JSON.stringify([endId, webhookId])",
    replace: "JSON.stringify([endId, webhookId.slice(0, 0)])",
  },
  {
    name: "receivers: a notice does not say that the tenant has some",
    file: "extras/notices/notices.ts",
    in: "endNotice",
    find: "    ...(receives && { receivers: true }),\n",
    replace: "    ...(receives && callback && { receivers: true }),\n",
  },
];
