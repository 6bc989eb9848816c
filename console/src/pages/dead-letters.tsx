import { Page } from "../parts/layout.tsx";

export function DeadLettersPage() {
  return <Page title="Dead letters">{undefined}</Page>;
}
