import { useSignal } from "@preact/signals";
import { Logo } from "../parts/icon.tsx";
import { Failure, Page } from "../parts/layout.tsx";
import { config, signedOutBecause, signIn } from "../session.ts";
import { typing } from "../signals.ts";

/** Signs in with an API key, or with the deployment's issuer of tokens. */
export function SignInPage() {
  const given = useSignal("");
  const error = useSignal<Error | undefined>(undefined);
  const busy = useSignal(false);
  const run = async (work: () => Promise<void>) => {
    busy.value = true;
    error.value = undefined;
    try {
      await work();
    } catch (thrown) {
      error.value = thrown as Error;
    }
    busy.value = false;
  };
  const withIssuer = () => run(async () => (await import("../oidc.ts")).beginSignIn());
  return (
    <main id="main" class="sign-in alone">
      <p class="brand">
        <Logo /> Offload
      </p>
      <Page title="Sign in">
        {signedOutBecause.value !== "" && <p role="status">{signedOutBecause.value}</p>}
        <form
          class="card"
          onSubmit={(event) => {
            event.preventDefault();
            void run(() => signIn(given.value.trim()));
          }}
        >
          <label>
            API key
            <input type="password" autocomplete="off" required value={given.value} onInput={typing(given)} />
          </label>
          <p class="muted">
            The key stays in this tab, until you close it.
            {config.value?.local && " The local server prints its keys when it starts, such as dev-acme."}
          </p>
          <button type="submit" class="primary" disabled={busy.value}>
            Sign in
          </button>
        </form>
        {config.value?.oidc && (
          <div class="card">
            <button type="button" disabled={busy.value} onClick={withIssuer}>
              Sign in with {new URL(config.value.oidc.issuer).host}
            </button>
          </div>
        )}
        {error.value !== undefined && <Failure error={error.value} />}
      </Page>
    </main>
  );
}
