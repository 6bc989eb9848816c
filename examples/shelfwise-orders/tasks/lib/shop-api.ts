/** The shop's server, for one tenant. There is no call without a tenant. */
export function shopApi(tenant: string, signal: AbortSignal) {
  return async (path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(new URL(`/tenants/${tenant}/${path}`, process.env.SHOP_URL), {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${process.env.SHOP_KEY}`, "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
      signal,
    });
    if (response.ok) return response.json();
    // The kind of the failure follows from the answer, which is the cause.
    throw new Error(`the shop's server answered ${response.status} to ${path} of ${tenant}`, { cause: response });
  };
}
