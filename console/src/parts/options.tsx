/** An option of a choice. A text alone is the value as well. */
export type Option = string | readonly [value: string, text: string];

/** The options of a choice, in their order. */
export const Options = ({ of }: { of: readonly Option[] }) => (
  <>
    {of.map((option) => {
      const [value, text] = typeof option === "string" ? [option, option] : option;
      return (
        <option key={value} value={value}>
          {text}
        </option>
      );
    })}
  </>
);
