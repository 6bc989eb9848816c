import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Call, upload } from "./kinds.ts";

/** A request with headers of its own. Returns its body's text. */
export type Ask = (method: string, path: string, body?: object, more?: Record<string, string>) => Promise<string>;

interface Schedule {
  name: string;
  enabled: boolean;
  next_run_at: string | null;
}

const schedules = [
  { name: "minutes", every_seconds: 60, task: { type: "two.tick", input: {} } },
  { name: "skips", every_seconds: 60, overlap: "skip", task: { type: "two.tick", input: { ms: 70_000 } } },
  { name: "daily", cron: "0 2 * * *", timezone: "Europe/Berlin", task: { type: "two.tick", input: {} } },
  { name: "paused", enabled: false, every_seconds: 60, task: { type: "two.tick", input: {} } },
];

const limits = { submits_per_second: 50, burst: 70 };

/** Keys, limits, schedules and the like of a deployment: one release makes them, and another one is asked for them. */
export class Kept {
  readonly #call: Call;
  readonly #ask: Ask;
  #key = "";
  #upload = "";
  #repeated = "";
  #encrypted = "";

  constructor(call: Call, ask: Ask) {
    this.#call = call;
    this.#ask = ask;
  }

  async make(hook: string): Promise<void> {
    const call = this.#call;
    const { key } = await call<{ key: string }>("POST", "/keys", { role: "operator", label: "night" }, "dev-admin");
    this.#key = key;
    await call("PATCH", "/tenants/globex/limits", limits, "dev-admin");
    await call("POST", "/queues/low/pause", {}, "dev-admin");
    await call("POST", "/webhooks", { url: hook });
    for (const schedule of schedules) await call("POST", "/schedules", schedule);
    this.#upload = await upload(call, 1_000);
    this.#repeated = await this.#repeat();
    const algorithm = { name: "ECDH", namedCurve: "P-256" };
    const { publicKey } = await webcrypto.subtle.generateKey(algorithm, true, ["deriveBits"]);
    const { kty, crv, x, y } = await webcrypto.subtle.exportKey("jwk", publicKey);
    const encrypted = { type: "two.echo", input: { n: 1 }, result_key: { kty, crv, x, y }, delay_seconds: 30 };
    this.#encrypted = (await call<{ task_id: string }>("POST", "/tasks", encrypted)).task_id;
  }

  /** The ids of the tasks that it made, each of which runs once. */
  get tasks(): string[] {
    return [this.#repeated, this.#encrypted];
  }

  /** The upload, which nothing has used yet. */
  get upload(): string {
    return this.#upload;
  }

  async #repeat(): Promise<string> {
    const body = { type: "two.echo", input: { n: 5 }, delay_seconds: 30 };
    return (JSON.parse(await this.#ask("POST", "/tasks", body, { "idempotency-key": "one" })) as { task_id: string })
      .task_id;
  }

  async goOn(): Promise<void> {
    await this.#call("POST", "/queues/low/resume", {}, "dev-admin");
  }

  async check(): Promise<void> {
    const call = this.#call;
    const { tenant_id } = await call<{ tenant_id: string }>("GET", "/identity", undefined, this.#key);
    assert.ok(tenant_id, "the key is known");
    const kept = await call<{ limits: object }>("GET", "/tenants/globex/limits", undefined, "dev-admin");
    assert.deepEqual(kept.limits, limits);
    const { schedules: found } = await call<{ schedules: Schedule[] }>("GET", "/schedules");
    const names = (list: readonly { name: string }[]) => list.map(({ name }) => name).sort();
    assert.deepEqual(names(found), names(schedules));
    for (const { name, enabled, next_run_at } of found) assert.equal(next_run_at !== null, enabled, name);
    assert.equal(await this.#repeat(), this.#repeated, "a repeat is the task that it was");
    const token = await this.#ask("GET", `/tasks/${this.#encrypted}/result`);
    assert.equal(token.split(".").length, 5, "the result is encrypted");
    const times = await this.#firings(3);
    assert.equal(new Set(times).size, times.length, "no time fires twice");
  }

  /** The times that have fired, of each schedule. Waits until there are so many of them. */
  async #firings(least: number): Promise<string[]> {
    for (let tries = 0; ; tries++) {
      const path = "/tasks?type=two.tick&limit=100";
      const { tasks } = await this.#call<{ tasks: { scheduled_for: string; schedule_id: string }[] }>("GET", path);
      if (tasks.length >= least)
        return tasks.map(({ schedule_id, scheduled_for }) => `${schedule_id} ${scheduled_for}`);
      assert.ok(tries < 180, "the schedules fire");
      await sleep(1_000);
    }
  }

  /** Ends the schedules and their tasks, so that a move of the clock is short. */
  async endSchedules(): Promise<void> {
    const { schedules: found } = await this.#call<{ schedules: { schedule_id: string }[] }>("GET", "/schedules");
    for (const { schedule_id } of found) await this.#call("DELETE", `/schedules/${schedule_id}`);
    await this.#call("POST", "/tasks/cancel", { filter: { type: "two.tick" } });
  }
}
