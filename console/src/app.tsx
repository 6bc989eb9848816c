import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Header } from "./header.tsx";
import { addShortcuts } from "./keyboard.ts";
import { SignInPage } from "./pages/sign-in.tsx";
import { type PageOf, pages } from "./pages.tsx";
import { Said } from "./parts/action.tsx";
import { Failure, Loading, Nothing, Page } from "./parts/layout.tsx";
import { go, route } from "./route.ts";
import { config, identity, may } from "./session.ts";
import { Shortcuts } from "./shortcuts.tsx";
import { resume } from "./start.ts";

/** Pages that the caller may open. */
const allowedPages = (): PageOf[] => pages.filter(({ role }) => may(role));

/** The console. */
export function App() {
  const error = useSignal<Error | undefined>(undefined);
  const help = useSignal(false);
  const ready = useSignal(false);
  useEffect(() => {
    resume().then(
      () => {
        ready.value = true;
      },
      (thrown: Error) => {
        error.value = thrown;
      },
    );
    return addShortcuts([
      {
        key: "?",
        description: "show these shortcuts",
        run: () => {
          help.value = true;
        },
      },
      { key: "g", description: "go to the first page", run: () => go([]) },
    ]);
  }, []);
  if (error.value !== undefined || !ready.value || config.value === undefined) return <Start error={error.value} />;
  if (identity.value === undefined) return <SignInPage />;
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the page
      </button>
      <Header pages={allowedPages()} />
      <main id="main" tabIndex={-1}>
        <Current />
      </main>
      <Said />
      {help.value && (
        <Shortcuts
          onClose={() => {
            help.value = false;
          }}
        />
      )}
    </>
  );
}

/** The page until the console knows its deployment and the caller. */
const Start = ({ error }: { error: Error | undefined }) => (
  <main>
    <Page title="Offload">{error === undefined ? <Loading /> : <Failure error={error} />}</Page>
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
