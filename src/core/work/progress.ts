import { fence } from "../model/lease.ts";
import { iso, type TaskRecord } from "../model/record.ts";
import type { EndPorts } from "../ports/extra.ts";
import * as extras from "../send/extras.ts";

/** Writes an attempt's progress to its record. */
export interface ProgressWriter {
  /** Takes 0 to 100; a lower value than the last one is ignored. */
  report(percent: number): void;
  /** Stops writing; resolves when the last write has ended. */
  close(): Promise<void>;
}

/** Writes progress at most once a second: the first report immediately, later ones at the end of their second. */
export function progressWriter(
  ports: EndPorts,
  record: TaskRecord,
  onCancelled: (record: TaskRecord) => void,
): ProgressWriter {
  let highest = -1;
  let written = -1;
  let writing: Promise<void> | undefined;
  let stopTimer: (() => void) | undefined;
  const write = async (): Promise<void> => {
    written = highest;
    const changed = await ports.records
      .change(record, {
        // A slow write must not undo a faster write that followed it.
        when: { ...fence(record), progress: { atMost: written, orAbsent: true } },
        set: { progress: written, updated_at: iso(ports.clock.now()) },
      })
      .catch(() => undefined);
    if (changed?.done !== true) return;
    if (changed.record.cancel_requested_at !== undefined) onCancelled(changed.record);
    await extras.changed(ports, changed.record, "progress");
  };
  const flush = () => {
    stopTimer = undefined;
    if (highest <= written) return;
    writing = write();
    stopTimer = ports.clock.after(1000, flush);
  };
  return {
    report(percent) {
      const whole = Math.floor(Math.min(100, Math.max(0, percent)));
      if (Number.isNaN(whole) || whole <= highest) return;
      highest = whole;
      if (stopTimer === undefined) flush();
    },
    async close() {
      stopTimer?.();
      highest = written;
      await writing;
    },
  };
}
