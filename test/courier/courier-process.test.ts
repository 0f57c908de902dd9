/** The courier's process, started as the launcher starts it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { writeLinkFile } from "../../agent/config/link-file.ts";
import { balanceWei } from "../../lab/kit/rpc.ts";
import { agentId } from "../../lab/kit/signer-kit.ts";
import { publicKeyHex } from "../../protocol/envelope.ts";
import { startsTheBuild } from "../support/built.ts";
import {
  anvil,
  cleanups,
  ether,
  kitOn,
  paid,
  receiver,
  startsAnvil,
} from "../support/courier-on-anvil.ts";
import { until } from "../support/until.ts";

startsTheBuild();
startsAnvil();

describe("the process", () => {
  const program = fileURLToPath(new URL("../../dist/agent/courier/main.js", import.meta.url));
  const flags = ["--disable-proto=throw", "--disallow-code-generation-from-strings"];

  const start = (settings: object | null) => {
    const child = spawn(process.execPath, [...flags, program], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { PATH: process.env.PATH },
    });
    const out = { stdout: "", stderr: "" };
    child.stdout.on("data", (chunk: Buffer) => {
      out.stdout += chunk.toString();
    });
    child.stderr.on("data", (chunk: Buffer) => {
      out.stderr += chunk.toString();
    });
    const ended = once(child, "exit").then(([code]) => code as number | null);
    cleanups.push(() => child.kill("SIGKILL"));
    if (settings !== null) {
      const text = Buffer.from(JSON.stringify(settings));
      const length = Buffer.alloc(4);
      length.writeUInt32BE(text.length);
      child.stdin.write(Buffer.concat([length, text]));
    }
    return { child, out, ended };
  };

  it.runIf(existsSync(program))(
    "the courier's process runs from its bootstrap to the end of its parent's pipe, and logs no secret",
    async () => {
      const kit = await kitOn();
      kit.stopCourier();
      const gatewayKey = publicKeyHex(kit.signer.gateway.key);
      const identity = {
        agent: agentId,
        ledgerEpoch: 1,
        gatewayKey,
        linkSeed: kit.linkKey.seed,
        gatewayUrl: kit.gateway.url,
      };
      writeLinkFile(kit.folder, identity);
      const { child, out, ended } = start(kit.settings);
      await until(() => out.stdout.includes('{"ready":true}\n'));
      const to = receiver();
      const { transactionId } = kit.gateway.order({ address: to });
      await paid(kit, transactionId);
      expect(await balanceWei(anvil.url, to)).toBe(ether);
      child.stdin.end();
      expect(await ended).toBe(0);
      expect(out.stderr).toContain("the link is up");
      expect(out.stderr).not.toContain(Buffer.from(kit.linkKey.seed).toString("hex"));
      expect(out.stderr).not.toMatch(/"raw"/);
    },
  );

  it.runIf(existsSync(program))(
    "the courier's process refuses to run without its link file, with an exit code that says configuration",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "courier-"));
      cleanups.push(() => rmSync(folder, { recursive: true }));
      const settings = {
        ...{
          gatewayUrl: "http://127.0.0.1:1",
          chains: {},
          currencies: {},
          stateDir: folder,
          signerSocket: join(folder, "s"),
        },
        logLevel: "info",
      };
      const { out, ended } = start(settings);
      expect(await ended).toBe(2);
      expect(out.stderr).toContain("LINK_FILE_MISSING");
    },
  );

  it.runIf(existsSync(program))(
    "the courier's process ends quietly when its parent goes before it has said anything",
    async () => {
      const { child, ended } = start(null);
      child.stdin.end();
      expect(await ended).toBe(0);
    },
  );
});
