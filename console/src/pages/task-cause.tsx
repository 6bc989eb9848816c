import type { ComponentChildren } from "preact";
import type { ErrorKind } from "../../../src/core/model/errors.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import { counted, visible } from "../format.ts";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";

/** The error of a task in its own words, its kind, and its line of code. */
export function Cause({
  task: { error, error_type, error_kind },
  stack,
  title,
  children,
}: {
  task: TaskView;
  stack: string | null | undefined;
  title: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <div class={stack ? "cause with-code" : "cause"}>
      <div class="cause-text">
        <p class="bad">{title}</p>
        <p class="trouble">
          <Text of={error ?? "The error has no text."} most={4_000} />
        </p>
        {error_kind !== null && (
          <p>
            <span class="tag again">{error_kind}</span>
            <span class="muted">
              {error_type !== null && <Text of={`${error_type}, `} most={128} />}
              {kinds[error_kind]}
            </span>
          </p>
        )}
        {children}
      </div>
      {stack && <Code of={stack} />}
    </div>
  );
}

/** The meaning of each failure class for a further attempt. */
export const kinds: Readonly<Record<ErrorKind, string>> = {
  transient: "another attempt can help",
  rate_limited: "the other side asked for fewer: later attempts can help",
  conflict: "changed at the same time: another attempt can help",
  unavailable: "a service did not answer: another attempt can help",
  not_found: "what it needs is not there",
  validation: "a retry needs another input",
  business_rule: "a rule forbids it, and a person has to look",
  permanent: "the handler said that no attempt can help",
  crashed: "its process ended",
  timed_out: "it took longer than its time limit",
  children_failed: "too many of its children failed",
};

/** Frames of a stack, as the API writes it. */
const frame = /^ {4}at (?:(.+?) \((.+):(\d+:\d+)\)|(.+):(\d+:\d+))$/m;

/** The place of an error in the sources, and the whole stack below it. */
export function Code({ of }: { of: string }) {
  const [, called, inFile, inAt, file = inFile, at = inAt] = frame.exec(of) ?? [];
  const frames = of.match(/^ {4}at /gm)?.length ?? 0;
  return (
    <div class="cause-code">
      {file !== undefined && (
        <p>
          <Icon of="audit" />{" "}
          <code>
            <Text of={file} most={200} />
            <strong class="bad">:{at}</strong>
          </code>{" "}
          {called !== undefined && (
            <span class="muted">
              in <Text of={called} most={100} />
            </span>
          )}
        </p>
      )}
      <Stack of={of} isOpen title={`Stack, ${counted(frames, "frame")}`} />
    </div>
  );
}

/** Places of an error in the sources. */
export function Stack({ of, isOpen = false, title = "Stack" }: { of: string; isOpen?: boolean; title?: string }) {
  return (
    <details open={isOpen}>
      <summary>{title}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <pre tabIndex={0}>{visible(of.slice(0, 20_000))}</pre>
    </details>
  );
}
