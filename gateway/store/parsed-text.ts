/**
 * JSON of rows that rarely change, parsed once for each text: each order reads its agent's lists
 * several times. The newest texts are kept.
 */

const textsMax = 256;

/** Returns a reader of such texts. Its values are shared, so no caller may change one. */
export function createCachedJsonParser<Value>(): (text: string) => Value {
  const known = new Map<string, Value>();
  return (text) => {
    const value = known.get(text);
    if (value !== undefined) return value;
    const parsed = JSON.parse(text) as Value;
    if (known.size >= textsMax) known.clear();
    known.set(text, parsed);
    return parsed;
  };
}
