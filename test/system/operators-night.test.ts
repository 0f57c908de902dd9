/**
 * An operator's night on a bare Debian 12: release archive, install, pairing, payments, a reboot,
 * and everything that goes wrong at night. Each fault ends as in its document, `status` names it,
 * and no order is paid twice or above the limit of the moment.
 */
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Mnemonic } from "ethers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { localGateway, projectRoot } from "../../lab/kit/kit.ts";
import { run, until } from "../../lab/kit/processes.ts";
import { keys } from "../support/pty.ts";
import { Machine, whyNoMachine } from "./machine.ts";
import { Night, type Order, type ProcessName, processes } from "./night.ts";
import { TestNetwork } from "./test-network.ts";

const why = whyNoMachine();
if (why !== "")
  process.stderr.write(
    `\n*** SKIPPED here: an operator's night in a booted machine. To run it: ${why}\n\n`,
  );

const here = mkdtempSync(join(tmpdir(), "autowithdraw-night-"));
/** The machine has no registry: npm takes packages from the cache that it is given. */
const offline = "npm_config_offline=true npm_config_cache=/srv/npm-cache";
const gatewayUrl = "http://127.0.0.1:8080";
const names = Object.keys(processes) as ProcessName[];
const binds = [`${join(here, "release")}:/mnt/release`, `${join(here, "npm")}:/mnt/npm`];
const afterwards: (() => Promise<void>)[] = [];
let night: Night;
let moved: ReturnType<typeof freshServer> | undefined;
/** The agent is installed, and its files stand aside in /root. */
let isInstalled = false;

/**
 * The archive of this tree, and a cache of npm that holds its packages, since the machine has no
 * registry.
 */
async function makeRelease(): Promise<void> {
  const logFile = join(here, "log");
  const key = join(here, "release.key");
  await run("openssl", ["genpkey", "-algorithm", "ed25519", "-out", key], { cwd: here, logFile });
  chmodSync(key, 0o600);
  const args = [
    join(projectRoot, "dist", "packaging", "release", "release.js"),
    "--out",
    join(here, "release"),
    "--sign-key",
    key,
  ];
  const made = await run(process.execPath, args, { cwd: projectRoot, logFile });
  if (made.code !== 0) throw new Error(made.output);
  const archive = readdirSync(join(here, "release")).find((name) => name.endsWith(".tgz")) ?? "";
  const unpacked = join(here, "unpacked");
  mkdirSync(unpacked);
  await run(
    "tar",
    ["-xzf", join(here, "release", archive), "--strip-components=1", "-C", unpacked],
    { cwd: here, logFile },
  );
  for (const part of [unpacked, join(unpacked, "gateway")]) {
    const scratch = mkdtempSync(join(here, "packages-"));
    for (const name of ["package.json", "package-lock.json"])
      cpSync(join(part, name), join(scratch, name));
    const args = [
      "ci",
      "--omit=dev",
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      `--cache=${join(here, "npm")}`,
    ];
    const done = await run("npm", args, { cwd: scratch, logFile });
    if (done.code !== 0) throw new Error(done.output);
  }
}

async function installGateway(
  token: string,
): Promise<{ readonly apiKey: string; readonly shopKey: string }> {
  await night.must(
    "mkdir -p /srv/new && tar -xzf /mnt/release/*.tgz --strip-components=1 -C /srv/new && cp -a /mnt/npm /srv/npm-cache",
  );
  await night.must(`cd /srv/new && ${offline} node autowithdraw.js install --gateway --yes`);
  const config = {
    ...localGateway({
      port: 8080,
      nodeUrl: "http://127.0.0.1:8545",
      token,
      confirmations: "finalized",
    }),
    alerts: { url: "http://127.0.0.1:9910/alerts", agentAwayMinutes: 1 },
    metrics: { listen: "127.0.0.1:9465" },
  };
  const place = "/var/lib/autowithdraw-gateway/gateway.config.json";
  const merge = `const fs=require("fs");const f="${place}";fs.writeFileSync(f,JSON.stringify({...JSON.parse(fs.readFileSync(f)),...JSON.parse(process.argv[1])},null,2))`;
  const wrote = await night.machine.run(["node", "-e", merge, JSON.stringify(config)]);
  expect(wrote).toEqual({ code: 0, output: "" });
  await placeFile(night.machine, "/etc/systemd/system/pager.service", pagerUnit);
  await night.must("systemctl daemon-reload && systemctl enable --now pager autowithdraw-gateway");
  const created = await night.must(
    "autowithdraw-gateway merchant create 'Night shop' --json --config-out /tmp/config.json",
  );
  return JSON.parse(created) as { apiKey: string; shopKey: string };
}

const policy = {
  maxPerWithdrawal: "1",
  maxPerHour: "50",
  maxPerDay: "50",
  maxFee: "0.01",
  maxFeePerDay: "5",
  holdAbove: "0.9",
};
const mnemonic = Mnemonic.fromEntropy(randomBytes(16)).phrase;

/** The program of `notify`: it writes its input and its own rights to the journal. */
const tell = `#!/bin/bash
systemd-cat -t told
may=""
for place in /tmp /var/tmp /run/autowithdraw/courier /var/lib/autowithdraw/courier /dev/shm /run /etc /home /root /srv /var/log; do
  if touch "$place/.tell" 2>/dev/null; then rm "$place/.tell"; may="$may $place"; fi
done
if (: > /dev/tcp/127.0.0.1/8545) 2>/dev/null; then may="$may network"; fi
echo "$may" | systemd-cat -t tell-may
`;

/** The receiver of the gateway's `alerts`: it keeps them in a file. */
const pagerUnit = `[Service]
ExecStart=/usr/bin/node -e 'require("http").createServer((q,r)=>{q.pipe(require("fs").createWriteStream("/srv/alerts",{flags:"a"}));q.on("end",()=>r.end())}).listen(9910,"127.0.0.1")'
[Install]
WantedBy=multi-user.target
`;

async function placeFile(
  machine: Machine,
  path: string,
  text: string,
  mode = "644",
): Promise<void> {
  const done = await machine.sh(`cat > ${path} && chmod ${mode} ${path}`, { input: text });
  expect(done).toEqual({ code: 0, output: "" });
}

/** The lines of the block of a document that holds `words`, as an operator types them. */
function linesOf(document: string, words: string): readonly string[] {
  const blocks = readFileSync(join(projectRoot, "docs", document), "utf8").split("\n```");
  const block = blocks.filter((_, at) => at % 2 === 1).find((one) => one.includes(words)) ?? "";
  expect(block, `${document} has no block with ${words}`).not.toBe("");
  return block.split("\n").slice(1);
}

const yes = { after: "(yes/no) ", keys: `yes${keys.enter}` };

/** Changes config.json of the agent as an operator would with an editor; owner and mode stay. */
async function edit(change: string): Promise<void> {
  const program = `const fs=require("fs");const f="/etc/autowithdraw/config.json";const c=JSON.parse(fs.readFileSync(f));${change};fs.writeFileSync(f,JSON.stringify(c,null,2))`;
  expect(await night.machine.run(["node", "-e", program])).toEqual({ code: 0, output: "" });
}

/** Brings the machine to where each case begins: the files as installed, everything running. */
async function setRight(): Promise<void> {
  await night.testNetwork.ask("node", { how: "back" });
  const state = "/var/lib/autowithdraw";
  await night.must(
    [
      "systemctl stop squatter 2>/dev/null",
      "rm -f /etc/systemd/system/autowithdraw-gateway.service.d/clock.conf && systemctl daemon-reload",
      `[ ! -e /srv/secret ] || mv /srv/secret /var/lib/systemd/credential.secret`,
      `[ ! -e /srv/ledger ] || { systemctl stop autowithdraw.target; mv /srv/ledger ${state}/signer/ledger; }`,
      `rm -f ${state}/ballast`,
      "cmp -s /var/backups/config.json /etc/autowithdraw/config.json && cmp -s /var/backups/encKey.cred /etc/autowithdraw/encKey.cred || { cp -a /var/backups/config.json /var/backups/encKey.cred /etc/autowithdraw/ && systemctl restart autowithdraw.target; }",
      "systemctl start autowithdraw-gateway autowithdraw.target",
    ].join("; "),
  );
  await night.well();
}

async function installAgent(apiKey: string): Promise<void> {
  const stating = {
    notify: { command: ["/usr/local/bin/tell", "ops"] },
    metrics: { listen: "unix" },
  };
  const secrets = `Object.assign(c, ${JSON.stringify({ mnemonic, apiKey, ...stating })}); c.policy.eth = ${JSON.stringify(policy)}`;
  await placeFile(night.machine, "/usr/local/bin/tell", tell, "755");
  await night.must(
    `cd /srv/new && ${offline} node autowithdraw.js install --config /tmp/config.json --yes`,
  );
  await edit(secrets);
  await night.must("autowithdraw pair --yes");
  night.account = (await night.must("autowithdraw address eth")).trim();
}

/**
 * A second server for the agent, installed by the lines of the documents; its folder is that of the
 * release.
 */
async function freshServer(
  beside: Machine,
  encKey: string,
): Promise<{ readonly fresh: Machine; readonly cwd: string }> {
  const fresh = await Machine.make(binds, beside);
  afterwards.push(() => fresh.remove());
  await fresh.boot();
  await placeFile(fresh, "/usr/local/bin/tell", tell, "755");
  await placeFile(fresh, "/srv/encKey", encKey, "600");
  expect((await fresh.sh("cp /mnt/release/* /srv/ && cp -a /mnt/npm /srv/npm-cache")).code).toBe(0);
  for (const block of ["install -m 0644 autowithdraw-release.pub", "sha256sum --check"])
    await night.typed(fresh, linesOf("install.md", block).join(" && "), [], { cwd: "/srv" });
  const cwd = (await fresh.sh("ls -d /srv/autowithdraw-*/")).output.trim();
  const env = { npm_config_offline: "true", npm_config_cache: "/srv/npm-cache" };
  await night.typed(fresh, restoringLines()[0] ?? "", [yes], { cwd, env });
  return { fresh, cwd };
}

const restoringLines = (): readonly string[] =>
  linesOf("install.md", "autowithdraw restore").map((line) => line.replace("FILE", "/srv/encKey"));

describe.runIf(why === "")("an operator's night", () => {
  beforeAll(async () => {
    for (const part of ["release", "npm"]) mkdirSync(join(here, part));
    const released = makeRelease();
    released.catch(() => {});
    // The machine boots meanwhile; it sees what comes into the two folders later.
    const machine = await Machine.make(binds);
    machine.takeNode();
    await machine.boot();
    night = new Night(machine, new TestNetwork(machine));
    await released;
  }, 900_000);

  // A case that failed half-way leaves nothing to the next one.
  beforeEach(async () => {
    if (isInstalled) await setRight();
  });

  afterAll(async () => {
    for (const act of afterwards) await act();
    await night.testNetwork.close();
    await night.machine.remove();
    rmSync(here, { recursive: true, force: true });
  });

  it("leads from a bare server to a first payment", async () => {
    const { token } = await night.testNetwork.ask<{ token: string }>("chain");
    const { apiKey, shopKey } = await installGateway(token);
    await night.testNetwork.ask("shop", { gatewayUrl, shopKey });
    await installAgent(apiKey);
    await night.must("systemctl enable --now autowithdraw.target");
    await night.must(
      "cp -a /etc/autowithdraw/config.json /etc/autowithdraw/encKey.cred /var/backups/",
    );
    isInstalled = true;
    await night.testNetwork.ask("fund", {
      address: night.account,
      wei: `${20n * 10n ** 18n}`,
      units: "1000000000",
    });
    await night.well();
    await night.works();
    await night.must(
      "adduser --disabled-password --gecos '' alice && usermod -aG autowithdraw-operators alice",
    );
    await night.must("autowithdraw status", 0, "alice");
    await night.must("autowithdraw address eth", 0, "alice");
    await night.must("autowithdraw verify", 0, "alice");
    await night.must("adduser --disabled-password --gecos '' bob");
    expect(await night.must("autowithdraw status", 5, "bob")).toContain("autowithdraw-operators");
  });

  it("the installed agent pays after a reboot, and what was open before it", async () => {
    const before = await night.order("0.02");
    await night.machine.shutDown();
    await night.machine.boot();
    await night.paid(before);
    await night.well();
    await night.works();
  });

  it("the installed agent tells of what waits for an operator, who decides on a terminal, and serves its numbers", async () => {
    const order = await night.order("0.95");
    const { transactionId: id } = order.answer;
    const told = await until("somebody is told", 30_000, async () => {
      const lines = (await night.must("journalctl -t told -o cat"))
        .split("\n")
        .filter((line) => line.includes(id));
      return lines.length > 0 ? lines : undefined;
    });
    expect(told.map((line) => JSON.parse(line))).toMatchObject([
      { event: "withdrawal-held", subject: id, process: "courier" },
    ]);
    const may = await until("what the command may do", 10_000, async () => {
      const [line] = (await night.must("journalctl -t tell-may -o cat -n 1")).trim().split("\n");
      return line === "" ? undefined : line;
    });
    expect(may?.trim().split(" ")).toEqual([
      ...[
        "/tmp",
        "/var/tmp",
        "/run/autowithdraw/courier",
        "/var/lib/autowithdraw/courier",
        "/dev/shm",
        "network",
      ],
    ]);
    const approve = (answer: string, code: number): Promise<string> =>
      night.typed(
        night.machine,
        `autowithdraw approve ${id}`,
        [{ ...yes, keys: answer }],
        { user: "alice" },
        code,
      );
    for (const answer of [`no${keys.enter}`, keys.ctrlC, keys.ctrlD])
      expect(await approve(answer, 1)).toContain(
        "\nautowithdraw: not answered with yes: nothing was changed\n",
      );
    expect(await approve(yes.keys, 0)).toContain("now approved: 0.95 eth to");
    await night.paid(order);
    const numbers = await night.must(
      'node -e \'require("http").get({socketPath:"/var/lib/autowithdraw/courier/metrics.sock",path:"/metrics"},(r)=>r.pipe(process.stdout))\'',
    );
    expect(numbers).toMatch(/^autowithdraw_link_up 1$/m);
    expect(numbers).toMatch(/^autowithdraw_alerts_total\{.*told.*\} [1-9]/m);
    const service = await night.must(
      "node -e 'fetch(\"http://127.0.0.1:9465/metrics\").then((r)=>r.text()).then(console.log)'",
    );
    expect(service).toMatch(/^autowithdraw_gateway_agents\{.*connected.*\} 1$/m);
  });

  for (const signal of ["KILL", "TERM", "HUP"]) {
    it(`the installed agent goes on after SIG${signal} of each process, each in the middle of an order`, async () => {
      const orders: Promise<Order>[] = [];
      for (const name of names) {
        const pid = await night.pid(name);
        orders.push(night.order("0.001"));
        await night.must(`kill -${signal} ${pid}`);
      }
      for (const order of orders) await night.paid(await order);
      await night.well();
    });
  }

  it("the installed agent ends what hangs, and goes on", async () => {
    // As shipped it is a minute.
    for (const unit of ["crypto", "autowithdraw-signer", "autowithdraw-gateway"])
      await night.must(
        `mkdir -p /run/systemd/system/${unit}.service.d && printf '[Service]\\nWatchdogSec=15\\n' > /run/systemd/system/${unit}.service.d/sooner.conf`,
      );
    await night.must("systemctl daemon-reload && systemctl restart autowithdraw-gateway crypto");
    await night.well();
    // Meanwhile, since this mostly waits.
    moved = freshServer(night.machine, await night.must("cat /root/autowithdraw-encKey"));
    moved.catch(() => {});
    const rounds: ProcessName[][] = [
      ["signer"],
      ["courier"],
      ["gateway", "signer's launcher", "courier's launcher"],
    ];
    for (const stopped of rounds) {
      const before = await Promise.all(stopped.map((name) => night.pid(name)));
      await night.must(`kill -STOP ${before.join(" ")}`);
      const order = night.order("0.001");
      await until(`${stopped.join(", ")} ended and started again`, 150_000, async () => {
        const now = await Promise.all(stopped.map((name) => night.pid(name)));
        return now.every((pid, at) => pid !== before[at]) ? true : undefined;
      });
      await night.paid(await order);
    }
    await night.well();
  });

  it("the installed agent waits for a gateway that is down, and says so; one whose port was taken starts once it is free", async () => {
    await night.must("systemctl stop autowithdraw-gateway");
    await night.says(1, /link to the gateway is down/);
    await night.must(
      'systemd-run --unit=squatter node -e \'require("net").createServer().listen(8080,"127.0.0.1")\'',
    );
    await night.must(
      "systemctl start --no-block autowithdraw-gateway; sleep 4; ! systemctl is-active autowithdraw-gateway",
    );
    await night.must("systemctl stop squatter");
    await night.well();
    await night.works();
  });

  it("the installed agent waits for a node that is away, and says so", async () => {
    await night.testNetwork.ask("node", { how: "away" });
    await night.says(1, /too few nodes of local can be used/);
    await night.testNetwork.ask("node", { how: "back" });
    await night.well();
    await night.works();
  });

  it("the installed agent goes by a lowered limit after whatever the documents tell people to type", async () => {
    // Each line once, and then a hand that types it twenty times without a pause.
    const lines = [
      "systemctl restart crypto",
      "systemctl restart autowithdraw.target",
      "systemctl stop crypto; systemctl start crypto",
      "systemctl stop autowithdraw.target; systemctl start autowithdraw.target",
      "systemctl reload crypto",
      "systemctl restart autowithdraw-signer",
    ];
    // A reload is refused while a restart is under way, which takes the file by itself.
    const commands = lines.flatMap((line) => [line, `for i in $(seq 20); do ${line}; done; true`]);
    for (const [at, command] of commands.entries()) {
      const limit = 0.69 - at / 20;
      await edit(
        `c.policy.eth.maxPerWithdrawal = "${limit.toFixed(2)}"; c.policy.eth.holdAbove = "0.04"`,
      );
      await night.says(1, /config\.json/);
      await night.must(command);
      await night.well();
      // Below every limit that was in force before, and above the one of now.
      const tooMuch = await night.order((limit + 0.02).toFixed(2));
      expect(tooMuch.answer, command).toMatchObject({ status: 422 });
      await night.works("0.03");
    }
    await edit(`c.policy.eth = ${JSON.stringify(policy)}`);
    await night.must("systemctl reload crypto");
    await night.works("0.5");
  }, 900_000);

  it("the installed agent keeps the old config when the new one is wrong, and says why", async () => {
    await edit("c.polcy = {}");
    const said = await night.must("systemctl reload crypto", 1);
    expect(
      said +
        (await night.must(
          "journalctl -t autowithdraw-signer -t autowithdraw-courier -p warning -n 40 --no-pager",
        )),
    ).toContain("polcy");
    await night.works();
    await night.must("systemctl restart autowithdraw.target || true");
    await night.says(3, /polcy/);
    await edit("delete c.polcy");
    await night.must("systemctl restart autowithdraw.target");
    await night.well();
    await night.works();
  });

  it("the installed agent says that encKey is another one, and that a credential is of another machine", async () => {
    await night.must("cp -a /etc/autowithdraw/encKey.cred /srv/encKey.cred");
    await night.must(
      "head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \\n' | systemd-creds encrypt --name=encKey - /etc/autowithdraw/encKey.cred",
    );
    await night.must("systemctl restart autowithdraw.target || true");
    await night.says(3, /encKey/);
    await night.must(
      "cp -a /srv/encKey.cred /etc/autowithdraw/encKey.cred && mv /var/lib/systemd/credential.secret /srv/secret",
    );
    await night.must("systemctl restart autowithdraw.target || true");
    await night.says(3, /credential/);
    await night.must(
      "mv /srv/secret /var/lib/systemd/credential.secret && systemctl restart autowithdraw.target",
    );
    await night.well();
    await night.works();
  });

  it("the installed agent says that the ledger is gone, and signs nothing", async () => {
    await night.must(
      "systemctl stop autowithdraw.target && mv /var/lib/autowithdraw/signer/ledger /srv/ledger",
    );
    await night.must("systemctl start autowithdraw.target || true");
    await night.says(3, /ledger is missing/);
    const order = await night.order("0.01");
    await night.must(
      "systemctl stop autowithdraw.target; mv /srv/ledger /var/lib/autowithdraw/signer/ledger && systemctl start autowithdraw.target",
    );
    await night.paid(order);
    await night.well();
  });

  it("the installed agent says that the clocks are apart, and signs nothing meanwhile", async () => {
    const order = await night.order("0.01");
    await night.paid(order);
    const place = "/etc/systemd/system/autowithdraw-gateway.service.d";
    await night.must(
      `mkdir -p ${place} && printf '[Service]\\nUnsetEnvironment=\\nWatchdogSec=0\\nEnvironment=LD_PRELOAD=/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1 FAKETIME=+1h\\n' > ${place}/clock.conf`,
    );
    await night.must("systemctl daemon-reload && systemctl restart autowithdraw-gateway crypto");
    await night.says(1, /CLOCK_SKEW/);
    await night.must(
      `rm -r ${place} && systemctl daemon-reload && systemctl restart autowithdraw-gateway crypto`,
    );
    await night.well();
    await night.works();
  });

  it("the installed agent begins nothing new on a full disk, says so, and goes on when there is room", async () => {
    const state = "/var/lib/autowithdraw";
    await night.must(
      `systemctl stop autowithdraw.target && cp -a ${state} /srv/state && mount -t tmpfs -o size=90M,mode=0711 tmpfs ${state} && cp -a /srv/state/. ${state}/`,
    );
    await night.must("systemctl start autowithdraw.target");
    await night.says(0, /not wrong yet:.*free on the ledger's disk/s);
    await night.must(`head -c 60M /dev/zero > ${state}/ballast`);
    await night.says(1, /room/);
    const order = await night.order("0.01");
    expect(order.answer.status).not.toBe(422);
    await night.must(`rm ${state}/ballast`);
    await night.paid(order);
    await night.must(
      `systemctl stop autowithdraw.target && rm -rf /srv/state && cp -a ${state} /srv/state && umount ${state} && cp -a /srv/state/. ${state}/ && systemctl start autowithdraw.target`,
    );
    await night.well();
    await night.works();
  });

  it("the installed agent stays stopped when it is stopped, for every client", async () => {
    for (const name of ["autowithdraw.target", "crypto", "autowithdraw-signer"]) {
      await night.must(`systemctl stop ${name}`);
      await night.says(3, /systemctl start autowithdraw\.target/);
      await night.must("! systemctl is-active autowithdraw-signer");
      await night.must("systemctl start autowithdraw.target");
      await night.well();
    }
    for (const line of [
      "systemctl stop crypto; systemctl start autowithdraw-signer",
      "systemctl restart autowithdraw-signer",
    ]) {
      await night.must(line);
      await night.well();
    }
    await night.works();
  });

  it("the installed agent upgrades while orders wait, and uninstalls without taking ledger or key", async () => {
    const order = await night.order("0.02");
    await night.must(`cd /srv/new && ${offline} node autowithdraw.js upgrade --yes`);
    await night.paid(order);
    await night.well();
    expect(await night.must("autowithdraw --version")).toMatch(/^autowithdraw \d+\.\d+\.\d+\n$/);
    await night.must("autowithdraw doctor || test $? -eq 1");
    const books = await night.balanceTheBooks();
    expect(books.paid).toBeGreaterThan(30);
    const said = await night.must("autowithdraw uninstall --yes");
    expect(said).toContain("/var/lib/autowithdraw");
    await night.must(
      "test -s /var/lib/autowithdraw/signer/keystore.json && ls /var/lib/autowithdraw/signer/ledger/*.jsonl && test -e /etc/autowithdraw/encKey.cred",
    );
    await night.must(
      "! systemctl is-active autowithdraw-signer; ! test -e /etc/systemd/system/autowithdraw-courier.service; ! test -e /usr/local/bin/autowithdraw && ! ls /usr/local/share/man/man1/crypto.1",
    );
    // The files that uninstall left are enough to go on.
    await night.must(
      `cd /srv/new && ${offline} node autowithdraw.js install --yes && systemctl start autowithdraw.target`,
    );
    await night.works();
    await night.balanceTheBooks();
  });

  it("the installed agent comes back on another machine from a backup, by the lines of the documents alone", async () => {
    const old = night.machine;
    const encKey = (await night.must("cat /root/autowithdraw-encKey")).trim();
    const typedKey = { after: "encKey: ", keys: `${encKey}${keys.enter}` };
    for (const line of linesOf("operations.md", "autowithdraw backup agent.backup"))
      await night.typed(old, line, [typedKey]);
    const { agent } = (
      JSON.parse((await night.status("--json")).output) as { status: { agent: string } }
    ).status;
    // The backup is old from the next payment on.
    await night.works();
    await night.must("systemctl disable --now autowithdraw.target");
    moved ??= freshServer(old, encKey);
    const { fresh, cwd } = await moved;
    cpSync(join(old.root, "agent.backup"), join(fresh.root, cwd, "agent.backup"));
    for (const line of restoringLines().slice(1)) await night.typed(fresh, line, [], { cwd });
    night.agentOn = fresh;
    await night.says(4, /LEDGER_BEHIND_GATEWAY/);
    await until("the service is alerted", 30_000, async () => {
      const alerts = await night.must("cat /srv/alerts");
      return alerts.includes(`"event":"agent-locked"`) ? true : undefined;
    });
    // docs/recovering.md, section 3.
    await night.must(`autowithdraw-gateway agents recover ${agent}`);
    await night.says(4, /RECOVERY_OFFERED/);
    await night.typed(fresh, "autowithdraw recover", [yes]);
    await night.well();
    await night.works();
    await night.balanceTheBooks();
  });
});
