import type { Order } from "./order.ts";
import type { Totals } from "./totals.ts";

const largestTransfer = "999999999.99";

/**
 * What the QR code of a SEPA credit transfer says (European Payments Council, EPC069-12, version 002), for banking apps to
 * fill in the payment. Undefined where there is nothing to transfer by SEPA: another currency, no IBAN, nothing owed.
 */
export function girocode(order: Order, { total }: Totals): string | undefined {
  const { payment } = order;
  if (order.currency !== "EUR" || !payment?.iban || total.lte(0) || total.gt(largestTransfer)) return undefined;
  const holder = (payment.account_holder ?? order.seller.name).slice(0, 70).trim();
  const purpose = "";
  const structuredReference = "";
  return [
    ...["BCD", "002", "1", "SCT", payment.bic ?? "", holder, payment.iban, `EUR${total.toFixed(2)}`],
    ...[purpose, structuredReference, payment.reference ?? order.number ?? ""],
  ].join("\n");
}
