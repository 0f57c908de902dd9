/**
 * Pairing as an operator runs it: every step, its questions, and the real gateway at the other end.
 * pairing-again.test.ts runs it again.
 */
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HDNodeWallet } from "ethers";
import { describe, expect, it } from "vitest";
import { runGatewayCommand } from "../../lab/kit/commands.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { freePort, start, stop, until } from "../../lab/kit/processes.ts";
import { runProgramHere } from "../../lab/kit/programs.ts";
import { knownMnemonic, usdt } from "../support/agent-folder.ts";
import {
  agent,
  eachTestItsPairing,
  fill,
  gateway,
  lastJson,
  ledgerLines,
  progress,
} from "../support/pairing.ts";

eachTestItsPairing();

describe("a first pairing", () => {
  it("seals, registers, begins the ledger and takes two secrets out of config.json", async () => {
    const before = fill();
    const done = await agent.pairProcess();
    expect(done.code, done.output).toBe(0);
    for (const step of ["installing", "sealing", "checking", "proving", "registering", "scrubbing"])
      expect(done.output).toContain(`  ${step}`);
    expect(gateway.shortCode).toMatch(/^[A-Z2-7]{4}-[A-Z2-7]{4}$/);
    expect(done.output).toContain(gateway.shortCode);

    const wallet = HDNodeWallet.fromPhrase(knownMnemonic, "", "m/44'/60'/0'/0/0");
    const deposits = HDNodeWallet.fromPhrase(knownMnemonic, "", "m/44'/60'/1'");
    const [request] = gateway.requests;
    expect(request?.transcript.accounts).toEqual([
      { family: "evm", purpose: "hot", id: wallet.address },
      { family: "evm", purpose: "deposits", id: deposits.neuter().extendedKey },
    ]);
    expect(done.output).toContain(wallet.address);
    expect(request?.transcript.networks).toEqual(["eip155:31337"]);
    expect(request?.transcript.currencies).toEqual([
      { id: "eth", network: "eip155:31337", contract: "", decimal: 18, maxFee: "0.02" },
      { id: "usdt", network: "eip155:31337", contract: usdt, decimal: 6, maxFee: "0.01" },
    ]);

    const after = readFileSync(agent.config, "utf8");
    const lines = before.split("\n").filter((line) => !/"(mnemonic|apiKey)"/.test(line));
    expect(after).toBe(lines.join("\n"));
    expect(statSync(agent.config).mode & 0o777).toBe(0o600);
    const [first] = ledgerLines();
    expect(JSON.parse(first ?? "")).toMatchObject({
      seq: 1,
      kind: "PAIRED",
      merchant: "m_test",
      ledgerEpoch: 1,
    });
    expect(progress().step).toBe("scrubbed");
    for (const [name, content] of agent.contents(agent.state))
      expect(content, name).toMatch(/^600 /);
    expect(existsSync(join(agent.state, "courier", "link.seed"))).toBe(false);
  });

  it("names the copies of config.json that keep what was taken out, with the line to type", async () => {
    const text = fill();
    writeFileSync(join(agent.dir, ".config.json.swp"), text);
    writeFileSync(join(agent.dir, "config.json~"), "{}");
    const done = await agent.pair("--json");
    expect(done.code, done.output).toBe(0);
    const path = join(agent.dir, ".config.json.swp");
    expect(lastJson(done.output).copies).toEqual([
      { path, secrets: ["mnemonic", "apiKey", "encKey"] },
    ]);
    expect(done.output).toContain(
      `pair: ${path} is a copy of config.json and still holds mnemonic, apiKey, encKey`,
    );
    expect(done.output).toContain(`hint: shred -u ${path}`);
    rmSync(path);
    expect(lastJson((await agent.pair("--json")).output).copies).toEqual([]);
  });

  it("leaves no secret in what it prints, sends or writes", async () => {
    fill();
    const done = await agent.pairProcess("--json");
    expect(done.code, done.output).toBe(0);
    const wallet = HDNodeWallet.fromPhrase(knownMnemonic, "", "m/44'/60'/0'");
    const secrets = [
      knownMnemonic,
      "junk",
      agent.encKey,
      gateway.secret,
      wallet.privateKey.slice(2),
      wallet.chainCode.slice(2),
    ];
    const places = new Map([
      ...agent.contents(agent.state),
      ["output", done.output],
      ["request", gateway.requests[0]?.body ?? ""],
    ]);
    for (const [place, content] of places) {
      for (const secret of secrets)
        expect(content.includes(secret), `${secret.slice(0, 4)}… in ${place}`).toBe(false);
    }
    expect(readFileSync(agent.config, "utf8")).toContain(agent.encKey);
  });

  it("prints one line of JSON when asked", async () => {
    fill();
    const done = await agent.pair("--json");
    expect(lastJson(done.output)).toMatchObject({
      ok: true,
      alreadyPaired: false,
      shortCode: gateway.shortCode,
      ledgerEpoch: 1,
      currencies: ["eth", "usdt"],
    });
  });

  it("takes encKey out of config.json too when it was given by file", async () => {
    fill();
    const file = join(agent.dir, "enc.key");
    writeFileSync(file, `${agent.encKey}\n`, { mode: 0o600 });
    const done = await agent.pair("--enc-key-file", file);
    expect(done.code, done.output).toBe(0);
    expect(readFileSync(agent.config, "utf8")).not.toContain("encKey");
    chmodSync(file, 0o644);
    expect(
      (
        await agent.launcher(
          "crypto.js",
          "--config",
          agent.config,
          "--state",
          agent.state,
          "--enc-key-file",
          file,
        )
      ).output,
    ).toContain("0644");
    const none = ["--enc-key-file", join(agent.dir, "none")];
    const away = await agent.launcher(
      "crypto.js",
      "--config",
      agent.config,
      "--state",
      agent.state,
      ...none,
    );
    expect(away.output).toContain("hint: name the file that holds encKey with --enc-key-file");
  });

  it("takes every secret from files", async () => {
    agent.writeConfig(gateway.url, {
      mnemonic: "<MNEMONIC>",
      apiKey: "<API_KEY>",
      encKey: "<ENCRYPTION_KEY>",
    });
    const files = {
      "--mnemonic-file": knownMnemonic,
      "--api-key-file": gateway.apiKey,
      "--enc-key-file": agent.encKey,
    };
    const args = Object.entries(files).flatMap(([option, secret]) => {
      const path = join(agent.dir, option.slice(2));
      writeFileSync(path, `${secret}\n`, { mode: 0o600 });
      return [option, path];
    });
    const done = await agent.pair(...args);
    expect(done.code, done.output).toBe(0);
    expect(gateway.requests.length).toBe(1);
  });
});

describe("without a yes", () => {
  const args = (): string[] => ["--config", agent.config];
  const left = "pair: this server is paired, but config.json still holds mnemonic and apiKey: ";

  it("the server is paired and the mnemonic stays without a terminal and --yes; words and exit code say both", async () => {
    const before = fill();
    const done = await agent.cli("pair", ...args(), "--json");
    expect(done.code, done.output).toBe(1);
    expect(lastJson(done.output)).toMatchObject({
      ...{
        ok: false,
        alreadyPaired: false,
        kept: ["mnemonic", "apiKey"],
        code: "PAIRING_SECRETS_KEPT",
      },
      shortCode: gateway.shortCode,
    });
    expect(readFileSync(agent.config, "utf8")).toBe(before);
    expect(progress().step).toBe("registered");
    const again = await agent.cli("pair", ...args());
    expect(again.code).toBe(1);
    expect(again.output).toContain(
      `${left}there is no terminal to ask whether the mnemonic is written down\nhint: `,
    );
    expect(again.output).toContain(
      "run pair again with the same options and --yes: it does only what is left",
    );
    expect(gateway.requests.length).toBe(1);
    const yes = await agent.cli("pair", ...args(), "--yes", "--json");
    expect(yes.code, yes.output).toBe(0);
    expect(lastJson(yes.output)).toMatchObject({
      ok: true,
      alreadyPaired: true,
      kept: [],
      shortCode: gateway.shortCode,
    });
    expect(readFileSync(agent.config, "utf8")).not.toContain("junk");
  });

  it("the mnemonic stays after a no to the question as well, and the hint does not say to fund the wallet", async () => {
    const before = fill();
    const { runCommand } = (await import(
      join(projectRoot, "dist", "cli", "main.js")
    )) as typeof import("../../cli/main.ts");
    let output = "";
    const asked: string[] = [];
    const say = (text: string): void => {
      output += text;
    };
    const code = await runCommand(["pair", ...args(), "--state", agent.state], {
      ...{
        out: say,
        err: say,
        user: "ann",
        isInteractive: true,
        now: Date.now,
        sleep: async () => false,
      },
      runProgram: runProgramHere,
      confirm: async (question) => {
        asked.push(question);
        return question.includes("wallet");
      },
    });
    const [wallet, written] = [
      "  Is this the wallet's address? (yes/no) ",
      "  Is it written down in another place? (yes/no) ",
    ];
    expect([code, asked]).toEqual([1, [wallet, written]]);
    expect(output).toContain(
      "paired, but not done: mnemonic and apiKey not taken out of config.json",
    );
    expect(output).toContain(`${left}nobody said whether the mnemonic is written down\nhint: `);
    expect(output).toContain("run pair again and answer yes: it does only what is left");
    expect(output).toContain(gateway.shortCode);
    expect(output).not.toContain("send funds");
    expect(readFileSync(agent.config, "utf8")).toBe(before);
  });
});

describe("the wallet that an operator means", () => {
  const first = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";

  it("is named: another mnemonic is refused before anything is sealed", async () => {
    fill();
    for (const [address, code, fault] of [
      ["0x70997970C51812dc3A010C7d01b50e0d17dc79C8", 1, "PAIRING_OTHER_WALLET"],
      ["0x7099", 2, "COMMAND_USAGE"],
    ] as const) {
      const other = await agent.pair("--json", "--expect-address", address);
      expect([other.code, lastJson(other.output).code], other.output).toEqual([code, fault]);
      expect(existsSync(join(agent.state, "signer", "keystore.json"))).toBe(false);
    }
    const right = await agent.pair("--expect-address", first.toLowerCase());
    expect(right.code, right.output).toBe(0);
  });

  it("is asked for on a terminal: a no seals nothing, and names the passphrase", async () => {
    const before = fill();
    const { runCommand } = (await import(
      join(projectRoot, "dist", "cli", "main.js")
    )) as typeof import("../../cli/main.ts");
    let output = "";
    const say = (text: string): void => {
      output += text;
    };
    const code = await runCommand(["pair", "--config", agent.config, "--state", agent.state], {
      ...{
        out: say,
        err: say,
        user: "ann",
        isInteractive: true,
        now: Date.now,
        sleep: async () => false,
      },
      runProgram: runProgramHere,
      confirm: async () => false,
    });
    expect(code, output).toBe(1);
    expect(output).toContain(`    ${first}  (`);
    expect(output).toContain("BIP-39");
    expect(output).toContain("pair: not answered with yes: nothing was sealed\nhint: ");
    expect(existsSync(join(agent.state, "signer", "keystore.json"))).toBe(false);
    expect(readFileSync(agent.config, "utf8")).toBe(before);
    expect((await agent.pair()).code).toBe(0);
  });
});

describe("with the real gateway", () => {
  it("pairing with the real gateway ends well, and both sides show the same short code", async () => {
    const gatewayJs = join(projectRoot, "gateway", "gateway.js");
    const options = { cwd: agent.dir, logFile: agent.log };
    const folder = join(agent.dir, "gateway");
    expect((await runGatewayCommand(["init", "--dir", folder])).code).toBe(0);
    const config = join(folder, "gateway.config.json");
    const port = await freePort();
    const own = JSON.parse(readFileSync(config, "utf8"));
    const here = {
      listen: { host: "127.0.0.1", port },
      publicUrl: `http://127.0.0.1:${port}`,
      prices: {},
    };
    writeFileSync(config, JSON.stringify({ ...own, ...here }));
    const create = [
      "merchant",
      "create",
      "Shop",
      "--json",
      "--config",
      config,
      "--config-out",
      agent.config,
    ];
    const made = await runGatewayCommand(create);
    const { apiKey } = JSON.parse(made.output.trim().split("\n").at(-1) ?? "");
    const supplied = readFileSync(agent.config, "utf8");
    const filled = supplied
      .replace("<MNEMONIC>", knownMnemonic)
      .replace("<API_KEY>", apiKey)
      .replace("<ENCRYPTION_KEY>", agent.encKey);
    writeFileSync(agent.config, filled);
    const serving = start(process.execPath, [gatewayJs, "start", "--config", config], options);
    try {
      await until(
        "the gateway",
        120_000,
        async () => ((await fetch(`http://127.0.0.1:${port}/health`)).ok ? true : undefined),
        serving.output,
      );
      const done = await agent.pair("--json");
      expect(done.code, done.output).toBe(0);
      const { shortCode, agent: id } = lastJson(done.output);
      const agents = await runGatewayCommand(["agents", "--config", config]);
      expect(agents.output).toContain(String(id));
      expect(agents.output).toContain(String(shortCode));
    } finally {
      await stop(serving);
    }
  });
});
