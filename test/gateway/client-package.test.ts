/**
 * The client as a shop gets it: packed, installed into an empty folder, imported there, asked
 * against the gateway, its types read.
 */
import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../../lab/kit/gateway-server.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { packClient } from "../../packaging/client-package.ts";

let gateway: TestGateway;
let folder: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  gateway.clock.nowMs = Date.now();
  folder = mkdtempSync(join(tmpdir(), "a-shop-"));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await gateway.close();
});

describe("the client's package", () => {
  it("the client's package installs into an empty folder and works there, with every file of client/ behind an entry of its own", async () => {
    const file = packClient(projectRoot, join(folder, "out"));
    writeFileSync(join(folder, "package.json"), '{"private": true, "type": "module"}');
    const install = ["install", file, "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    expect(spawnSync("npm", install, { cwd: folder, encoding: "utf8" }).status).toBe(0);
    expect(readdirSync(join(folder, "node_modules")).filter((name) => !name.startsWith("."))).toEqual(["autowithdraw-client"]);
    const { exports, dependencies } = JSON.parse(
      readFileSync(join(folder, "node_modules/autowithdraw-client/package.json"), "utf8"),
    );
    const sources = readdirSync(join(projectRoot, "client")).filter((name) => name.endsWith(".ts"));
    expect(
      Object.values<{ default: string }>(exports)
        .map((entry) => entry.default)
        .sort(),
    ).toEqual(sources.map((name) => `./${name.replace(/ts$/, "js")}`).sort());
    expect(dependencies).toBeUndefined();

    const shop = `import { createClient } from "autowithdraw-client";
      import { createTokenMaker } from "autowithdraw-client/signature-token";
      const key = { apiKey: process.env.SHOP_KEY };
      const client = createClient({ baseUrl: process.env.BASE_URL, key });
      const { ok, value } = await client.supportedCurrency();
      const token = createTokenMaker(key)();
      console.log(JSON.stringify([ok, value.map(({ id }) => id), token.split(".").length]));`;
    writeFileSync(join(folder, "shop.js"), shop);
    const env = { PATH: process.env.PATH, SHOP_KEY: gateway.merchant.shopKey, BASE_URL: gateway.url };
    // Not spawnSync, because the gateway of the request runs in this process.
    const { stdout } = await promisify(execFile)(process.execPath, ["shop.js"], { cwd: folder, env });
    expect(JSON.parse(stdout)).toEqual([true, ["eth", "usdt"], 3]);
  });

  it("the client's package has types that another project's compiler reads, and that refuse an amount that is a number", () => {
    mkdirSync(join(folder, "node_modules/@types"), { recursive: true });
    for (const name of ["@types/node", "undici-types"])
      symlinkSync(join(projectRoot, "node_modules", name), join(folder, "node_modules", name));
    const source = (amount: string) => `import { createClient, type Result } from "autowithdraw-client";
      import type { WithdrawalResult } from "autowithdraw-client/records";
      const client = createClient({ baseUrl: "https://pay.example.com", key: { apiKey: "" } });
      const result: Result<WithdrawalResult> = await client.autoWithdraw({ currency: "eth", amount: ${amount}, address: "0x", orderId: "a" });
      if (!result.ok) { const retry: "never" | "later" | "same-order" | "new-order" = result.retry; void retry; }
      export {};`;
    writeFileSync(join(folder, "good.ts"), source('"0.5"'));
    writeFileSync(join(folder, "bad.ts"), source("0.5"));
    const options = [
      "--noEmit",
      "--strict",
      "--skipLibCheck",
      "--module",
      "nodenext",
      "--target",
      "es2022",
      "--types",
      "node",
      "--lib",
      "es2022",
    ];
    const compiler = join(projectRoot, "node_modules", "typescript", "bin", "tsc");
    const { stdout } = spawnSync(process.execPath, [compiler, ...options, "good.ts", "bad.ts"], {
      cwd: folder,
      encoding: "utf8",
    });
    expect(stdout.trim()).toMatch(/^bad\.ts\(4,\d+\): error TS2322: Type 'number' is not assignable to type 'string'\.$/);
  });
});
