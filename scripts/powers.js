/**
 * The ambient powers of a file: what it reaches by names that Node gives to every file, and by a
 * few names of builtin modules. One walk over the identifiers of a source finds them; the table of
 * rooms (rooms.json, `powers`) says which room has which.
 */
import ts from "typescript";

/** Each power by its name in docs/architecture.md, and what it is. */
export const powers = {
  clock: "reads the time",
  chance: "draws random bytes",
  timers: "lets something happen later",
  environment: "reads the process's environment, arguments or folder",
  printing: "writes to the process's outputs",
  process: "anything else of the process, or all of it by one name",
  globals: "takes names from the global object",
};

/** Global names, by the power that they give. */
const globals = {
  performance: "clock",
  setTimeout: "timers",
  setInterval: "timers",
  setImmediate: "timers",
  queueMicrotask: "timers",
  scheduler: "timers",
  console: "printing",
  crypto: "chance",
  globalThis: "globals",
  global: "globals",
  eval: "globals",
  Function: "globals",
};

/** Members of global names. */
const members = {
  "Date.now": "clock",
  "Math.random": "chance",
  "process.hrtime": "clock",
  "process.uptime": "clock",
  "process.nextTick": "timers",
  "process.env": "environment",
  "process.argv": "environment",
  "process.execArgv": "environment",
  "process.cwd": "environment",
  "process.stdin": "environment",
  "process.stdout": "printing",
  "process.stderr": "printing",
  "process.emitWarning": "printing",
};

/** Names of builtin modules; `*` stands for every other name of the module. */
const imported = {
  perf_hooks: { "*": "clock" },
  timers: { "*": "timers" },
  "timers/promises": { "*": "timers" },
  process: { "*": "process" },
  crypto: {
    getRandomValues: "chance",
    randomBytes: "chance",
    randomFill: "chance",
    randomFillSync: "chance",
    randomInt: "chance",
    randomUUID: "chance",
    generateKey: "chance",
    generateKeyPair: "chance",
    generateKeyPairSync: "chance",
    generateKeySync: "chance",
    generatePrime: "chance",
    generatePrimeSync: "chance",
    webcrypto: "chance",
    default: "chance",
  },
};

/** Facts of the program itself, which are the same in each run on a machine. */
const harmless = ["versions", "version", "platform", "arch", "release"];

const isNamed = (node) => ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node);

/** The name of a member; "" where it is computed. */
function memberOf(node) {
  if (ts.isPropertyAccessExpression(node)) return node.name.text;
  const { argumentExpression: name } = node;
  return ts.isStringLiteralLike(name) ? name.text : "";
}

/** True where an identifier is only the name of a property, a label or a part of a type. */
function isOnlyName(node) {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) && parent.name === node) return true;
  if (ts.isTypeNode(parent) || ts.isQualifiedName(parent) || ts.isTypeParameterDeclaration(parent))
    return true;
  if (ts.isImportSpecifier(parent) || ts.isImportClause(parent) || ts.isNamespaceImport(parent))
    return true;
  const isKey =
    (ts.isPropertyAssignment(parent) || ts.isMethodDeclaration(parent)) && parent.name === node;
  const isSignature =
    ts.isPropertySignature(parent) ||
    ts.isMethodSignature(parent) ||
    ts.isPropertyDeclaration(parent);
  return (
    isKey ||
    (isSignature && parent.name === node) ||
    (ts.isBindingElement(parent) && parent.propertyName === node)
  );
}

/** Names that the file itself declares, and so takes from nobody. */
function declaredIn(source) {
  const names = new Set();
  const look = (node) => {
    const isDeclaration =
      ts.isVariableDeclaration(node) ||
      ts.isParameter(node) ||
      ts.isBindingElement(node) ||
      ts.isFunctionDeclaration(node);
    if (isDeclaration && node.name !== undefined && ts.isIdentifier(node.name))
      names.add(node.name.text);
    if (ts.isImportSpecifier(node) || ts.isNamespaceImport(node)) names.add(node.name.text);
    ts.forEachChild(node, look);
  };
  look(source);
  return names;
}

/** Powers of an import; none for one of types alone. */
function powersOfImport(node) {
  const table = imported[node.moduleSpecifier.text.replace(/^node:/, "")];
  const { importClause: clause } = node;
  if (table === undefined || clause?.isTypeOnly === true) return [];
  const bindings = clause?.namedBindings;
  if (clause === undefined || clause.name !== undefined || !ts.isNamedImports(bindings))
    return [table.default ?? table["*"]].map((power) => ({
      power,
      name: node.moduleSpecifier.text,
    }));
  return bindings.elements
    .filter(({ isTypeOnly }) => !isTypeOnly)
    .map(({ propertyName, name }) => (propertyName ?? name).text)
    .map((name) => ({ power: table[name] ?? table["*"], name }))
    .filter(({ power }) => power !== undefined);
}

/** The power that an identifier of a global name gives at its place; null for none. */
function powerAt(node) {
  const { parent, text } = node;
  if (text === "Date") {
    const isNow =
      ts.isNewExpression(parent) &&
      parent.expression === node &&
      (parent.arguments ?? []).length === 0;
    const isCalled = ts.isCallExpression(parent) && parent.expression === node;
    if (isNow || isCalled) return { power: "clock", name: "new Date()" };
  }
  if (["Date", "Math", "process"].includes(text) && isNamed(parent) && parent.expression === node) {
    const name = memberOf(parent);
    const power = members[`${text}.${name}`];
    if (power !== undefined) return { power, name: `${text}.${name}` };
    if (text === "process" && !harmless.includes(name))
      return { power: "process", name: `process.${name}` };
    return null;
  }
  if (text === "process") return { power: "process", name: "process" };
  return Object.hasOwn(globals, text) ? { power: globals[text], name: text } : null;
}

/** Each use of a power in a source: { power, name }, where `name` is what the source says. */
export function powersIn(file, text) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const declared = declaredIn(source);
  const uses = [];
  const look = (node) => {
    if (ts.isTypeNode(node) && !ts.isExpressionWithTypeArguments(node)) return;
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return;
    if (ts.isImportDeclaration(node)) uses.push(...powersOfImport(node));
    else if (ts.isIdentifier(node) && !isOnlyName(node) && !declared.has(node.text)) {
      const use = powerAt(node);
      if (use !== null) uses.push(use);
    }
    ts.forEachChild(node, look);
  };
  look(source);
  return uses;
}

/**
 * Uses of a power that the room's row does not have, and powers of a row that no file of the room
 * uses. A row with "*" is free.
 */
export function powerProblems(table, files, find, readSource) {
  const used = new Map(table.rooms.map(({ room }) => [room, new Set()]));
  const problems = [];
  for (const file of files) {
    const row = find(file);
    if (row === null || row.powers === "*") continue;
    for (const { power, name } of powersIn(file, readSource(file))) {
      used.get(row.room).add(power);
      if (!row.powers.includes(power)) problems.push(`${row.room}: ${power}: ${file} → ${name}`);
    }
  }
  for (const { room, powers: own } of table.rooms)
    for (const power of own === "*" ? [] : own) {
      if (!Object.hasOwn(powers, power))
        problems.push(`the room ${room} names ${power}, which is no power`);
      else if (!used.get(room).has(power))
        problems.push(`no file of the room ${room} uses ${power}`);
    }
  return [...new Set(problems)];
}
