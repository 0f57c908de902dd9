/**
 * `npm run client [-- --out FOLDER]`: packs the merchant's client as a package that `npm install`
 * takes, and says where it lies. With `--types` it makes the client's types instead, with
 * `--generated` the generated clients that the tests use.
 */
import { resolve } from "node:path";
import { readCommandLine } from "../lab/kit/command-line.ts";
import { projectRoot } from "../lab/kit/kit.ts";
import { packClient } from "./client-package.ts";
import { writeClientTypes } from "./client-types.ts";
import { generateClients } from "./generated-clients.ts";

const { values } = readCommandLine({
  name: "client",
  does: "Packs the merchant's client, with its types, as a package that npm installs.",
  options: {
    out: { takes: "FOLDER", default: "release", says: "where it is put" },
    types: {
      says: "makes the types of clients/typescript/ from the description of the service, and packs nothing",
    },
    generated: {
      says: "makes the clients of test/generated/ by generators that npx fetches, and packs nothing",
    },
  },
});

function make(): string {
  if (values.types) return writeClientTypes(projectRoot);
  return values.generated
    ? generateClients(projectRoot)
    : packClient(projectRoot, resolve(projectRoot, values.out));
}
process.stdout.write(`${make()}\n`);
