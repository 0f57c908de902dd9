/** Titles of tests, read from the text of their files without running them. */
import ts from "typescript";
import { withoutHeading } from "./tiers.ts";

/** A test as its file writes it: headings and title, with `%s` and `$name` as they stand there. */
export interface WrittenTitle {
  readonly headings: readonly string[];
  readonly title: string;
}

/** The kind of a call: `it`, `it.each(…)`, `describe.skipIf(…)` and the like. */
function callKind(call: ts.CallExpression): "describe" | "it" | null {
  let at: ts.Expression = call.expression;
  while (
    ts.isCallExpression(at) ||
    ts.isPropertyAccessExpression(at) ||
    ts.isTaggedTemplateExpression(at)
  ) {
    at = ts.isTaggedTemplateExpression(at) ? at.tag : at.expression;
  }
  if (!ts.isIdentifier(at)) return null;
  if (at.text === "describe") return "describe";
  return at.text === "it" || at.text === "test" ? "it" : null;
}

/** The text of a title; values that only a run knows stand as `${}`. */
function textOf(node: ts.Expression | undefined): string | null {
  if (node === undefined) return null;
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return node.head.text + node.templateSpans.map(({ literal }) => `\${}${literal.text}`).join("");
  if (ts.isBinaryExpression(node))
    return [node.left, node.right].map((part) => textOf(part) ?? "\u0024{}").join("");
  return null;
}

/** Every test that a file writes, in its order. */
export function readTitles(source: string): readonly WrittenTitle[] {
  const found: WrittenTitle[] = [];
  const walk = (node: ts.Node, headings: readonly string[]): void => {
    const kind = ts.isCallExpression(node) ? callKind(node) : null;
    const title = kind === null ? null : textOf((node as ts.CallExpression).arguments[0]);
    if (kind === "it" && title !== null) found.push({ headings, title });
    const inner = kind === "describe" && title !== null ? [...headings, title] : headings;
    ts.forEachChild(node, (child) => walk(child, inner));
  };
  walk(ts.createSourceFile("test.ts", source, ts.ScriptTarget.ES2022, false), []);
  return found;
}

/**
 * The name by which a test is known whether or not its title repeats the heading:
 * "heading > rest of the title".
 */
export function nameOf({ headings, title }: WrittenTitle): string {
  return [...headings, withoutHeading(headings.at(-1) ?? "", title)].join(" > ");
}
