import { breakersPrefix } from "../core/model/wait-queue.ts";
import type {
  Breaker,
  FlowSetting,
  FlowSettings,
  Pause,
  ReceiversMark,
  ResumeGuard,
  SomeSettings,
  TypeLimits,
} from "../core/ports/flow.ts";
import { JoinedReads } from "../util/joined-reads.ts";
import { type DynamoTable, type Item, isKnown } from "./dynamo-table.ts";
import { keys } from "./table.ts";

/** All settings are in one partition. */
const ofAll = { KeyConditionExpression: "pk = :pk", ExpressionAttributeValues: { ":pk": keys.flowSetting("").pk } };

/** Settings of flow in DynamoDB: one item each, in one partition. */
export class DynamoFlowSettings implements FlowSettings {
  readonly #table: DynamoTable;
  /** A batch of tasks that a pause stops reads it once or twice. */
  readonly #found = new JoinedReads<Item | undefined>();

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async all(): Promise<FlowSetting[]> {
    return (await this.#table.all(ofAll, "any")).map(settingOf);
  }

  /** Reads from the end of the partition: its first items are the breakers. */
  async some(max: number): Promise<SomeSettings> {
    const items: Item[] = [];
    let last: Item | undefined;
    do {
      const from = last === undefined ? {} : { ExclusiveStartKey: last };
      const page = await this.#table.page({ ...ofAll, ScanIndexForward: false, Limit: max, ...from }, "any");
      items.push(...page.items);
      last = page.last;
    } while (last !== undefined && (items.length < max || !String(last.sk).startsWith(breakersPrefix)));
    return { settings: items.map(settingOf), whole: last === undefined };
  }

  async named(prefix: string, max: number): Promise<FlowSetting[]> {
    const found = await this.#table.page(
      {
        KeyConditionExpression: "pk = :pk AND begins_with(sk, :prefix)",
        ExpressionAttributeValues: { ":pk": keys.flowSetting("").pk, ":prefix": prefix },
        Limit: max,
      },
      "any",
    );
    return found.items.map(settingOf);
  }

  async find(name: string): Promise<FlowSetting | undefined> {
    const item = await this.#found.read(name, () => this.#table.get(keys.flowSetting(name)));
    return item && settingOf(item);
  }

  put({ name, ...setting }: Pause | TypeLimits | ReceiversMark | ResumeGuard): Promise<void> {
    const { guardsUntilMs, untilMs = guardsUntilMs } = setting as Partial<ResumeGuard & TypeLimits>;
    const end = untilMs !== undefined && { purge_at: secondsOf(untilMs) };
    return this.#table.put({ ...keys.flowSetting(name), ...setting, ...end });
  }

  remove(name: string): Promise<void> {
    return this.#table.delete(keys.flowSetting(name));
  }

  async countFailure(name: string, max: number, openUntilMs: number, nowMs: number): Promise<Breaker> {
    const counted = await this.#table.updated(keys.flowSetting(name), {
      UpdateExpression: "SET kind = :kind, purge_at = :purge ADD failures :one",
      ExpressionAttributeValues: { ":kind": "breaker", ":one": 1, ":purge": purgeAt(openUntilMs) },
    });
    const breaker = settingOf(counted ?? {}) as Breaker;
    if (breaker.failures < max) return breaker;
    const opened = await this.#table.updated(keys.flowSetting(name), {
      UpdateExpression: "SET openUntilMs = :until, openedMs = if_not_exists(openedMs, :now)",
      // It may have been closed since.
      ConditionExpression: "failures >= :most",
      ExpressionAttributeValues: { ":until": openUntilMs, ":most": max, ":now": nowMs },
    });
    return opened === undefined ? breaker : (settingOf(opened) as Breaker);
  }

  async countForGuard(name: string, untilMs: number): Promise<number> {
    const counted = await this.#table.updated(keys.flowSetting(name), {
      UpdateExpression: "SET kind = :kind, guardsUntilMs = :until, purge_at = :purge ADD failures :one",
      ExpressionAttributeValues: { ":kind": "breaker", ":one": 1, ":until": untilMs, ":purge": secondsOf(untilMs) },
    });
    return Number(counted?.failures);
  }

  tryBreaker(name: string, seenMs: number, untilMs: number): Promise<boolean> {
    return this.#table.updateIf(keys.flowSetting(name), {
      UpdateExpression: "SET openUntilMs = :until, purge_at = :purge",
      ConditionExpression: "openUntilMs = :seen",
      ExpressionAttributeValues: { ":until": untilMs, ":seen": seenMs, ":purge": purgeAt(untilMs) },
    });
  }
}

/** A breaker is kept for this time, in seconds: a type that fails now and then leaves none behind. */
const keepSeconds = 7 * 86_400;

const secondsOf = (ms: number): number => Math.ceil(ms / 1000);

const purgeAt = (nextMs: number): number => secondsOf(nextMs) + keepSeconds;

/** A setting in a form of a later release is of no kind that this one knows: `readSetting` refuses it. */
const settingOf = ({ pk: _, sk, purge_at: _purgeAt, ...setting }: Item): FlowSetting =>
  ({ ...setting, ...(!isKnown(setting) && { kind: "later" }), name: sk }) as unknown as FlowSetting;
