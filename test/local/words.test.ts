import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { listen } from "../../src/local/net/listen.ts";
import { Client } from "../support/http-client.ts";
import { startHere } from "../support/own-process-server.ts";
import { shownAfter } from "./words/shown.ts";

let server: Awaited<ReturnType<typeof startHere>>;
const answers: ServerResponse[] = [];
const model = createServer((request, response) => {
  request.resume();
  answers.push(response);
});

beforeAll(async () => {
  const MODEL_URL = `http://127.0.0.1:${await listen(model, 0)}/`;
  server = await startHere({ OFFLOAD_TASKS: "test/local/words/tasks", OFFLOAD_PROBES: "0", MODEL_URL });
}, 300_000);
afterAll(async () => {
  await server.close();
  model.closeAllConnections();
  model.close();
});

const longest = { timeout: 60_000, interval: 20 };

test("the words of a model reach a page while it speaks, and then the whole answer", { timeout: 400_000 }, async () => {
  const client = new Client(server.url, { token: "dev-acme", tenant: "acme", role: "operator" });
  const { url } = (await client.send("POST", "/channels", { body: {} })).json<{ url: string }>();
  const socket = new WebSocket(url);
  const messages: Parameters<typeof shownAfter>[1][] = [];
  let shown = "";
  socket.on("message", (data) => {
    messages.push(JSON.parse(String(data)));
    shown = shownAfter(shown, messages.at(-1) ?? { type: "none" });
  });
  await once(socket, "open");
  await client.submit("chat.answer", { question: "Where to?" });
  await expect.poll(() => answers.length, longest).toBe(1);
  // More than one progress has room for, in several scripts.
  const pieces = ["To Rome, ", "über Zürich 🚄 ".repeat(30), "と京都 ".repeat(60), 'or "home".\n'.repeat(40)];
  for (const [index, piece] of pieces.entries()) {
    answers[0]?.write(piece);
    const spoken = pieces.slice(0, index + 1).join("");
    await expect.poll(() => shown, longest).toBe(spoken);
  }
  const heard = messages.filter(({ progress_data }) => progress_data !== undefined);
  expect(heard.length).toBeGreaterThanOrEqual(pieces.length);
  answers[0]?.end("Goodbye");
  await expect.poll(() => messages.at(-1)?.type, longest).toBe("task.completed");
  expect(shown).toBe(`${pieces.join("")}Goodbye`);
  socket.close();
});

test("a page that missed a message has a gap until the whole answer is there", () => {
  const at = (start: number, words: string) => ({ type: "task.progress", progress_data: { at: start, words } });
  const begun = shownAfter("", at(0, "To Rome"));
  expect(shownAfter(begun, at(4, "ome, or"))).toBe("To Rome, or");
  expect(shownAfter(begun, at(12, "home"))).toBe("To Rome     home");
  expect(shownAfter(shownAfter(begun, at(12, "home")), at(7, ", or home."))).toBe("To Rome, or home.");
  // A new attempt begins anew.
  expect(shownAfter(begun, at(0, "T"))).toBe("T");
  expect(shownAfter(begun, { type: "task.completed", result: { text: "Rome" } })).toBe("Rome");
});
