const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** A duration for people: `85 ms`, `4.2 s`, `3 min 5 s`, `2 h 10 min`, `4 d 3 h`. */
export function duration(ms: number): string {
  if (ms < secondMs) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < minuteMs) return `${(ms / secondMs).toFixed(ms < 10 * secondMs ? 1 : 0)} s`;
  if (ms < hourMs) return two(ms, minuteMs, "min", secondMs, "s");
  if (ms < dayMs) return two(ms, hourMs, "h", minuteMs, "min");
  return two(ms, dayMs, "d", hourMs, "h");
}

function two(ms: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${largeUnit}${rest === 0 ? "" : ` ${rest} ${smallUnit}`}`;
}

/** A time as seen from now: `3 min ago`, `in 2 h`. */
export function fromNow(iso: string, nowMs: number): string {
  const ms = nowMs - Date.parse(iso);
  if (Math.abs(ms) < secondMs) return "now";
  const text = duration(Math.floor(Math.abs(ms) / secondMs) * secondMs).replace(".0 s", " s");
  return ms > 0 ? `${text} ago` : `in ${text}`;
}

/** A time in the reader's zone, to the second. */
export const localTime = (iso: string): string =>
  new Date(iso).toLocaleString(undefined, {
    ...{ year: "numeric", month: "short", day: "2-digit" },
    ...{ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
  });

/** A number with separators. */
export const count = (value: number): string => value.toLocaleString();

/** A number of things, with its word: `1 child`, `12 children`. */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

/** A size for people, in units of 1,024 bytes. */
export function bytes(size: number): string {
  if (size < 1024) return `${size} bytes`;
  return size < 1024 * 1024 ? `${(size / 1024).toFixed(1)} KiB` : `${(size / 1024 / 1024).toFixed(1)} MiB`;
}

/**
 * Text of a task as it is shown: marks that change the direction of text, and characters that cannot be seen, as their
 * codes. So no text can look like another one.
 */
export const visible = (text: string): string =>
  text.replaceAll(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to show.
    /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** The first characters of a text, and a mark if there are more. */
export const shortened = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length)}…`;

/** A time as an input of the reader's zone wants it. */
export function localInput(iso: string | undefined): string {
  const time = new Date(iso ?? "");
  if (Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
