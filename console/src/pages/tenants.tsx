import { Page } from "../parts/layout.tsx";

export function TenantsPage() {
  return <Page title="Tenants">{undefined}</Page>;
}
