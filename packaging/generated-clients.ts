/**
 * The clients of `test/generated/`, made by two public generators from the description that the
 * gateway serves. A test makes every call with them, so the description is good for the programs
 * of shops that generate their client.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { description } from "./client-types.ts";

/**
 * Exact versions, fetched by npx when they are needed, because they bring many packages. The
 * second generator reads its configuration with a compiler of its own.
 */
const commands = {
  "openapi-fetch.d.ts": "npx --yes openapi-typescript@7.13.0 openapi.json -o openapi-fetch.d.ts",
  "hey-api":
    "npx --yes -p typescript@5.9.3 -p @hey-api/openapi-ts@0.99.0 openapi-ts -i openapi.json -o hey-api -c @hey-api/client-fetch",
};

/** The text of the generators' input, and its digest, which stands beside what was made of it. */
const inputText = (): string => JSON.stringify(description());
export const inputDigest = (): string => createHash("sha256").update(inputText()).digest("hex");

/** Makes the clients of the tree at `root` again; gives their folder. */
export function generateClients(root: string): string {
  const folder = join(root, "test", "generated");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const input = join(folder, "openapi.json");
  writeFileSync(input, inputText());
  for (const command of Object.values(commands)) {
    const { status } = spawnSync("sh", ["-c", command], {
      cwd: folder,
      stdio: ["ignore", "inherit", "inherit"],
    });
    if (status !== 0) throw new Error(`${command} failed`);
  }
  rmSync(input);
  const lines = [
    "`npm run client -- --generated` made this folder; change nothing here by hand.",
    "",
  ];
  for (const [made, command] of Object.entries(commands))
    lines.push(`- \`${made}\`: \`${command}\``);
  lines.push("", `SHA-256 of the description that both are made from: ${inputDigest()}`, "");
  writeFileSync(join(folder, "README.md"), lines.join("\n"));
  return folder;
}
