/**
 * Loaded into a gateway before its own code (`--import`): a module that imports SQLite's package
 * gets counted-sqlite.ts in its place. Source: nodejs.org/api/module.html, customization hooks.
 */
import { register } from "node:module";

const [name, counted] = [
  "@photostructure/sqlite",
  new URL("counted-sqlite.js", import.meta.url).href,
];
const hooks = `export const resolve = (specifier, context, next) =>
  specifier === ${JSON.stringify(name)} && context.parentURL !== ${JSON.stringify(counted)}
    ? { url: ${JSON.stringify(counted)}, shortCircuit: true }
    : next(specifier, context);`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
