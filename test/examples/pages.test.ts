/**
 * The pages of examples/ against the programs that they name: commands, options, units, places and
 * the release's version are those of today.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { programVersion } from "../../base/version.ts";
import { readInstallCommand } from "../../cli/install/command-line.ts";
import { gatewayConfig, gatewayUser, layouts, takeAwayFile } from "../../cli/install/layout.ts";
import { commandTree } from "../../cli/main.ts";
import { buildGatewayCommands } from "../../gateway/command.ts";
import { projectRoot } from "../../lab/kit/kit.ts";

const read = (path: string): string => readFileSync(join(projectRoot, path), "utf8");
const pages = ["shop", "testnets", "nspawn", "notify"].map((name) => `examples/${name}/README.md`);
const shellOf = (page: string): string =>
  [...read(page).matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text]) => text).join("");
const nspawn = shellOf("examples/nspawn/README.md");

/** The command that these words name, as deep as the tree goes. */
function commandOf(top: Command, [name, ...words]: readonly string[]): Command | undefined {
  const found = top.commands.find((one) => one.name() === name);
  if (found === undefined || found.commands.length === 0) return found;
  // A group alone lists.
  return commandOf(found, words) ?? commandOf(found, ["list"]) ?? found;
}

/** Lines of the pages that call a program, as words after its name. */
const callsOf = (program: RegExp): string[][] =>
  pages.flatMap((page) =>
    [...read(page).matchAll(program)].map(([, words = ""]) => words.trim().split(/\s+/)),
  );

describe("the pages of examples/", () => {
  it("every command that a page types is one of the programs', with options that it has", () => {
    const agent = callsOf(/^`?(?:autowithdraw|node autowithdraw\.js) ([a-z][^\n`#]*)/gm);
    const gateway = callsOf(
      /^(?:autowithdraw-gateway|node gateway\/gateway\.js) ([a-z][^\n`#]*)/gm,
    );
    expect([agent.length > 8, gateway.length > 6]).toEqual([true, true]);
    for (const [top, calls] of [
      [commandTree(), agent] as const,
      [buildGatewayCommands(), gateway] as const,
    ]) {
      for (const words of calls.filter(([name]) => name !== "install" && name !== "pair")) {
        const command = commandOf(top, words);
        expect(command, words.join(" ")).toBeDefined();
        const known = [...(command?.options ?? []), ...(command?.parent?.options ?? [])].map(
          ({ long }) => long,
        );
        for (const option of words.filter((word) => word.startsWith("--")))
          expect(known, words.join(" ")).toContain(option);
      }
    }
    const installs = agent.filter(([name]) => name === "install").map(readInstallCommand);
    expect(installs.map(({ part, config }) => [part, config])).toEqual([
      ["gateway", undefined],
      ["agent", "/opt/config.json"],
    ]);
  });

  it("the recipe for systemd-nspawn names units, users, places and the release as the installer has them", () => {
    const units = [...nspawn.matchAll(/systemctl start (\S+)/g)].map(([, unit = ""]) => unit);
    expect(units).toEqual([layouts.gateway.unit, layouts.agent.unit]);
    for (const unit of units)
      expect(existsSync(join(projectRoot, "packaging/systemd", unit)), unit).toBe(true);
    expect(nspawn).toContain(
      `-o ${gatewayUser} -g ${gatewayUser} /opt/gateway.config.json ${gatewayConfig}`,
    );
    expect(nspawn).toContain(`shred -u ${takeAwayFile}`);
    const releases = [...nspawn.matchAll(/autowithdraw-(\d[\w.]*?)(?:\.tgz|$| )/gm)].map(
      ([, version]) => version,
    );
    expect([...new Set(releases)].map((version) => `autowithdraw ${version}`)).toEqual([
      programVersion,
    ]);
    for (const [, path = ""] of nspawn.matchAll(/ (examples\/\S+)/g))
      expect(existsSync(join(projectRoot, path)), path).toBe(true);
  });

  it("the machines of the recipe have what a booted test machine has, and loopback without TLS is enough for them", () => {
    const packages =
      /const packages = \[([^\]]*)\]/.exec(read("test/system/machine.ts"))?.[1] ?? "";
    const needed = [...packages.matchAll(/"([^"]+)"/g)]
      .map(([, name = ""]) => name)
      .filter((name) => name !== "libfaketime");
    const included = /--include=(\S+)/.exec(nspawn)?.[1]?.split(",") ?? [];
    expect(needed.length).toBeGreaterThan(5);
    expect(included).toEqual(expect.arrayContaining(needed));
    expect(read("examples/nspawn/machine.nspawn")).toMatch(/\[Network\]\nVirtualEthernet=no/);
    expect(JSON.parse(read("examples/testnets/config.json")).gatewayUrl).toBe(
      "http://127.0.0.1:8080",
    );
  });

  it("every link of a page leads to a file, and every folder of examples/ has a page", () => {
    expect(readdirSync(join(projectRoot, "examples")).sort()).toEqual([
      "notify",
      "nspawn",
      "shop",
      "testnets",
    ]);
    for (const page of pages)
      for (const [, link = ""] of read(page).matchAll(/\]\((?!https?:)([^)#]+)/g))
        expect(existsSync(join(projectRoot, page, "..", link)), `${page}: ${link}`).toBe(true);
  });
});

describe(".github", () => {
  it("the workflow runs .ci/run on a Node that the gateway takes, by actions of exact versions", () => {
    const workflow = read(".github/workflows/ci.yml");
    expect(workflow).toMatch(/^ {6}- run: \.ci\/run$/m);
    const uses = [...workflow.matchAll(/uses: (\S+)/g)].map(([, action]) => action);
    expect(uses.length).toBeGreaterThan(1);
    for (const action of uses) expect(action).toMatch(/^actions\/[a-z-]+@v\d+\.\d+\.\d+$/);
    expect(readdirSync(join(projectRoot, "test/runtimes"))).toContain(
      `node-${/node-version: (\d+)/.exec(workflow)?.[1]}`,
    );
  });

  it("the form for a problem asks for commands that are there", () => {
    const form = read(".github/ISSUE_TEMPLATE/problem.yml");
    const named = [...form.matchAll(/`autowithdraw(-gateway)? ([a-z]+)/g)];
    expect(named.map(([, , name]) => name)).toEqual(
      expect.arrayContaining(["status", "doctor", "health", "check"]),
    );
    for (const [, part, name] of named)
      expect(
        (part === undefined ? commandTree() : buildGatewayCommands()).commands.map((one) =>
          one.name(),
        ),
      ).toContain(name);
  });
});
