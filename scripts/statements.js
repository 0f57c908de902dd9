/**
 * Sizes of code in statements, because a limit of lines rewards long lines.
 *
 * One statement is each of these nodes of the TypeScript compiler's tree:
 * - a node that the compiler classes as a statement, but for blocks, imports and empty ones;
 * - each declaration of `const`, `let` or `var`, so that `const a = 1, b = 2` counts two;
 * - each member of a class;
 * - the expression that is the body of an arrow function: a `return` written short;
 * - each choice `a ? b : c`: an `if` written short.
 * A type counts one, as the declaration that it is.
 */
import ts from "typescript";

function isCounted(node) {
  const { parent } = node;
  if (parent === undefined || ts.isBlock(node)) return false;
  if (ts.isArrowFunction(parent)) return node === parent.body;
  if (ts.isClassLike(parent)) return ts.isClassElement(node) && !ts.isSemicolonClassElement(node);
  if (ts.isVariableDeclarationList(parent) || ts.isConditionalExpression(node)) return true;
  return (
    ts.isStatement(node) &&
    !ts.isVariableStatement(node) &&
    !ts.isEmptyStatement(node) &&
    !ts.isImportDeclaration(node)
  );
}

/** True for a function with a body. */
export const isFunction = (node) => ts.isFunctionLike(node) && node.body !== undefined;

/**
 * Counts the statements in a node, which counts itself if it is one. With `isOwn`, what stands in
 * functions below the node is left out: they have sizes of their own.
 */
export function countStatements(node, isOwn = false) {
  let statements = 0;
  const visit = (at) => {
    if (isCounted(at)) statements += 1;
    if (!isOwn || at === node || !isFunction(at)) ts.forEachChild(at, visit);
  };
  visit(node);
  return statements;
}
