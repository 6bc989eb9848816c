import type { EndNotice } from "./notice.ts";
import type { OutgoingEvent } from "./ports.ts";
export const eventOf = (notice: EndNotice): OutgoingEvent => ({ detailType: notice.task.status, detail: {}, time: "" });
