import { useEffect, useRef } from "preact/hooks";
import { channelState } from "./live.ts";
import type { PageOf } from "./pages.tsx";
import { href, route } from "./route.ts";
import { chosenTenant, config, identity, signOut } from "./session.ts";
import { TenantChoice } from "./tenant.tsx";
import { type Theme, theme } from "./theme.ts";

/** Name, tenant and caller, and the links to the pages. */
export function Header({ pages }: { pages: readonly PageOf[] }) {
  const current = route.value.steps[0] ?? pages[0]?.path;
  const keep = { tenant: chosenTenant.value };
  const links = useRef<HTMLElement>(null);
  useEffect(() => {
    links.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [current]);
  return (
    <header class="top">
      <div class="top-line">
        <a class="brand" href={href([], keep)}>
          Offload <span class="muted">{config.value?.name}</span>
        </a>
        <TenantChoice />
        <span class="spacer" />
        <Channel />
        <ThemeChoice />
        <span class="who" title={`Principal ${identity.value?.principal}`}>
          {identity.value?.role}
        </span>
        <button type="button" class="quiet" onClick={() => signOut()}>
          Sign out
        </button>
      </div>
      <nav aria-label="Pages" ref={links}>
        {pages.map(({ path, title }) => (
          <a key={path} href={href([path], keep)} aria-current={path === current ? "page" : undefined}>
            {title}
          </a>
        ))}
      </nav>
    </header>
  );
}

const channelTexts = { off: "reads every few seconds", connecting: "connecting", open: "live" };

function Channel() {
  const state = channelState.value;
  return <span class={`channel ${state}`}>{channelTexts[state]}</span>;
}

function ThemeChoice() {
  return (
    <select
      aria-label="Colours"
      value={theme.value}
      onChange={(event) => {
        theme.value = event.currentTarget.value as Theme;
      }}
    >
      <option value="system">System</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
  );
}
