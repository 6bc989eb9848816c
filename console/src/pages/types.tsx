import { Page } from "../parts/layout.tsx";

export function TypesPage() {
  return <Page title="Types">{undefined}</Page>;
}
