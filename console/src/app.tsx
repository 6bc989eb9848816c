import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Header } from "./header.tsx";
import { addShortcuts } from "./keyboard.ts";
import { SignInPage } from "./pages/sign-in.tsx";
import { type PageOf, pages } from "./pages.tsx";
import type { PaletteProps } from "./palette.tsx";
import { Said } from "./parts/action.tsx";
import { beside } from "./parts/later.tsx";
import { Failure, Loading, Nothing, Page } from "./parts/layout.tsx";
import { NewSecret } from "./parts/new-secret.tsx";
import { Operations } from "./parts/progress.tsx";
import { go, route } from "./route.ts";
import { chosenTenant, config, identity, may, mayChange } from "./session.ts";
import { Shortcuts } from "./shortcuts.tsx";
import { setting } from "./signals.ts";
import { resume } from "./start.ts";
import { UnknownTenant } from "./tenant.tsx";

/** The search from everywhere. The code of the palette is loaded behind the first page, since keys follow at once. */
const Search = beside<PaletteProps>(async () => (await import("./palette.tsx")).Palette);

/** Time after which a start that failed is tried again, in milliseconds. */
const againMs = 5_000;

/** Pages that the caller may open. */
const allowedPages = (): PageOf[] => pages.filter(({ role, changes }) => may(role) && (!changes || mayChange()));

/** The console. */
export function App() {
  const error = useSignal<Error | undefined>(undefined);
  const help = useSignal(false);
  const searches = useSignal(false);
  const ready = useSignal(false);
  const begin = async () => {
    try {
      await resume();
      error.value = undefined;
      ready.value = true;
      void Search.load();
    } catch (thrown) {
      error.value = thrown as Error;
      setTimeout(begin, againMs);
    }
  };
  useEffect(() => {
    void begin();
    const search = setting(searches, true);
    return addShortcuts([
      { key: "/", description: "search everything", run: search },
      { key: "Ctrl+k", description: "search everything, also while you type", run: search },
      {
        key: "?",
        description: "show these shortcuts",
        run: () => {
          help.value = true;
        },
      },
      { key: "g", description: "go to the first page", run: () => go([], { tenant: chosenTenant.value }) },
    ]);
  }, []);
  if (!ready.value || config.value === undefined) return <Start error={error.value} />;
  if (identity.value === undefined) return <SignInPage />;
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the page
      </button>
      <Header pages={allowedPages()} onSearch={setting(searches, true)} />
      <main id="main" tabIndex={-1}>
        <UnknownTenant />
        <Current />
        <Operations />
      </main>
      <Said />
      <NewSecret />
      {searches.value && <Search pages={allowedPages()} onClose={setting(searches, false)} />}
      {help.value && <Shortcuts onClose={setting(help, false)} />}
    </div>
  );
}

/** The page until the console knows its deployment and the caller. */
const Start = ({ error }: { error: Error | undefined }) => (
  <main class="alone">
    <Page title="Offload">
      {error === undefined ? (
        <Loading />
      ) : (
        <>
          <Failure error={error} />
          <p role="status">The console tries again every {againMs / 1000} seconds.</p>
        </>
      )}
    </Page>
  </main>
);

/** The page of the URL. */
function Current() {
  const [path, ...rest] = route.value.steps;
  const allowed = allowedPages();
  const found = path === undefined ? allowed[0] : allowed.find((page) => page.path === path);
  if (found === undefined) {
    return (
      <Page title="No such page">
        <Nothing>There is no such page, or your role does not have it.</Nothing>
      </Page>
    );
  }
  const { component: Component } = found;
  return <Component key={found.path} rest={rest} />;
}
