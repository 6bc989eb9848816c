import type { SpawnPorts } from "../../../src/core/extras/children/page-writer.ts";
import type { FlowBook } from "../../../src/core/extras/limits/flow-book.ts";
import type { FlowPorts } from "../../../src/core/extras/limits/wait-queue-ports.ts";
import { isInternal, isOwnName } from "../../../src/core/model/internal-names.ts";
import type { TaskRecord } from "../../../src/core/model/record.ts";
import { isTerminal } from "../../../src/core/model/words.ts";
import type { SubmitPorts } from "../../../src/core/pipeline/submit/submit-ports.ts";
import type { Extra } from "../../../src/core/ports/extra.ts";
import type { Delivery } from "../../../src/core/ports/tasks.ts";
import type { DailyPorts } from "../../../src/core/schedules/deployed.ts";
import type { HandlerSchedules } from "../../../src/core/task/handler-submit.ts";
import type { Limiter } from "../../../src/core/task/limiter.ts";
import type { TaskMessage } from "../../../src/core/task/puller.ts";
import type { TaskType } from "../../../src/core/task/task.ts";
import type { MemoryStores } from "../../../src/memory/stores.ts";

/** The ports of parts. A pipeline without the part refuses the calls. */
export interface PartPorts
  extends Required<Pick<SubmitPorts, "submitUnique" | "supersede">>,
    Pick<SpawnPorts, "createChild" | "rejoinChild">,
    Pick<DailyPorts, "reconcile" | "lookAtLines"> {
  flow: FlowBook;
  limiter: Limiter<FlowPorts>;
  handlerSchedules: HandlerSchedules;
}

/** The extras that follow tasks, in the order in which their hooks are called. */
const order = ["unique", "collect", "history", "input", "entries", "notices", "on failed", "turn"];

/** Says which part a test needs that its pipeline does not have. What refuses may catch it, so it is said aloud, too: the run fails. */
export class Lacks {
  readonly ports: PartPorts;
  readonly #stores: MemoryStores;

  constructor(stores: MemoryStores) {
    this.#stores = stores;
    const unique = async () => this.#lack("unique");
    const children = async () => this.#lack("children");
    const rescue = async () => this.#lack("rescue");
    const schedules = async () => this.#lack("schedules");
    this.ports = {
      flow: new Proxy({} as FlowBook, { get: () => this.#lack("limits") }),
      limiter: {
        admit: async (_, message) => this.#mustBeFree(message),
        ofCrashed: async (_, message) => this.#mustBeFree(message),
        settled: async () => {},
        check: async () => this.#lack("limits"),
      },
      ...{ submitUnique: unique, supersede: unique, createChild: children, rejoinChild: children },
      ...{ reconcile: rescue, lookAtLines: rescue, handlerSchedules: { put: schedules, delete: schedules } },
    };
  }

  /** A message of Offload's own needs the types that work on it. */
  mayBeInternal(types: ReadonlyMap<string, TaskType>, { body }: Delivery): void {
    const { type } = envelopeIn(body);
    if (type !== undefined && isInternal({ type }) && !types.has(type)) this.#lack("operations");
  }

  /** The extras in the order of their hooks. A missing extra refuses the tasks that use it. */
  inOrder(given: ReadonlyMap<string, Extra>): Extra[] {
    return order.flatMap((name) => given.get(name) ?? this.#refusing.get(name) ?? []);
  }

  readonly #refusing: ReadonlyMap<string, Extra> = new Map([
    ["unique", this.#refusingField("unique", "unique_key")],
    ["on failed", this.#refusingField("onFailed", "on_failed_attempts")],
    ["turn", this.#refusingField("limits", "strict_line")],
    [
      "notices",
      {
        name: "notices",
        ended: async (_, record) => {
          const { notices } = this.#stores;
          if (!isTerminal(record.status) || isOwnName(record.type)) return;
          const isHeard = notices.events || record.callback !== undefined || (await notices.hears(record));
          if (isHeard || (await notices.receives(record.tenant_id))) this.#lack("notices");
        },
        changed: async (_, record) => {
          if (!isOwnName(record.type) && (await this.#stores.notices.hears(record))) this.#lack("notices");
        },
      },
    ],
  ]);

  #refusingField(part: string, field: keyof TaskRecord): Extra {
    const refuse = async () => this.#lack(part);
    return { name: part, field, keep: refuse, changed: refuse, ended: refuse };
  }

  async #mustBeFree({ envelope, ticket, type }: TaskMessage): Promise<undefined> {
    if (isInternal(envelope)) return undefined;
    const settings = await this.#stores.flowSettings.all();
    const isLimited = [type?.concurrency, type?.rateLimit, type?.breaker].some((option) => option !== undefined);
    // The message of an attempt that has crashed has a ticket, which names nothing unless a line has given it.
    const isOfLine = Object.keys(ticket ?? {}).length > 0;
    if (isLimited || isOfLine || settings.some(({ kind }) => kind !== "receivers")) this.#lack("limits");
    return undefined;
  }

  #lack(part: string): never {
    const error = new Error(`this pipeline has no ${part}: make it with pipelineWith(${part}), of test/support/parts`);
    void Promise.reject(error);
    throw error;
  }
}

function envelopeIn(body: string): { type?: string } {
  try {
    return JSON.parse(body);
  } catch {
    return {};
  }
}
