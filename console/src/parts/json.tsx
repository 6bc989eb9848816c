import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { bytes, count, visible } from "../format.ts";
import { setting, toggling } from "../signals.ts";

/** Members that a level shows before it asks. */
const membersAtOnce = 100;

/** Characters of a text that are shown before it asks, and afterwards. */
const shortText = 500;
const longText = 100_000;

/** Levels that are open at first, if they are small. */
const openLevels = 2;

/** JSON as a tree. Only what is open is in the page, so that a value of several megabytes is shown at once. */
export function Json({ of, label }: { of: unknown; label: string }) {
  const text = useSignal(false);
  const whole = useMemo(() => JSON.stringify(of, null, 2) ?? "null", [of]);
  const size = useMemo(() => new Blob([whole]).size, [whole]);
  return (
    <div class="json">
      <div class="json-head">
        <span class="muted">{bytes(size)}</span>
        <button
          type="button"
          aria-pressed={text.value}
          onClick={() => {
            text.value = !text.value;
          }}
        >
          As text
        </button>
      </div>
      {text.value ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
        <pre tabIndex={0}>
          {visible(whole.slice(0, longText))}
          {whole.length > longText && `\n… ${count(whole.length)} characters`}
        </pre>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
        <section class="tree" tabIndex={0} aria-label={label}>
          <Value of={of} level={0} />
        </section>
      )}
    </div>
  );
}

function Value({ of, level }: { of: unknown; level: number }) {
  if (typeof of === "string") return <LongText of={of} />;
  if (typeof of !== "object" || of === null)
    return <span class={`json-${of === null ? "null" : typeof of}`}>{String(of)}</span>;
  return <Members of={of} level={level} />;
}

function LongText({ of }: { of: string }) {
  const most = useSignal(shortText);
  return (
    <span class="json-string">
      "<bdi>{visible(of.slice(0, most.value))}</bdi>"
      {of.length > most.value &&
        (most.value === shortText ? (
          <button type="button" class="quiet" onClick={setting(most, longText)}>
            … {count(of.length)} characters
          </button>
        ) : (
          <span class="muted"> … {count(of.length)} characters</span>
        ))}
    </span>
  );
}

function Members({ of, level }: { of: object; level: number }) {
  const isList = Array.isArray(of);
  const names = Object.keys(of);
  const open = useSignal(level < openLevels && names.length <= membersAtOnce);
  const most = useSignal(membersAtOnce);
  if (names.length === 0) return <span class="muted">{isList ? "[]" : "{}"}</span>;
  return (
    <details open={open.value} onToggle={toggling(open)}>
      <summary>{isList ? `[ ${count(names.length)} ]` : `{ ${count(names.length)} }`}</summary>
      {open.value && (
        <ul>
          {names.slice(0, most.value).map((name) => (
            <li key={name}>
              <span class="json-name">
                <bdi>{visible(name.slice(0, shortText))}</bdi>
              </span>
              : <Value of={(of as Record<string, unknown>)[name]} level={level + 1} />
            </li>
          ))}
          {names.length > most.value && (
            <li>
              <button
                type="button"
                class="quiet"
                onClick={() => {
                  most.value += membersAtOnce * 5;
                }}
              >
                {count(names.length - most.value)} more
              </button>
            </li>
          )}
        </ul>
      )}
    </details>
  );
}
