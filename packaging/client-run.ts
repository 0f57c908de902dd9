/**
 * `npm run client [-- --out FOLDER]`: packs the merchant's client as a package that `npm install`
 * takes, and says where it lies.
 */
import { resolve } from "node:path";
import { readCommandLine } from "../lab/kit/command-line.ts";
import { projectRoot } from "../lab/kit/kit.ts";
import { packClient } from "./client-package.ts";

const { values } = readCommandLine({
  name: "client",
  does: "Packs the merchant's client, with its types, as a package that npm installs.",
  options: { out: { takes: "FOLDER", default: "release", says: "where it is put" } },
});
process.stdout.write(`${packClient(projectRoot, resolve(projectRoot, values.out))}\n`);
