import { Fragment } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { channelState } from "./live.ts";
import type { PageOf } from "./pages.tsx";
import { Icon, isIcon, Logo } from "./parts/icon.tsx";
import { beside } from "./parts/later.tsx";
import { Text } from "./parts/text.tsx";
import { href, route } from "./route.ts";
import { chosenTenant, config, identity, signOut } from "./session.ts";
import { TenantChoice } from "./tenant.tsx";
import { type Theme, theme } from "./theme.ts";

/** Parts of the list of pages that have a heading. */
const parts: Readonly<Record<string, readonly string[]>> = {
  Setup: ["types", "queues", "webhooks"],
  Access: ["tenants", "keys", "audit"],
};

const headOf = (path = ""): string | undefined => Object.keys(parts).find((head) => parts[head]?.includes(path));

/** No deployment has a clock that moves, and so none loads its code. */
const ServerClock = beside(async () => (await import("./parts/server-clock.tsx")).ServerClock);

/** Name, tenant and caller, and the links to the pages: a bar at the side, or a line above and one below the page. */
export function Header({ pages, onSearch }: { pages: readonly PageOf[]; onSearch: () => void }) {
  return (
    <header class="side">
      <div class="side-top">
        <a class="brand" href={href([], { tenant: chosenTenant.value })}>
          <Logo />
          <span>Offload</span>
        </a>
        {config.value?.name && (
          <span class="env">
            <Text of={config.value.name} most={24} />
          </span>
        )}
      </div>
      <TenantChoice />
      <button type="button" class="find" aria-label="Search everything" onClick={onSearch}>
        <Icon of="search" />
        <span>Search</span>
        <kbd>/</kbd>
      </button>
      <Pages of={pages} />
      <div class="side-foot">
        <Channel />
        {config.value?.local && <ServerClock />}
        <span class="who" title={`Principal ${identity.value?.principal}`}>
          <Icon of="user" />
          <span>
            <strong>
              <Text of={identity.value?.principal ?? ""} most={16} />
            </strong>{" "}
            <span class="role">{identity.value?.role}</span>
          </span>
        </span>
        <ThemeChoice />
        <button type="button" class="quiet icon" aria-label="Sign out" title="Sign out" onClick={() => signOut()}>
          <Icon of="leave" />
        </button>
      </div>
    </header>
  );
}

function Pages({ of: pages }: { of: readonly PageOf[] }) {
  const current = route.value.steps[0] ?? pages[0]?.path;
  const keep = { tenant: chosenTenant.value };
  const links = useRef<HTMLElement>(null);
  useEffect(() => {
    links.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [current]);
  return (
    <nav aria-label="Pages" ref={links}>
      {pages.map(({ path, title }, index) => (
        <Fragment key={path}>
          {headOf(path) !== headOf(pages[index - 1]?.path) && <p class="nav-head">{headOf(path)}</p>}
          <a href={href([path], keep)} aria-current={path === current ? "page" : undefined}>
            {isIcon(path) && <Icon of={path} />}
            <span>{title}</span>
          </a>
        </Fragment>
      ))}
    </nav>
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
      class="theme"
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
