/* The task types, for typed clients: `createClient<typeof tasks>()`. */
export { default as orderConfirm } from "./order.confirm.ts";
export { default as orderInvoice } from "./order.invoice.ts";
export { default as orderStock } from "./order.stock.ts";
export { default as orderTrending } from "./order.trending.ts";
export { default as orderWebhook } from "./order.webhook.ts";
export { default as reportDaily } from "./report.daily.ts";
