export { default as eventsStore } from "./events.store.ts";
export { default as invoiceGenerate } from "./invoice.generate.ts";
export { default as linkCheck } from "./link.check.ts";
export { default as mailSend } from "./mail.send.ts";
export { default as postPublish } from "./post.publish.ts";
export { default as reportAll } from "./report.all.ts";
export { default as reportDaily } from "./report.daily.ts";
export { default as reportMake } from "./report.make.ts";
