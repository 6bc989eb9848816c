import type { Order } from "./order.ts";
import type { Totals } from "./totals.ts";

const largestTransfer = "999999999.99";

/**
 * Content of the QR code for a SEPA credit transfer (European Payments Council, EPC069-12, version 002). Banking apps
 * read the payment from it. Undefined when the order cannot be paid by SEPA: another currency, no IBAN, an amount of 0
 * or too high.
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
