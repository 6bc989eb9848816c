import { Page } from "../parts/layout.tsx";

export function KeysPage() {
  return <Page title="Keys">{undefined}</Page>;
}
