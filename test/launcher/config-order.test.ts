/**
 * Signer and courier as two services that each start with a copy of config.json, as systemd makes
 * one: in whatever order they are stopped and started after an edit, both end with the file that is
 * there. Real processes.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readConfig } from "../../agent/config/config.ts";
import { configDigest } from "../../agent/config/digest.ts";
import { socketPaths, stateFolder } from "../../agent/files/state-folder.ts";
import { createSocketClient } from "../../agent/socket/client.ts";
import type { OperatorAnswers, OperatorRequests } from "../../agent/socket/verbs.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { type StartedProcess, start, until } from "../../lab/kit/processes.ts";
import { share } from "../../lab/kit/share.ts";
import { startsTheBuild } from "../support/built.ts";
import { pairsOnce } from "../support/paired-crypto.ts";

startsTheBuild();

const { agent } = pairsOnce();
type Role = "signer" | "courier";

/** A unit with `Restart=always`, `RestartPreventExitStatus=2 4` and a credential. */
class Unit {
  readonly #role: Role;
  #process: StartedProcess | null = null;
  #isWanted = false;
  starts = 0;
  lastCode: number | null = null;

  constructor(role: Role) {
    this.#role = role;
  }

  start(): void {
    this.#isWanted = true;
    if (this.#process !== null) return;
    const copy = join(agent.dir, `${this.#role}.json`);
    const text = readFileSync(agent.config, "utf8");
    writeFileSync(copy, this.#role === "signer" ? text : text.replace(/ {2}"encKey".*\n/, ""), {
      mode: 0o600,
    });
    const words = [
      "--config",
      copy,
      "--config-source",
      agent.config,
      "--state",
      agent.state,
      "--role",
      this.#role,
    ];
    const started = start(process.execPath, [join(projectRoot, "crypto.js"), ...words], {
      ...{ cwd: agent.dir, logFile: agent.log, env: process.env },
    });
    this.#process = started;
    this.starts += 1;
    void started.ended.then((code) => {
      this.#process = null;
      this.lastCode = code;
      if (this.#isWanted && code !== 2 && code !== 4) this.start();
    });
  }

  async stop(): Promise<void> {
    this.#isWanted = false;
    this.#process?.child.kill("SIGTERM");
    await this.#process?.ended;
  }

  async restart(): Promise<void> {
    await this.stop();
    this.start();
  }
}

const units: Readonly<Record<Role, Unit>> = {
  signer: new Unit("signer"),
  courier: new Unit("courier"),
};
afterAll(() => Promise.all([units.courier.stop(), units.signer.stop()]));

/** Both run, and go by the file that is there: a test begins with what the one before it left. */
async function begin(): Promise<void> {
  units.signer.start();
  units.courier.start();
  await bothGoBy(limitOf());
}

const limitOf = (): string =>
  configDigest(readConfig(agent.config, { requireSecrets: [] }).settings);

let edits = 0;
/** Every edit gives the file a content that it never had. */
function edit(): void {
  edits += 1;
  const limit = `0.${String(edits).padStart(4, "0")}`;
  const config = JSON.parse(readFileSync(agent.config, "utf8")) as {
    policy: { eth: { maxPerWithdrawal: string } };
  };
  config.policy.eth.maxPerWithdrawal = limit;
  writeFileSync(agent.config, `${JSON.stringify(config, null, 2)}\n`);
}

async function bothGoBy(digest: string): Promise<void> {
  const path = socketPaths(stateFolder(agent.state)).operator;
  let last: unknown;
  await until(
    `both go by ${digest}`,
    60_000,
    async () => {
      const client = createSocketClient<OperatorRequests, OperatorAnswers>(path, {
        timeoutMs: 5_000,
      });
      last = await client.request("status", {}).catch((error: unknown) => error);
      client.close();
      const { status } = last as Partial<OperatorAnswers["status"]>;
      return status?.config.digest === digest && status.courier?.configDigest === digest
        ? true
        : undefined;
    },
    () => JSON.stringify(last),
  );
}

type Act = (both: Readonly<Record<Role, Unit>>) => Promise<void>;
const orders: readonly (readonly [name: string, act: Act])[] = [
  [
    "the courier alone, whose stop would have stopped the signer",
    ({ courier }) => courier.restart(),
  ],
  ["the signer alone", ({ signer }) => signer.restart()],
  [
    "the courier first, and the signer while the file is changed once more",
    async ({ signer, courier }) => {
      await courier.restart();
      edit();
      await signer.restart();
    },
  ],
  [
    "the signer first, and the courier while the file is changed once more",
    async ({ signer, courier }) => {
      await signer.restart();
      edit();
      await courier.restart();
    },
  ],
  [
    "the courier many times, with an edit before each",
    async ({ courier }) => {
      for (let turn = 0; turn < share(20, 2); turn += 1) {
        edit();
        await courier.restart();
      }
    },
  ],
];

describe("after an edit of config.json", () => {
  it.each(orders)(
    "both go by the new file after a restart of %s",
    async (_, act) => {
      await begin();
      edit();
      await act(units);
      await bothGoBy(limitOf());
    },
    180_000,
  );

  it("neither ends for the other while the file has not changed", async () => {
    await begin();
    const [signer, courier] = [units.signer.starts, units.courier.starts];
    await units.courier.restart();
    await bothGoBy(limitOf());
    expect([units.signer.starts, units.courier.starts]).toEqual([signer, courier + 1]);
  });
});
