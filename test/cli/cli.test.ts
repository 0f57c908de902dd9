/**
 * The commands as people see them: each file of test/cli is a transcript, its `$` lines are run,
 * and the complete output must stand there, exit code included. A signer with scripted answers
 * stands behind the socket.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { kit, ordinary, run, Screen, usesTheKit } from "../support/command-kit.ts";
import { faults, scenes, states } from "../support/command-scenes.ts";
import { internalScenes, nextScenes } from "../support/next-scenes.ts";
import { well } from "../support/operator-socket.ts";

usesTheKit();

const allScenes = { ...scenes, ...nextScenes, ...internalScenes };

const folder = fileURLToPath(new URL("../cli", import.meta.url));

describe("transcripts", () => {
  const files = readdirSync(folder).filter((name) => name.endsWith(".txt"));
  it("of autowithdraw are there", () => expect(files.length).toBeGreaterThanOrEqual(5));

  it.each(files)("of autowithdraw: %s", async (file) => {
    const lines = readFileSync(join(folder, file), "utf8").split("\n");
    const said: string[] = [];
    const screen = new Screen();
    for (const line of lines) {
      if (line.startsWith("# ")) {
        said.push(line);
        const [, what, value = ""] = /^# (scene|terminal|answer): (.*)$/.exec(line) ?? [];
        if (what === "scene") {
          kit.machine = ordinary;
          // The scene before may have closed it.
          await kit.signer.close();
          await kit.signer.open(join(kit.state, "run", "operator.sock"));
          await allScenes[value]?.();
        }
        if (what === "terminal") screen.isInteractive = value === "yes";
        if (what === "answer") screen.answer = value;
      }
      if (!line.startsWith("$ ")) continue;
      screen.text = "";
      const { code } = await run(line.slice(2).replace(/^autowithdraw /, ""), screen);
      const text = screen.text.replaceAll(kit.state, "STATE").replaceAll(kit.dir, "DIR");
      said.push(line, `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}[exit ${code}]`, "");
    }
    await expect(`${said.join("\n").trimEnd()}\n`).toMatchFileSnapshot(join(folder, file));
  });
});

describe("the transcripts", () => {
  const textOf = (file: string): string => readFileSync(join(folder, file), "utf8");

  it("show every state of a withdrawal, each with the next step or none", () => {
    const text = textOf("states.txt");
    for (const state of Object.keys(well.counts))
      expect(text, state).toMatch(new RegExp(`^  state +${state}:`, "m"));
    const blocks = text.split("# scene: ").slice(1);
    expect(blocks.length).toBe(Object.keys(states).length);
    for (const block of blocks) {
      const verdict = /^ {2}now +(.*)$/m.exec(block)?.[1] ?? "";
      expect(verdict, block).toMatch(
        /^(?:goes on|waits|waits for an operator|STUCK|ended well|ended, nothing paid|FAILED): /,
      );
      if (/^(?:STUCK|FAILED|waits for an operator)/.test(verdict))
        expect(block).toMatch(/^ {18}do: /m);
    }
  });

  it("show at least forty faults, and each scene names the next step or ends by itself", () => {
    const blocks = textOf("faults.txt").split("# scene: ").slice(1);
    expect(blocks.length).toBe(Object.keys(faults).length);
    const wrong = [...blocks, ...textOf("status.txt").split("# scene: ").slice(1)].filter(
      (block) => !block.includes("[exit 0]"),
    );
    const troubled = Object.values(states).length - 14;
    expect(wrong.length + troubled).toBeGreaterThanOrEqual(40);
    for (const block of blocks.filter(
      (one) => /\[exit [1-5]\]/.test(one) && !one.includes("--held"),
    ))
      expect(block).toMatch(/hint: \S|not said yet/);
  });

  it("never advise to start crypto by hand when units run it", () => {
    for (const block of textOf("faults.txt").split("# scene: ")) {
      if (/units|on purpose|credential|a loop|failed w/.test(block.split("\n")[0] ?? ""))
        expect(block).not.toContain("node crypto.js");
    }
  });
});
