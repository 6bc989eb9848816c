/** The fixed texts of an invoice in one language. */
export interface Labels {
  invoice: string;
  number: string;
  issueDate: string;
  deliveryDate: string;
  dueDate: string;
  buyerReference: string;
  customerNumber: string;
  billTo: string;
  position: string;
  description: string;
  quantity: string;
  unitPrice: string;
  discount: string;
  amount: string;
  net: string;
  tax: string;
  /** The word before the taxed amount, as in "VAT 20% on £120.00". */
  on: string;
  total: string;
  payment: string;
  accountHolder: string;
  bank: string;
  accountNumber: string;
  routingNumber: string;
  paymentReference: string;
  scanToPay: string;
  payOnline: string;
  notes: string;
  vatId: string;
  taxId: string;
  /** "Page 1 of 3". */
  page: (current: number, count: number) => string;
}

const en: Labels = {
  invoice: "Invoice",
  number: "Invoice number",
  issueDate: "Invoice date",
  deliveryDate: "Delivery date",
  dueDate: "Due date",
  buyerReference: "Your reference",
  customerNumber: "Customer number",
  billTo: "Bill to",
  position: "No.",
  description: "Description",
  quantity: "Quantity",
  unitPrice: "Unit price",
  discount: "Discount",
  amount: "Amount",
  net: "Subtotal",
  tax: "VAT",
  on: "on",
  total: "Total",
  payment: "Payment",
  accountHolder: "Account holder",
  bank: "Bank",
  accountNumber: "Account number",
  routingNumber: "Routing number",
  paymentReference: "Payment reference",
  scanToPay: "Scan to pay",
  payOnline: "Pay online",
  notes: "Notes",
  vatId: "VAT ID",
  taxId: "Tax ID",
  page: (current, count) => `Page ${current} of ${count}`,
};

const de: Labels = {
  invoice: "Rechnung",
  number: "Rechnungsnummer",
  issueDate: "Rechnungsdatum",
  deliveryDate: "Leistungsdatum",
  dueDate: "Fällig am",
  buyerReference: "Ihr Zeichen",
  customerNumber: "Kundennummer",
  billTo: "Rechnung an",
  position: "Pos.",
  description: "Bezeichnung",
  quantity: "Menge",
  unitPrice: "Einzelpreis",
  discount: "Rabatt",
  amount: "Betrag",
  net: "Zwischensumme (netto)",
  tax: "USt.",
  on: "auf",
  total: "Gesamtbetrag",
  payment: "Zahlung",
  accountHolder: "Kontoinhaber",
  bank: "Bank",
  accountNumber: "Kontonummer",
  routingNumber: "Bankleitzahl",
  paymentReference: "Verwendungszweck",
  scanToPay: "Scannen und zahlen",
  payOnline: "Online bezahlen",
  notes: "Anmerkungen",
  vatId: "USt-IdNr.",
  taxId: "Steuernummer",
  page: (current, count) => `Seite ${current} von ${count}`,
};

const fr: Labels = {
  invoice: "Facture",
  number: "Numéro de facture",
  issueDate: "Date de facture",
  deliveryDate: "Date de livraison",
  dueDate: "Date d’échéance",
  buyerReference: "Votre référence",
  customerNumber: "Numéro client",
  billTo: "Facturé à",
  position: "N°",
  description: "Désignation",
  quantity: "Quantité",
  unitPrice: "Prix unitaire",
  discount: "Remise",
  amount: "Montant",
  net: "Total HT",
  tax: "TVA",
  on: "sur",
  total: "Total à payer",
  payment: "Règlement",
  accountHolder: "Titulaire du compte",
  bank: "Banque",
  accountNumber: "Numéro de compte",
  routingNumber: "Code banque",
  paymentReference: "Référence du virement",
  scanToPay: "Scanner pour payer",
  payOnline: "Payer en ligne",
  notes: "Remarques",
  vatId: "N° TVA",
  taxId: "N° fiscal",
  page: (current, count) => `Page ${current} sur ${count}`,
};

const es: Labels = {
  invoice: "Factura",
  number: "Número de factura",
  issueDate: "Fecha de factura",
  deliveryDate: "Fecha de entrega",
  dueDate: "Fecha de vencimiento",
  buyerReference: "Su referencia",
  customerNumber: "Número de cliente",
  billTo: "Facturar a",
  position: "N.º",
  description: "Descripción",
  quantity: "Cantidad",
  unitPrice: "Precio unitario",
  discount: "Descuento",
  amount: "Importe",
  net: "Base imponible",
  tax: "IVA",
  on: "sobre",
  total: "Total",
  payment: "Pago",
  accountHolder: "Titular de la cuenta",
  bank: "Banco",
  accountNumber: "Número de cuenta",
  routingNumber: "Código bancario",
  paymentReference: "Concepto",
  scanToPay: "Escanear para pagar",
  payOnline: "Pagar en línea",
  notes: "Observaciones",
  vatId: "NIF-IVA",
  taxId: "NIF",
  page: (current, count) => `Página ${current} de ${count}`,
};

const byLanguage: Readonly<Record<string, Labels>> = { en, de, fr, es };

/** Labels of a locale that differ from those of its language. */
const byLocale: Readonly<Record<string, Partial<Labels>>> = {
  "en-US": { tax: "Sales tax" },
  "en-AU": { tax: "GST" },
  "en-CA": { tax: "GST" },
  "en-IN": { tax: "GST" },
  "en-NZ": { tax: "GST" },
  "en-SG": { tax: "GST" },
  "de-CH": { tax: "MwSt.", vatId: "MwSt-Nr." },
  "de-AT": { vatId: "UID-Nr." },
};

/** The labels for a locale. They are English when its language is not supported. */
export function labelsFor(tag: string): Labels {
  const locale = new Intl.Locale(tag).maximize();
  const labels = byLanguage[locale.language] ?? en;
  return { ...labels, ...byLocale[`${locale.language}-${locale.region}`] };
}
