/**
 * Patches of source text for mutants and repairs: the place to change is given by its text, and the
 * layout of that text does not count, so a formatter moves no patch away from its place. Pure.
 */

/** A change of one source file. */
export interface Patch {
  readonly file: string; // from the project's root, as "agent/signer/handlers/context.ts"
  /** Stands exactly once in the file: to the letter, or but for white space and last commas. */
  readonly find: string;
  readonly replace: string;
}

/** A text without what a formatter adds or takes, and the place of each character that is left. */
interface SqueezedText {
  readonly text: string;
  readonly places: readonly number[];
}

function squeeze(text: string): SqueezedText {
  const places: number[] = [];
  let squeezed = "";
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] as string;
    const isLastComma = character === "," && /^,\s*[)\]}]/.test(text.slice(at, at + 200));
    if (/\s/.test(character) || isLastComma) continue;
    squeezed += character;
    places.push(at);
  }
  return { text: squeezed, places };
}

/** The places of a text in another, each as its first and one past its last character. */
function placesOf(find: string, text: string): readonly (readonly [number, number])[] {
  const found: (readonly [number, number])[] = [];
  for (let at = text.indexOf(find); at >= 0 && find !== ""; at = text.indexOf(find, at + 1))
    found.push([at, at + find.length]);
  return found;
}

function placesSqueezed(find: string, text: string): readonly (readonly [number, number])[] {
  const whole = squeeze(text);
  return placesOf(squeeze(find).text, whole.text).map(([from, to]) => [
    whole.places[from] as number,
    (whole.places[to - 1] as number) + 1,
  ]);
}

/** The text with a patch made; null where the place of the patch is not there, or not once. */
export function patchText(text: string, { find, replace }: Omit<Patch, "file">): string | null {
  const exact = placesOf(find, text);
  const [place, ...others] = exact.length > 0 ? exact : placesSqueezed(find, text);
  if (place === undefined || others.length > 0) return null;
  return text.slice(0, place[0]) + replace + text.slice(place[1]);
}
