import { Page } from "../parts/layout.tsx";

export function AuditPage() {
  return <Page title="Audit">{undefined}</Page>;
}
