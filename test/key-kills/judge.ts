import type { Accepted, Key } from "./load.ts";
import type { Did, Note } from "./notes.ts";

/** A task of a list of tasks. */
export interface Listed {
  task_id: string;
  status: string;
  error: unknown;
}

/** All that is known of a key after the end of all tasks. */
export interface Seen {
  key: Key;
  accepted: readonly Accepted[];
  tasks: ReadonlyMap<string, Listed>;
  /** The notes of the key and all kills, in their order. */
  notes: readonly Note[];
}

/** Everything that breaks a promise about a key, in words. */
export function judge(seen: Seen): string[] {
  const found = [...answeredOnce(seen), ...sameInputs(seen), ...rules[seen.key.kind](seen)];
  return found.map((text) => `${seen.key.name}: ${text}`);
}

const rules: Record<Key["kind"], (seen: Seen) => string[]> = {
  collect: (seen) => [
    ...eachInOneList(seen),
    ...places(seen),
    ...listsInOrder(seen),
    ...oneAtATime(seen),
    ...ends(seen, ["completed"]),
  ],
  restart: (seen) => [
    ...neverTwo(seen),
    ...startsInOrder(seen),
    ...lastRan(seen),
    ...ends(seen, ["completed", "cancelled"]),
  ],
  strict: (seen) => [
    ...neverTwo(seen),
    ...turnsOver(seen),
    ...startsInOrder(seen),
    ...ends(seen, ["completed", "failed"]),
  ],
};

const didsOf = ({ notes }: Seen): Did[] => notes.filter((one) => one.what !== "killed");

const startsOf = (seen: Seen): Did[] => didsOf(seen).filter(({ what }) => what === "start");

/** The tasks in the order of their first starts. */
const startedTasks = (seen: Seen): string[] => [...new Set(startsOf(seen).map(({ task }) => task))];

/** The inputs of each task that started. */
const inputsOf = (seen: Seen) => new Map(startsOf(seen).map(({ task, inputs }) => [task, inputs]));

function answeredOnce({ key, accepted }: Seen): string[] {
  const numbers = new Set(accepted.map(({ number }) => number));
  return numbers.size === key.count ? [] : [`${numbers.size} of ${key.count} submits were accepted`];
}

/** Each attempt of a task gets the same inputs. */
function sameInputs(seen: Seen): string[] {
  const first = new Map<string, string>();
  return startsOf(seen).flatMap(({ task, attempt, inputs }) => {
    const text = inputs.join();
    const before = first.get(task) ?? text;
    first.set(task, before);
    return text === before ? [] : [`attempt ${attempt} of ${task} got ${text}, and the one before ${before}`];
  });
}

function ends({ tasks }: Seen, allowed: readonly string[]): string[] {
  return [...tasks.values()].flatMap(({ task_id, status, error }) =>
    allowed.includes(status) ? [] : [`${task_id} is ${status}: ${String(error)}`],
  );
}

/** Each accepted input is in exactly one list that was handled. */
function eachInOneList(seen: Seen): string[] {
  const handled = new Set(didsOf(seen).flatMap(({ task, outcome }) => (outcome === "done" ? [task] : [])));
  const lists = [...inputsOf(seen)].filter(([task]) => handled.has(task));
  const counts = new Map<number, number>();
  for (const number of lists.flatMap(([, inputs]) => inputs)) counts.set(number, (counts.get(number) ?? 0) + 1);
  const wrong = seen.accepted.filter(({ number }) => counts.get(number) !== 1);
  const strangers = [...counts.keys()].filter((number) => !seen.accepted.some((one) => one.number === number));
  return [
    ...wrong.map(({ number, task }) => `the input ${number} of ${task} is in ${counts.get(number) ?? 0} handled lists`),
    ...strangers.map((number) => `the input ${number} was handled, and not accepted`),
  ];
}

/** The answer to a submit names the list of its input, and its place there. */
function places(seen: Seen): string[] {
  const lists = inputsOf(seen);
  return seen.accepted.flatMap(({ number, task, collected = 0 }) =>
    lists.get(task)?.[collected - 1] === number
      ? []
      : [`the input ${number} is not number ${collected} of ${task}, which has ${lists.get(task)?.join()}`],
  );
}

/** An input whose submit began after the answer to another one is behind it: in its list, and of one caller in all lists. */
function listsInOrder(seen: Seen): string[] {
  const of = new Map(seen.accepted.map((one) => [one.number, one]));
  const lists = [...inputsOf(seen).values()];
  const numbers = seen.key.lanes === 1 ? [lists.sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0)).flat()] : lists;
  return numbers.flatMap((list) => {
    let latest = { sentAt: 0, number: -1 };
    return list.flatMap((number) => {
      const one = of.get(number);
      if (one === undefined) return [];
      const before = latest;
      if (one.sentAt > latest.sentAt) latest = one;
      return one.answeredAt < before.sentAt
        ? [`${number} is behind ${before.number}, which was sent after its answer`]
        : [];
    });
  });
}

/** The limit of a key holds: no attempt starts while another one runs. Lists have no order when they are tried again. */
function oneAtATime({ notes }: Seen): string[] {
  let open: Did[] = [];
  return notes.flatMap((one) => {
    const before = open;
    if (one.what === "killed") open = open.filter(({ pid }) => !one.pids.includes(pid));
    else if (one.what === "end") open = open.filter((other) => nameOf(other) !== nameOf(one));
    else open = [...open, one];
    const others = one.what === "start" ? before : [];
    return others.map(({ task, attempt }) => `a list of ${task} runs in attempt ${attempt}, and another one starts`);
  });
}

/** A task starts when the one before it does nothing more, and none of an earlier one starts again. */
function neverTwo({ notes }: Seen): string[] {
  const wrong: string[] = [];
  const open = new Map<string, Did>();
  const past = new Set<string>();
  let current: string | undefined;
  const start = (one: Did) => {
    for (const { task, attempt } of open.values())
      wrong.push(`${one.task} starts while attempt ${attempt} of ${task} runs`);
    if (current !== undefined && current !== one.task) past.add(current);
    current = one.task;
    open.set(nameOf(one), one);
  };
  const did = (one: Did) => {
    if (past.has(one.task)) wrong.push(`${one.task} notes ${one.what} after the start of ${current}`);
    if (one.what === "end") open.delete(nameOf(one));
    else start(one);
  };
  const killed = (pids: readonly number[]) => {
    for (const [name, { pid }] of open) if (pids.includes(pid)) open.delete(name);
  };
  for (const one of notes) {
    if (one.what === "killed") killed(one.pids);
    else did(one);
  }
  return wrong;
}

const nameOf = ({ task, attempt, pid }: Did): string => `${task} ${attempt} ${pid}`;

/** The last attempt before the start of the next task ended its task for good. */
function turnsOver(seen: Seen): string[] {
  const dids = didsOf(seen);
  return dids.flatMap((one, index) => {
    const before = dids[index - 1];
    if (before === undefined || before.task === one.task) return [];
    return before.outcome === "done" || before.outcome === "failed"
      ? []
      : [`${one.task} starts after ${before.what} ${before.outcome ?? ""} of ${before.task}, which is not over`];
  });
}

/** A task whose submit began after the answer to that of another one starts after it. */
function startsInOrder(seen: Seen): string[] {
  const of = submitsOf(seen);
  let latest = { sentAt: 0, task: "" };
  return startedTasks(seen).flatMap((task) => {
    const submits = of.get(task) ?? [];
    const first = Math.min(...submits.map(({ sentAt }) => sentAt));
    const answeredAt = Math.max(...submits.map((one) => one.answeredAt));
    const before = latest;
    if (first > latest.sentAt) latest = { sentAt: first, task };
    return answeredAt < before.sentAt ? [`${task} starts after ${before.task}, which was submitted after it`] : [];
  });
}

function submitsOf({ accepted }: Seen): Map<string, Accepted[]> {
  const of = new Map<string, Accepted[]>();
  for (const one of accepted) of.set(one.task, [...(of.get(one.task) ?? []), one]);
  return of;
}

/** The last accepted submit ran to its end, and a task ran with the latest input that was accepted for it. */
function lastRan(seen: Seen): string[] {
  const last = seen.accepted.at(-1);
  const ran = didsOf(seen).some(
    ({ task, outcome, inputs }) => task === last?.task && outcome === "done" && inputs[0] === last.number,
  );
  const inputs = inputsOf(seen);
  const old = [...submitsOf(seen)].flatMap(([task, submits]) => {
    const got = submits.find(({ number }) => number === inputs.get(task)?.[0]);
    const newer = submits.find(({ sentAt }) => got !== undefined && sentAt > got.answeredAt);
    return newer === undefined ? [] : [`${task} ran with the input ${got?.number}, after ${newer.number} was accepted`];
  });
  const done = ran && seen.tasks.get(last?.task ?? "")?.status === "completed";
  return done ? old : [...old, `${last?.task}, the last accepted one, did not run to its end`];
}
