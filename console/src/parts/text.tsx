import { signal } from "@preact/signals";
import { nowMs } from "../clock.ts";
import { fromNow, localTime, shortened, visible } from "../format.ts";
import { Icon, isIcon } from "./icon.tsx";

/** The present time, which texts such as `3 min ago` follow. */
export const now = signal(nowMs());
setInterval(() => {
  if (!document.hidden) now.value = nowMs();
}, 5_000);

/** Text of a task, at most `most` characters. It cannot change how the text around it is read. */
export function Text({ of, most = 300 }: { of: string; most?: number }) {
  const text = visible(shortened(of, most));
  return <bdi title={of.length > most ? `${of.length} characters` : undefined}>{text}</bdi>;
}

/** A time: as seen from now, with the exact time as its title. */
export function Time({ at, exact = false }: { at: string | null | undefined; exact?: boolean }) {
  if (at === null || at === undefined) return <span class="muted">–</span>;
  return (
    <time dateTime={at} title={`${localTime(at)} (${at})`}>
      {exact ? localTime(at) : fromNow(at, Math.max(now.value, Date.parse(at) < nowMs() ? Date.parse(at) : 0))}
    </time>
  );
}

/** A status, by a shape and a word besides its colour. @param word Default: the status. */
export const Status = ({ of, word = of }: { of: string; word?: string }) => (
  <span class={`status ${of}`}>
    {isIcon(of) && <Icon of={of} />} {word}
  </span>
);

/** An id in full, which a click selects. */
export function Id({ of }: { of: string }) {
  return <code class="id">{of}</code>;
}
