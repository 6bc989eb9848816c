/** What CloudWatch makes of an expression of metric math; undefined where it has no data. */
export function evaluate(
  expression: string,
  metrics: Readonly<Record<string, number | undefined>>,
): number | undefined {
  const tokens = expression.match(/[A-Za-z]\w*|\d+(?:\.\d+)?|>=?|[()[\],*/+]/g) ?? [];
  return new Parser(tokens, metrics).all();
}

type Value = number | undefined | readonly (number | undefined)[];

/** As much of metric math as the alarms and the dashboard use. Missing data makes all but FILL and SUM of it missing. */
class Parser {
  private at = 0;
  private readonly tokens: readonly string[];
  private readonly metrics: Readonly<Record<string, number | undefined>>;

  constructor(tokens: readonly string[], metrics: Readonly<Record<string, number | undefined>>) {
    this.tokens = tokens;
    this.metrics = metrics;
  }

  all(): number | undefined {
    const value = single(this.comparison());
    if (this.at < this.tokens.length) throw new Error(`unexpected ${this.tokens[this.at]}`);
    return value;
  }

  private comparison(): Value {
    const left = this.product();
    if (this.takes(">=")) return both(left, this.product(), (a, b) => (a >= b ? 1 : 0));
    if (this.takes(">")) return both(left, this.product(), (a, b) => (a > b ? 1 : 0));
    return left;
  }

  private product(): Value {
    let value = this.term();
    for (;;) {
      if (this.takes("*")) value = both(value, this.term(), (a, b) => a * b);
      else if (this.takes("/")) value = both(value, this.term(), (a, b) => a / b);
      else return value;
    }
  }

  private term(): Value {
    const token = this.tokens[this.at++] ?? "";
    if (token === "[") return this.listUntil("]").map(single);
    if (/^\d/.test(token)) return Number(token);
    if (!this.takes("(")) return this.metric(token);
    return call(token, this.listUntil(")"));
  }

  private metric(id: string): number | undefined {
    if (!(id in this.metrics)) throw new Error(`there is no metric ${id}`);
    return this.metrics[id];
  }

  private listUntil(end: string): Value[] {
    const list = [this.comparison()];
    while (this.takes(",")) list.push(this.comparison());
    if (!this.takes(end)) throw new Error(`expected ${end}`);
    return list;
  }

  private takes(token: string): boolean {
    if (this.tokens[this.at] !== token) return false;
    this.at += 1;
    return true;
  }
}

function call(name: string, given: readonly Value[]): number | undefined {
  const [first, second, third] = given;
  if (name === "SUM") return sum(first);
  if (name === "CEIL") return both(first, 1, (a) => Math.ceil(a));
  if (name === "FILL") return single(first) ?? single(second);
  if (name === "IF" && first === undefined) return undefined;
  if (name === "IF") return single(first) === 0 ? single(third) : single(second);
  throw new Error(`unknown function ${name}`);
}

function sum(list: Value): number | undefined {
  const known = [list].flat().filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((total, value) => total + value, 0);
}

function both(left: Value, right: Value, compute: (a: number, b: number) => number): number | undefined {
  const [a, b] = [single(left), single(right)];
  return a === undefined || b === undefined ? undefined : compute(a, b);
}

function single(value: Value): number | undefined {
  if (Array.isArray(value)) throw new Error("an array is no value");
  return value as number | undefined;
}
