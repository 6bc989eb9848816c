import type { Clock } from "../../core/ports/tasks.ts";
import { accountId, region } from "../sqs/queue-message.ts";
import { scheduleArn } from "./schedule-engine.ts";
import { ApiError, parseName, parseSchedule } from "./schedule-input.ts";
import type { Schedule, ScheduleRows } from "./schedule-rows.ts";
import { firstTime } from "./schedule-times.ts";

const defaultGroup = "default";
const maxPage = 100;

export interface ApiOptions {
  rows: ScheduleRows;
  clock: Clock;
  /** Fires what is due, and looks when the next schedule is: before and after each write. */
  tick(): void;
}

/** EventBridge Scheduler's operations on schedules and groups, without HTTP. */
export class ScheduleApi {
  readonly #rows: ScheduleRows;
  readonly #clock: Clock;
  readonly #tick: () => void;

  constructor({ rows, clock, tick }: ApiOptions) {
    this.#rows = rows;
    this.#clock = clock;
    this.#tick = tick;
    rows.addGroup(defaultGroup, clock.now());
  }

  /**
   * Handles a request, and returns the body of the answer.
   * @throws ApiError
   */
  handle(method: string, [kind, name, ...rest]: string[], query: URLSearchParams, body: unknown): object {
    const operation = `${method} ${kind}${name === undefined ? "" : "/{Name}"}`;
    const group = query.get("groupName") ?? defaultGroup;
    if (rest.length > 0) throw unknown(operation);
    switch (operation) {
      case "POST schedules/{Name}":
        return this.#create({ ...Object(body), Name: name });
      case "PUT schedules/{Name}":
        return this.#update({ ...Object(body), Name: name });
      case "GET schedules/{Name}":
        return describe(this.#existing(group, parseName(name)));
      case "DELETE schedules/{Name}":
        return this.#delete(group, parseName(name));
      case "GET schedules":
        return this.#list(query);
      case "POST schedule-groups/{Name}":
        return this.#createGroup(parseName(name));
      case "GET schedule-groups/{Name}":
        return this.#getGroup(parseName(name));
      default:
        throw unknown(operation);
    }
  }

  #create(body: object): object {
    const input = parseSchedule(body);
    const { GroupName, Name, ClientToken } = input;
    this.#getGroup(GroupName);
    const known = this.#rows.schedule(GroupName, Name);
    if (known !== undefined && (ClientToken === undefined || known.input.ClientToken !== ClientToken)) {
      throw new ApiError("ConflictException", `Schedule ${Name} already exists.`);
    }
    const now = this.#clock.now();
    // With the same token it is a repeat, as the client did not get the first answer.
    if (known === undefined) this.#save({ input, createdAt: now, changedAt: now, nextAt: firstTime(input, now) });
    return { ScheduleArn: scheduleArn(GroupName, Name) };
  }

  /** Replaces the whole schedule: fields that the request leaves out get their defaults. */
  #update(body: object): object {
    const input = parseSchedule(body);
    // A time that was due before the change fires, however late this process finds time for it.
    this.#tick();
    const { createdAt } = this.#existing(input.GroupName, input.Name);
    const now = this.#clock.now();
    this.#save({ input, createdAt, changedAt: now, nextAt: firstTime(input, now, createdAt) });
    return { ScheduleArn: scheduleArn(input.GroupName, input.Name) };
  }

  #delete(group: string, name: string): object {
    this.#existing(group, name);
    this.#rows.delete(group, name);
    return {};
  }

  /** A page starts after the schedule that its token names. */
  #list(query: URLSearchParams): object {
    const limit = Number(query.get("MaxResults") ?? maxPage);
    if (!Number.isInteger(limit) || limit < 1 || limit > maxPage) {
      throw new ApiError("ValidationException", `MaxResults: expected 1 to ${maxPage}, got ${query.get("MaxResults")}`);
    }
    const group = query.get("ScheduleGroup") ?? undefined;
    if (group !== undefined) this.#getGroup(group);
    const [prefix, state, token] = ["NamePrefix", "State", "NextToken"].map((parameter) => query.get(parameter));
    const found = this.#rows
      .list(group)
      .filter(({ input }) => input.Name.startsWith(prefix ?? "") && (state === null || input.State === state))
      .sort((a, b) => (place(a) < place(b) ? -1 : 1));
    const start = token ? found.findIndex((schedule) => place(schedule) > Buffer.from(token, "base64").toString()) : 0;
    const page = start < 0 ? [] : found.slice(start, start + limit);
    const last = page.at(-1);
    const more = last !== undefined && last !== found.at(-1);
    return {
      Schedules: page.map(summarize),
      NextToken: more ? Buffer.from(place(last)).toString("base64") : undefined,
    };
  }

  #createGroup(name: string): object {
    if (this.#rows.group(name)) throw new ApiError("ConflictException", `Schedule group ${name} already exists.`);
    this.#rows.addGroup(name, this.#clock.now());
    return { ScheduleGroupArn: groupArn(name) };
  }

  #getGroup(name: string): object {
    const group = this.#rows.group(name);
    if (group === undefined) throw new ApiError("ResourceNotFoundException", `Schedule group ${name} does not exist.`);
    const CreationDate = group.createdAt / 1000;
    return { Arn: groupArn(name), Name: name, State: "ACTIVE", CreationDate, LastModificationDate: CreationDate };
  }

  #existing(group: string, name: string): Schedule {
    const schedule = this.#rows.schedule(group, name);
    if (schedule !== undefined) return schedule;
    throw new ApiError("ResourceNotFoundException", `Schedule ${name} does not exist.`);
  }

  #save(schedule: Schedule): void {
    this.#rows.save(schedule);
    this.#tick();
  }
}

function unknown(operation: string): ApiError {
  return new ApiError("ValidationException", `The operation ${operation} is not supported here.`);
}

/** Key by which schedules are listed. */
function place({ input: { GroupName, Name } }: Schedule): string {
  return `${GroupName}/${Name}`;
}

function groupArn(name: string): string {
  return `arn:aws:scheduler:${region}:${accountId}:schedule-group/${name}`;
}

function describe({ input, createdAt, changedAt }: Schedule): object {
  const { ClientToken: _, ...shown } = input;
  const Arn = scheduleArn(input.GroupName, input.Name);
  return { ...shown, Arn, CreationDate: createdAt / 1000, LastModificationDate: changedAt / 1000 };
}

function summarize(schedule: Schedule): object {
  const { Name, GroupName, State, Target } = schedule.input;
  const CreationDate = schedule.createdAt / 1000;
  const LastModificationDate = schedule.changedAt / 1000;
  const Arn = scheduleArn(GroupName, Name);
  return { Arn, Name, GroupName, State, CreationDate, LastModificationDate, Target: { Arn: Target.Arn } };
}
