import { useSignal } from "@preact/signals";
import { type ApiRequest, curlOf } from "../curl.ts";

/** The `curl` of what the page shows. */
export function Curl({ of }: { of: ApiRequest }) {
  const copied = useSignal(false);
  const text = curlOf(of);
  return (
    <details class="curl">
      <summary>As a request</summary>
      <pre>{text}</pre>
      <button
        type="button"
        onClick={async () => {
          await navigator.clipboard.writeText(text);
          copied.value = true;
        }}
      >
        {copied.value ? "Copied" : "Copy"}
      </button>
    </details>
  );
}
