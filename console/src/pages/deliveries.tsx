import { Page } from "../parts/layout.tsx";

export function DeliveriesPage() {
  return <Page title="Webhooks">{undefined}</Page>;
}
