import type { Order } from "../shop/order.ts";

const titles = ["Middlemarch", "Ulysses", "Beloved", "Dune", "Emma", "Ficciones", "Walden", "Persuasion"];

/** An order of that many lines. Which books follows from `first`. */
export const orderOf = (id: string, lines: number, first = 0): Order => ({
  id,
  email: `customer-${id}@example.com`,
  lines: Array.from({ length: lines }, (_, index) => {
    const book = (first + index) % titles.length;
    const volume = Math.floor((first + index) / titles.length) + 1;
    return {
      sku: `BOOK-${book}-${volume}`,
      title: `${titles[book]}, volume ${volume}`,
      quantity: 1 + (index % 3),
      cents: 900 + 100 * book,
    };
  }),
});
