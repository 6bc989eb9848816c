import {
  type LinkBody,
  type LinkPorts,
  type SignalPorts,
  signal,
  signalByLink,
} from "../../core/extras/steps/signal.ts";
import type { CountRequest } from "../../core/limits/gate.ts";
import { Problem } from "../../core/model/problem.ts";
import type { ViewPorts } from "../../core/pipeline/end/view.ts";
import { checkSignal } from "../../core/task/handler-submit.ts";
import { changedTask } from "../acts/task.ts";
import { shown } from "./act-handlers.ts";
import { type ApiPorts, type HandlersOf, identify } from "./api.ts";
import { bodyBytes, largestBodyBytes, mediaTypeOf, optionalJsonValue, parseJson, textOf } from "./body.ts";
import type { ApiResponse, Call } from "./call.ts";
import { findTask } from "./find-task.ts";
import { idempotencyKeyOf } from "./submit-ports.ts";

export interface SignalRoutePorts extends SignalPorts, ViewPorts, ApiPorts {
  /** Absent: signals have no rate. */
  countRequest?: CountRequest;
}

/** The handler that sends a signal to a task. */
export const signalTask = (ports: SignalRoutePorts) =>
  ({
    signalTask: async (call) => {
      const record = await findTask(ports, call, identify(call));
      const name = call.req.params.name ?? "";
      // A wrong name is refused whatever the body is.
      checkSignal(name, null);
      const body = await optionalJsonValue(call);
      checkSignal(name, body);
      await ports.countRequest?.(record.tenant_id);
      return shown(
        call,
        await changedTask(ports, await signal(ports, record, name, body, idempotencyKeyOf(call)), 202),
      );
    },
  }) satisfies Partial<HandlersOf<"control">>;

/** The page of a link. It is the same for every link, so it tells nothing, and costs no read. */
const askPage = page(
  "Confirm",
  '<p>Press the button to send your answer.</p><form method="post"><button>Confirm</button></form>',
);
const donePage = page("Sent", "<p>Thank you. Your answer was sent.</p>");

function page(title: string, body: string): string {
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>`;
  return `<!doctype html><html lang="en"><head>${head}</head><body><main><h1>${title}</h1>${body}</main></body></html>`;
}

/** The handlers of links that send a signal without a key. */
export const signalLinks = (ports: LinkPorts) =>
  ({
    readSignalLink: (call) => answer(call, askPage, 200),
    sendSignalByLink: async (call) => {
      await signalByLink(ports, call.req.params.token ?? "", await bodyOf(call));
      return answer(call, donePage, 202);
    },
  }) satisfies Partial<HandlersOf<"control">>;

function answer(call: Call, html: string, status: 200 | 202): ApiResponse {
  call.header("cache-control", "no-store");
  // Mail programs and search engines that follow the link keep nothing of it.
  call.header("x-robots-tag", "noindex");
  call.header("content-type", "text/html; charset=UTF-8");
  return call.body(html, status);
}

async function bodyOf(call: Call): Promise<LinkBody> {
  const type = mediaTypeOf(call);
  if (type !== "application/x-www-form-urlencoded") return { json: await optionalJsonValue(call) };
  const form = new URLSearchParams(textOf(await bodyBytes(call, largestBodyBytes), "The body"));
  const names = new Set(form.keys());
  if (names.size > mostFields) throw new Problem("invalid_input", `A form has at most ${mostFields} fields.`);
  const fields = [...names].map((name) => {
    const values = form.getAll(name);
    return [name, values.length === 1 ? values[0] : values];
  });
  // With the checks of JSON.
  return { fields: parseJson(JSON.stringify(Object.fromEntries(fields))) as Record<string, unknown> };
}

/** Most fields of a form. */
const mostFields = 1_000;
