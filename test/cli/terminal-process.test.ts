/**
 * Questions on a real terminal, through the program itself: only the complete word yes lets
 * anything happen. Every other way out changes nothing, prints the reason on a line of its own, and
 * has the exit code of a clear no.
 */
import { randomBytes } from "node:crypto";
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { makePrivateFolder, socketPaths, stateFolder } from "../../agent/files/state-folder.ts";
import { BackupWriter } from "../../cli/backup/format.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { startsTheBuild } from "../support/built.ts";
import { held, OperatorSocket, transactionId } from "../support/operator-socket.ts";
import { hasScript, keys, onTerminal } from "../support/pty.ts";

startsTheBuild();
if (!hasScript)
  process.stderr.write(
    "\n*** SKIPPED for want of script: questions on a real terminal. To run it: apt-get install bsdutils\n\n",
  );

const dir = mkdtempSync(join(tmpdir(), "aw-terminal-"));
const state = stateFolder(join(dir, "state"));
const signer = new OperatorSocket();
const waiting = { until: 0, isNew: false, likeness: null, needsTwo: false, confirmed: null };

const typed = (command: string, answer: string) => {
  const words = [
    process.execPath,
    join(projectRoot, "autowithdraw.js"),
    command,
    transactionId,
    "--state",
    state.root,
  ];
  return onTerminal(words, [{ after: "(yes/no) ", keys: answer }], dir);
};
const decisions = (): readonly string[] =>
  signer.asked.map(({ verb }) => verb).filter((verb) => verb !== "show");

afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe.runIf(hasScript)("approve and refuse on a terminal", () => {
  beforeAll(async () => {
    for (const folder of [state.root, state.signer, state.courier, state.run])
      makePrivateFolder(folder);
    signer.answers = {
      show: () => ({ withdrawal: held, history: [], wait: waiting, outgoing: [] }),
      approve: () => ({ withdrawal: { ...held, state: "approved", code: "" }, wait: null }),
      refuse: () => ({ withdrawal: { ...held, state: "refused", code: "OPERATOR_REFUSED" } }),
    };
    await signer.open(socketPaths(state).operator);
  });
  beforeEach(() => {
    signer.asked.length = 0;
  });
  afterAll(() => signer.close());

  it.each(["approve", "refuse"])("%s shows all of it, asks, and goes by a yes", async (command) => {
    const { code, output } = await typed(command, `yes${keys.enter}`);
    expect([code, decisions()], output).toEqual([0, [command]]);
    expect(output.indexOf(held.address)).toBeLessThan(output.indexOf("(yes/no) yes\n"));
    expect(output).toMatch(/\nnow (approved|refused): /);
  });

  const noes = [
    ["no", `no${keys.enter}`],
    ["y", `y${keys.enter}`],
    ["nothing", keys.enter],
    ["Ctrl-C", keys.ctrlC],
    ["Ctrl-C after a yes that was not sent", `yes${keys.ctrlC}`],
    ["Ctrl-D", keys.ctrlD],
  ] as const;

  // Half of them, which half is drawn, so that the quick tier types each in time.
  it.each(noes)("approve and refuse on a terminal: %s is no yes", async (_, answer) => {
    const { code, output } = await typed("approve", answer);
    expect([code, decisions()], output).toEqual([1, []]);
    expect(output).toMatch(
      /\(yes\/no\) \w*\nautowithdraw: not answered with yes: nothing was changed\nhint: run it again and answer with the whole word yes\n$/,
    );
  });
});

describe.runIf(hasScript)("encKey on a terminal", () => {
  const file = join(dir, "sealed.backup");
  const check = (answer: string) =>
    onTerminal(
      [
        process.execPath,
        join(projectRoot, "autowithdraw.js"),
        "backup",
        "--check",
        file,
        "--state",
        state.root,
      ],
      [{ after: "encKey: ", keys: answer }],
      dir,
    );
  beforeAll(() => {
    // No more of a backup than asks for a key.
    new BackupWriter(randomBytes(32), randomBytes, (bytes) => appendFileSync(file, bytes));
  });

  it.each([
    ["Ctrl-C", keys.ctrlC],
    ["Ctrl-D", keys.ctrlD],
  ])("is given up by %s", async (_, answer) => {
    const { code, output } = await check(answer);
    expect([code, output]).toEqual([
      2,
      expect.stringMatching(/^encKey: \nautowithdraw: no encKey was typed\nhint: .+\n$/),
    ]);
  });

  it("is not shown", async () => {
    const secret = randomBytes(32).toString("hex");
    const { output } = await check(`${secret}${keys.enter}`);
    expect(output).toMatch(/^encKey: \n[\s\S]*autowithdraw: /);
    expect(output).not.toContain(secret);
  });
});
