import type { Envelope } from "../../model/envelope.ts";
import type { TaskRecord } from "../../model/record.ts";
import type { EndPorts, Extra, Extras, HookOf } from "../../ports/extra.ts";
import type { ChangeNotice } from "../../ports/notify.ts";

/*
 * The hooks of all extras. Items beside a record have a time of their own at which the table deletes them. So a change
 * that keeps the record for longer comes after `keep`, `keepAll` or `keepEnded`: a death in between loses nothing.
 */

/** The hooks of a list of extras, in its order. */
export function extrasOf(list: readonly Extra[]): Extras {
  const all = <Hook>(hookOf: (extra: Extra) => Hook | undefined): HookOf<Hook>[] =>
    list.flatMap((extra) => {
      const call = hookOf(extra);
      return call === undefined ? [] : [{ field: extra.field, call }];
    });
  return {
    keep: all(({ keep }) => keep),
    keepRead: all(({ keepRead }) => keepRead),
    keepEnded: all(({ keepEnded }) => keepEnded),
    changed: all(({ changed }) => changed),
    ended: all(({ ended }) => ended),
    discarded: all(({ discarded }) => discarded),
    beforeRound: all(({ beforeRound }) => beforeRound),
  };
}

/**
 * Keeps what is beside the record of a task that goes on, or may, and that neither an attempt nor a message has.
 * @param purgeAt The record's new `purge_at`.
 * @throws PortUnavailable
 */
export async function keep(ports: EndPorts, record: TaskRecord, purgeAt: number): Promise<void> {
  if (purgeAt <= record.purge_at) return;
  for (const { field, call } of ports.extras.keep) {
    if (field === undefined || record[field] !== undefined) await call(ports, record, purgeAt);
  }
}

/** Keeps what each attempt keeps that reads it: the next one may come late. @throws PortUnavailable */
export async function keepRead(ports: EndPorts, record: TaskRecord, purgeAt: number): Promise<void> {
  for (const { field, call } of ports.extras.keepRead) {
    if (field === undefined || record[field] !== undefined) await call(ports, record, purgeAt);
  }
}

/**
 * Keeps all that is beside the record of a task that goes on, or may.
 * @param purgeAt The record's new `purge_at`.
 * @param message The task's message, which is stored then. Absent: the stored one is kept, if there is one. Null: there
 * is none.
 * @throws PortUnavailable
 */
export async function keepAll(
  ports: EndPorts,
  record: TaskRecord,
  purgeAt: number,
  message?: Envelope | null,
): Promise<void> {
  if (purgeAt <= record.purge_at) return;
  for (const { field, call } of [...ports.extras.keep, ...ports.extras.keepRead]) {
    if (field === undefined || record[field] !== undefined) await call(ports, record, purgeAt);
  }
  if (message) await ports.records.savePart(record, "envelope", message, purgeAt);
  else if (message === undefined) await ports.records.keepPart(record, "envelope", purgeAt);
  const { result_ref: result } = record;
  if (result !== undefined) await ports.records.keepPart(record, `result#${result.part}`, purgeAt);
}

/**
 * Keeps what stays beside the record of a task that is about to end for good.
 * @param purgeAt The record's new `purge_at`.
 * @throws PortUnavailable
 */
export async function keepEnded(ports: EndPorts, record: TaskRecord, purgeAt: number): Promise<void> {
  if (purgeAt <= record.purge_at) return;
  for (const { field, call } of ports.extras.keepEnded) {
    if (field === undefined || record[field] !== undefined) await call(ports, record, purgeAt);
  }
}

/** An open task has another status or progress. */
export async function changed(ports: EndPorts, record: TaskRecord, change: ChangeNotice["change"]): Promise<void> {
  for (const { field, call } of ports.extras.changed) {
    if (field === undefined || record[field] !== undefined) await call(ports, record, change);
  }
}

/** A task has ended. Repeatable. @throws PortUnavailable */
export async function ended(ports: EndPorts, record: TaskRecord, envelope?: Envelope): Promise<void> {
  for (const { field, call } of ports.extras.ended) {
    if (field === undefined || record[field] !== undefined) await call(ports, record, envelope);
  }
}

/** The dead letter of a task was discarded. @throws PortUnavailable */
export async function discarded(ports: EndPorts, record: TaskRecord): Promise<void> {
  for (const { field, call } of ports.extras.discarded) {
    if (field === undefined || record[field] !== undefined) await call(ports, record);
  }
}

/** An ended task is about to start another round. @throws PortUnavailable */
export async function beforeRound(ports: EndPorts, record: TaskRecord): Promise<void> {
  for (const { field, call } of ports.extras.beforeRound) {
    if (field === undefined || record[field] !== undefined) await call(ports, record);
  }
}
