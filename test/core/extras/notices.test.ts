import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

test("code of notices that could not be loaded once is loaded with the next end", () => {
  const index = import.meta.resolve("../../../src/core/extras/notices/index.ts");
  const script = `
    import { registerHooks } from "node:module";
    let failures = 1;
    const load = (url, context, next) => {
      if (url.endsWith("/notices.ts") && failures-- > 0) throw new Error("EMFILE");
      return next(url, context);
    };
    registerHooks({ load });
    const { notices } = await import(${JSON.stringify(index)});
    const record = { status: "completed", type: "a.b", tenant_id: "t", task_id: "x", history: [], created_at: "2026-01-01" };
    const send = async (sent) => console.log(sent.length);
    const subscribers = { events: true, receives: async () => false, send };
    const end = () => notices.ended({ clock: { now: () => 0 }, notices: subscribers }, record);
    await end().catch(({ message }) => console.log(message));
    await end();`;
  expect(String(execFileSync(process.execPath, ["--input-type=module", "-e", script], { timeout: 20_000 }))).toBe(
    "EMFILE\n1\n",
  );
});
