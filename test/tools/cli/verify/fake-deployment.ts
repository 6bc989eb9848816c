import type { VerifiedAccount } from "../../../../src/aws/verified/verified-account.ts";
import { Admin, createClient } from "../../../../src/client/index.ts";
import { Transport } from "../../../../src/client/transport.ts";
import { Prober } from "../../../../src/tools/cli/prober.ts";
import type { Tools, VerifyClock } from "../../../../src/tools/cli/verify/check.ts";
import { readTarget, type Target } from "../../../../src/tools/cli/verify/target.ts";
import { VirtualClock } from "./virtual-clock.ts";

/** A submitted task, with the times at which it starts and ends. */
export interface FakeTask {
  task_id: string;
  type: string;
  priority: string;
  dueMs: number;
  startsMs: number;
  endsMs: number;
  cancelled: boolean;
}

interface Faults {
  /** Time from a task's due time to its start. Default: 500 ms. */
  lateMs?: (task: Pick<FakeTask, "type" | "priority"> & { index: number }) => number;
  /** Outcome of the first attempt of a task that crashes. Default: `crashed`. */
  crash?: string;
  /** Answers of the file store, in their order. */
  puts?: number[];
  /** State of the alarm by the number of dead letters. Default: on while there are some. */
  alarm?: (letters: number) => string | undefined;
  role?: string;
  types?: string[];
}

const probes = ["probe.echo", "probe.fail", "probe.crash", "probe.file", "probe.long"];
const iso = (ms: number) => new Date(ms).toISOString();

/** A deployment in memory, whose time is a clock's. */
export class FakeDeployment {
  readonly clock: VerifyClock;
  readonly tasks: FakeTask[] = [];
  readonly letters = new Set<string>();
  readonly #faults: Faults;
  readonly #puts: number[];

  constructor(faults: Faults = {}, clock: VerifyClock = new VirtualClock()) {
    this.clock = clock;
    this.#faults = faults;
    this.#puts = faults.puts ?? [403, 403, 400, 200, 412];
  }

  /** What checks of it get. */
  async tools({ account, long = false }: { account?: VerifiedAccount; long?: boolean } = {}): Promise<Tools> {
    const connection = { url: "http://fake.example", key: "a-key", fetch: this.#fetch };
    const client = createClient(connection);
    const target: Target = await readTarget({ client, connection, sample: undefined, account, long });
    const options = { tag: "verify", limitSeconds: 9_000, longestPauseMs: 2_000, mostTasks: 2_000 };
    return {
      ...{ target, clock: this.clock, startedAtMs: this.clock.now() },
      ...{ prober: new Prober(client, this.clock, options), admin: new Admin(connection) },
      transport: new Transport(connection),
    };
  }

  #fetch = async (url: string, { method, body }: RequestInit): Promise<Response> => {
    const { pathname } = new URL(url);
    if (method === "PUT") return new Response("", { status: this.#puts.shift() ?? 500 });
    const { status = 200, ...json } = this.#answer(pathname, typeof body === "string" ? JSON.parse(body) : undefined);
    return Response.json(json.json, { status });
  };

  #answer(path: string, body?: Record<string, unknown>): { status?: number; json: unknown } {
    const { role = "admin", types = probes, alarm = (letters) => (letters > 0 ? "alarm" : "ok") } = this.#faults;
    if (path === "/health") return { json: { status: "ok", version: "9.8.7" } };
    if (path === "/identity") return { json: { role, tenant_id: "t", principal: "p" } };
    if (path === "/types") return { json: { types: types.map((name) => ({ name })) } };
    if (path === "/uploads")
      return { status: 201, json: { upload_id: "u", url: "http://files.example/u", headers: {} } };
    if (path === "/alarms") {
      const state = alarm(this.letters.size);
      return { json: { alarms: state === undefined ? [] : [{ name: "Offload-dev-low-dead-letters", state }] } };
    }
    if (path.startsWith("/operations/")) return { json: { status: "completed", failed: 0 } };
    if (path.startsWith("/dead-letters")) return this.#letters(body as { task_ids: string[] } | undefined);
    if (path === "/tasks") return { status: 202, json: this.#submit(body ?? {}) };
    return { json: this.#task(path.split("/")) };
  }

  #letters(body: { task_ids: string[] } | undefined): { status?: number; json: unknown } {
    if (body === undefined) return { json: { dead_letters: [], next_cursor: null } };
    for (const id of body.task_ids) this.letters.delete(id);
    return { status: 202, json: { operation_id: "op", matched: 1 } };
  }

  #submit({ type, priority = "normal", delay_seconds = 0 }: Record<string, unknown>): { task_id: string } {
    const index = this.tasks.length;
    const named = { type: String(type), priority: String(priority), index };
    const dueMs = this.clock.now() + Number(delay_seconds) * 1000;
    const startsMs = dueMs + (this.#faults.lateMs?.(named) ?? 500);
    const task = { ...named, task_id: `task-${index}`, dueMs, startsMs, endsMs: startsMs + 100, cancelled: false };
    this.tasks.push(task);
    return { task_id: task.task_id };
  }

  #task([, , id, part]: string[]): unknown {
    const task = this.tasks.find(({ task_id }) => task_id === id);
    if (task === undefined) throw new Error(`no task ${id}`);
    if (part === "cancel") task.cancelled = true;
    if (part !== "attempts") return this.#view(task);
    const first = { outcome: this.#faults.crash ?? "crashed" };
    return { attempts: task.type === "probe.crash" ? [first, { outcome: "completed" }] : [{}] };
  }

  #view(task: FakeTask): unknown {
    const status = this.#statusOf(task);
    if (status === "failed" && !this.#seen.has(task.task_id)) this.letters.add(task.task_id);
    if (status !== "pending") this.#seen.add(task.task_id);
    return {
      ...{ task_id: task.task_id, type: task.type, error: null, result: null, status },
      attempts: task.type === "probe.crash" ? 2 : 1,
      ...{ created_at: iso(task.dueMs), run_at: iso(task.dueMs), started_at: iso(task.startsMs) },
      finished_at: iso(task.endsMs),
    };
  }

  #statusOf({ type, cancelled, endsMs }: FakeTask): string {
    if (cancelled) return "cancelled";
    if (this.clock.now() < endsMs) return "pending";
    return type === "probe.fail" ? "failed" : "completed";
  }

  /** Tasks whose end was asked for. */
  readonly #seen = new Set<string>();
}
