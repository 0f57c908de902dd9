/**
 * The plan of an installation on a given machine: every step is made once and kept after, and each
 * refusal has its twin.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { version } from "../../base/version.ts";
import { readInstallCommand } from "../../cli/install/command-line.ts";
import { type InstalledPart, layouts } from "../../cli/install/layout.ts";
import { describeOpenWithdrawals } from "../../cli/install/main.ts";
import {
  assertFit,
  assertUpgrade,
  needsRestart,
  planInstall,
  type Step,
  type Survey,
} from "../../cli/install/plan.ts";
import { listKeptByRemoval, planRemoval, removalPaths } from "../../cli/install/removal.ts";
import { commandText, unitText } from "../../cli/install/survey.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { treeVersion, versionTrouble } from "../../packaging/release/contents.ts";
import { outcomeOf } from "../support/outcome.ts";

const units = new Map([
  ["autowithdraw.target", "[Unit]\n"],
  ["autowithdraw-courier.service", "[Service]\n"],
]);

const helpsOf = (part: InstalledPart) =>
  new Map(layouts[part].helps.map(({ path, gives }) => [path, `${gives}\n`]));

function bare(part: InstalledPart = "agent"): Survey {
  return {
    isRoot: true,
    platform: "linux",
    systemd: 252,
    node: "/usr/bin/node",
    nodeVersion: "18.20.4",
    npm: "9.2.0",
    root: "",
    accounts: new Set(),
    folders: new Map(),
    source: {
      version: "0.2.0",
      nodeLeast: part === "agent" ? "18.19.1" : "20.9.0",
      hasPart: true,
      units,
      command: commandText("/usr/bin/node", layouts[part]),
      helps: helpsOf(part),
    },
    installed: {
      version: null,
      isSame: false,
      units: new Map(),
      command: null,
      helps: new Map(),
      isEnabled: false,
      isActive: false,
      isPaired: false,
      hasConfig: false,
      hasCredential: false,
    },
  };
}

/** The same machine after every step was done. */
function done(part: InstalledPart = "agent"): Survey {
  const survey = bare(part);
  const { users, groups, folders } = layouts[part];
  return {
    ...survey,
    accounts: new Set([...users, ...groups].map(({ name }) => name)),
    folders: new Map(folders.map(({ path, mode, owner }) => [path, { mode, owner }])),
    installed: {
      version: "0.2.0",
      isSame: true,
      units,
      command: survey.source.command,
      helps: survey.source.helps,
      isEnabled: true,
      isActive: true,
      isPaired: true,
      hasConfig: true,
      hasCredential: true,
    },
  };
}

const options = { config: "/srv/config.json", yes: false };
const states = (steps: readonly Step[]): Record<string, string> =>
  Object.fromEntries(steps.map(({ name, state }) => [name, state]));

describe("on a bare machine", () => {
  it("the plan for a bare machine makes every part of the agent", () => {
    const steps = planInstall(bare(), layouts.agent, options);
    expect(new Set(steps.slice(0, -1).map(({ state }) => state))).toEqual(new Set(["make"]));
    expect(steps.map(({ name }) => name)).toEqual([
      "user autowithdraw-signer",
      "user autowithdraw",
      "group autowithdraw-operators",
      "/opt/autowithdraw",
      "/etc/autowithdraw",
      "/var/lib/autowithdraw",
      "/var/lib/autowithdraw/signer",
      "/var/lib/autowithdraw/courier",
      "/etc/autowithdraw/config.json",
      "/etc/autowithdraw/encKey.cred",
      "/etc/systemd/system/autowithdraw-courier.service",
      "/etc/systemd/system/autowithdraw.target",
      "/usr/local/bin/autowithdraw",
      "/usr/local/share/man/man1/autowithdraw.1",
      "/usr/local/share/man/man1/crypto.1",
      "/usr/local/share/bash-completion/completions/autowithdraw",
      "systemctl daemon-reload",
      "enable autowithdraw.target",
    ]);
    for (const { acts, name } of steps.slice(0, -1)) expect(acts.length, name).toBe(1);
    // A boot before the pairing would leave failed units.
    const says = "after the pairing: systemctl enable --now autowithdraw.target";
    expect(steps.at(-1)).toMatchObject({ state: "leave", says, acts: [] });
    const { installed, ...rest } = bare();
    const paired = planInstall(
      { ...rest, installed: { ...installed, isPaired: true } },
      layouts.agent,
      options,
    );
    // Only an enabled unit gets its alias, which the interface's name for the process is.
    const enabled = ["enable", "--quiet", "autowithdraw.target", "autowithdraw-courier.service"];
    expect(paired.at(-1)?.acts[0]).toMatchObject({
      kind: "run",
      program: "systemctl",
      args: enabled,
    });
  });

  it("the plan for a bare machine gives each folder its owner and mode, and no user a shell or a home", () => {
    const acts = planInstall(bare(), layouts.agent, options).flatMap((step) => step.acts);
    expect(acts.filter(({ kind }) => kind === "folder")).toEqual([
      { kind: "folder", path: "/etc/autowithdraw", mode: 0o711, owner: "root" },
      { kind: "folder", path: "/var/lib/autowithdraw", mode: 0o711, owner: "root" },
      {
        kind: "folder",
        path: "/var/lib/autowithdraw/signer",
        mode: 0o700,
        owner: "autowithdraw-signer",
      },
      { kind: "folder", path: "/var/lib/autowithdraw/courier", mode: 0o700, owner: "autowithdraw" },
    ]);
    const made = acts.flatMap((act) =>
      act.kind === "run" && act.program === "useradd" ? [act.args.join(" ")] : [],
    );
    expect(made.length).toBe(2);
    for (const args of made)
      expect(args).toMatch(
        /^--system .*--no-create-home .*--shell \/usr\/sbin\/nologin autowithdraw/,
      );
  });

  it("the plan for a bare machine goes on without config.json, and says where it comes from", () => {
    const step = planInstall(bare(), layouts.agent, { yes: false }).find(({ name }) =>
      name.endsWith("config.json"),
    );
    expect(step).toMatchObject({ state: "leave", acts: [] });
    expect(step?.says).toContain("--config FILE");
  });

  it("the plan for a bare machine has the gateway's folder filled by the gateway's own user", () => {
    const acts = planInstall(bare("gateway"), layouts.gateway, { yes: false }).flatMap(
      (step) => step.acts,
    );
    expect(acts.filter((act) => act.kind === "run" && act.program === "node")).toEqual([
      {
        kind: "run",
        program: "node",
        args: [
          "/opt/autowithdraw-gateway/gateway/gateway.js",
          "init",
          "--dir",
          "/var/lib/autowithdraw-gateway",
        ],
        as: "autowithdraw-gateway",
      },
    ]);
  });
});

describe("again", () => {
  it.each(["agent", "gateway"] as const)(
    "a second installation keeps all of the %s, and only looks into the credential",
    (part) => {
      const steps = planInstall(done(part), layouts[part], options);
      expect(new Set(steps.map(({ state }) => state))).toEqual(new Set(["keep"]));
      expect(steps.flatMap(({ acts }) => acts)).toEqual(
        part === "agent" ? [{ kind: "credential" }] : [],
      );
      expect(needsRestart(done(part))).toBe(false);
    },
  );

  it("a second installation changes what is not as it should be, and nothing else", () => {
    const survey = done();
    const folders = new Map([
      ...survey.folders,
      ["/var/lib/autowithdraw/signer", { mode: 0o700, owner: "root" }],
    ]);
    const changedUnits = new Map([
      ...units,
      ["autowithdraw-courier.service", "[Service]\nUser=root\n"],
    ]);
    const [page = ""] = survey.source.helps.keys();
    const changed = {
      units: changedUnits,
      helps: new Map([...survey.source.helps, [page, "older\n"]]),
    };
    const found = states(
      planInstall(
        { ...survey, folders, installed: { ...survey.installed, ...changed } },
        layouts.agent,
        options,
      ),
    );
    expect(Object.entries(found).filter(([, state]) => state !== "keep")).toEqual([
      ["/var/lib/autowithdraw/signer", "change"],
      ["/etc/systemd/system/autowithdraw-courier.service", "change"],
      [page, "change"],
      ["systemctl daemon-reload", "make"],
    ]);
  });

  it("a second installation never takes a config.json over the one that is there", () => {
    const step = planInstall(done(), layouts.agent, options).find(
      ({ name }) => name === "/etc/autowithdraw/config.json",
    );
    expect(step).toMatchObject({ state: "keep", acts: [] });
    expect(step?.says).toContain("/srv/config.json is not taken over it");
  });

  it("a second installation restarts what runs when program or units changed, and only then", () => {
    const survey = done();
    expect(needsRestart({ ...survey, installed: { ...survey.installed, isSame: false } })).toBe(
      true,
    );
    expect(needsRestart({ ...survey, installed: { ...survey.installed, units: new Map() } })).toBe(
      true,
    );
    expect(
      needsRestart({
        ...survey,
        installed: { ...survey.installed, isSame: false, isActive: false },
      }),
    ).toBe(false);
  });
});

describe("in an image", () => {
  it("the plan for an image puts files in place and leaves users, encKey and systemctl to the machine", () => {
    const found = states(
      planInstall({ ...bare(), root: "/image", systemd: null }, layouts.agent, options),
    );
    expect(Object.keys(found).filter((name) => found[name] === "leave")).toEqual([
      "user autowithdraw-signer",
      "user autowithdraw",
      "group autowithdraw-operators",
      "/etc/autowithdraw/encKey.cred",
      "enable autowithdraw.target",
    ]);
    const acts = planInstall({ ...bare(), root: "/image" }, layouts.agent, options).flatMap(
      (step) => step.acts,
    );
    for (const act of acts) if (act.kind === "folder") expect(act.owner).toBeNull();
  });
});

describe("a machine that does not fit", () => {
  const fits = (change: Partial<Survey>, isForced = false) =>
    outcomeOf(() => assertFit({ ...bare(), ...change }, layouts.agent, isForced)).outcome;
  const installed = (version: string) => ({ installed: { ...bare().installed, version } });

  it("is refused, and its twin is not", () => {
    expect(fits({})).toBe("ok");
    expect(fits({ platform: "darwin" })).toBe("INSTALL_MACHINE");
    expect(fits({ isRoot: false })).toBe("COMMAND_RIGHT");
    expect(fits({ systemd: null })).toBe("INSTALL_MACHINE");
    expect(fits({ systemd: null, root: "/image" })).toBe("ok");
    expect(fits({ systemd: 249 })).toBe("INSTALL_MACHINE");
    expect(fits({ systemd: 250 })).toBe("ok");
    expect(fits({ node: "/home/ann/.nvm/versions/node/v22/bin/node" })).toBe("INSTALL_MACHINE");
    expect(fits({ node: "/run/user/0/node/bin/node" })).toBe("INSTALL_MACHINE");
    expect(fits({ node: "/opt/node-22/bin/node" })).toBe("ok");
    expect(fits({ source: { ...bare().source, hasPart: false } })).toBe("INSTALL_MACHINE");
  });

  it("a Node older than the part's own is refused with the version to install, for agent and gateway each", () => {
    const refusal = (part: InstalledPart, nodeVersion: string): string => {
      try {
        assertFit({ ...bare(part), nodeVersion }, layouts[part], false);
        return "";
      } catch (error) {
        return error instanceof AgentError
          ? `${error.code}: ${error.message}; ${error.context.hint}`
          : String(error);
      }
    };
    const hint = "install Node 22 or 24 for the whole machine, and run this again with it";
    expect(refusal("agent", "18.19.0")).toBe(
      `INSTALL_MACHINE: the agent needs Node 18.19.1 or later, this is 18.19.0; ${hint}`,
    );
    expect(refusal("gateway", "18.20.4")).toBe(
      `INSTALL_MACHINE: the gateway needs Node 20.9.0 or later, this is 18.20.4; ${hint}`,
    );
    for (const version of ["18.19.1", "18.20.4", "24.11.0"])
      expect(refusal("agent", version), version).toBe("");
    for (const version of ["20.9.0", "22.0.0"])
      expect(refusal("gateway", version), version).toBe("");
  });

  it("an older version is installed only when that is meant", () => {
    expect(fits(installed("0.10.0"))).toBe("INSTALL_DOWNGRADE");
    expect(fits(installed("0.2.1"))).toBe("INSTALL_DOWNGRADE");
    expect(fits(installed("0.2.1"), true)).toBe("ok");
    expect(fits(installed("0.2.0"))).toBe("ok");
    expect(fits(installed("0.1.9"))).toBe("ok");
  });
});

describe("uninstalling", () => {
  const survey = (part: InstalledPart) => ({
    units: [...units.keys()],
    paths: new Set(removalPaths(layouts[part])),
    accounts: new Set([...layouts[part].users, ...layouts[part].groups].map(({ name }) => name)),
  });

  it.each(["agent", "gateway"] as const)(
    "removes nothing of the %s but program, units, command and helps",
    (part) => {
      const removed = planRemoval(survey(part), layouts[part]).flatMap(({ acts }) =>
        acts.flatMap((act) => (act.kind === "remove" ? [act.path] : [])),
      );
      expect(removed.length).toBeGreaterThan(4);
      const helps = layouts[part].helps.map(({ path }) => path);
      expect(removed).toEqual(expect.arrayContaining(helps));
      for (const path of removed.filter((one) => !helps.includes(one)))
        expect(path).toMatch(
          /^\/(opt\/autowithdraw|usr\/local\/bin\/autowithdraw|etc\/systemd\/system\/)/,
        );
    },
  );

  it("stops the one name first, and says what stays and how it would go", () => {
    const [first] = planRemoval(survey("agent"), layouts.agent);
    expect(first?.acts[0]).toEqual({
      kind: "run",
      program: "systemctl",
      args: ["disable", "--quiet", "--now", "autowithdraw.target", "autowithdraw-courier.service"],
    });
    expect(listKeptByRemoval(survey("agent"), layouts.agent).map(({ command }) => command)).toEqual(
      [
        "rm -r /etc/autowithdraw",
        "rm -r /var/lib/autowithdraw",
        "rm -r /opt/autowithdraw.failed",
        "shred -u /root/autowithdraw-encKey",
        "userdel autowithdraw-signer",
        "userdel autowithdraw",
        "groupdel autowithdraw-operators",
      ],
    );
  });

  it("keeps and names the release that the way back set aside, of agent and gateway alike", () => {
    for (const part of ["agent", "gateway"] as const) {
      const failed = `${layouts[part].program}.failed`;
      expect(removalPaths(layouts[part])).toContain(failed);
      const paths = new Set([...survey(part).paths, failed]);
      expect(
        listKeptByRemoval({ ...survey(part), paths }, layouts[part]).map(({ command }) => command),
      ).toContain(`rm -r ${failed}`);
      const without = new Set([...paths].filter((path) => path !== failed));
      expect(
        listKeptByRemoval({ ...survey(part), paths: without }, layouts[part]).map(
          ({ what }) => what,
        ),
      ).not.toContain(failed);
      const steps = planRemoval({ ...survey(part), paths }, layouts[part]);
      expect(steps.map(({ name }) => name)).not.toContain(failed);
    }
  });

  it("names the withdrawals that are open, and says nothing without an agent that answers", () => {
    const open = (...ids: readonly string[]) =>
      describeOpenWithdrawals(
        JSON.stringify({
          ok: true,
          withdrawals: ids.map((transactionId) => ({ transactionId, state: "held" })),
        }),
      );
    expect(open("a1")).toMatch(/1 withdrawal is not ended.*\n {4}a1 {2}held\n$/);
    expect(open("a1", "b2")).toMatch(/2 withdrawals are not ended/);
    for (const answer of ["", "no JSON", "{}", '{"withdrawals":[]}', "null"])
      expect(describeOpenWithdrawals(answer), answer).toBe("");
  });

  it("releasing is refused for a tree whose package and program say two versions, and names both", () => {
    expect(versionTrouble("0.2.0", "0.1.0")).toMatch(/0\.2\.0.*0\.1\.0/);
    expect(versionTrouble("0.2.0", "0.2.0")).toBe("");
    expect(versionTrouble(treeVersion(projectRoot), version)).toBe("");
  });

  it("has nothing to do where nothing is", () => {
    const none = { units: [], paths: new Set<string>(), accounts: new Set<string>() };
    expect([planRemoval(none, layouts.agent), listKeptByRemoval(none, layouts.agent)]).toEqual([
      [],
      [],
    ]);
  });
});

describe("an installed unit", () => {
  it("starts with this machine's Node, and the gateway's from its own folder", () => {
    const text = "ExecStart=/usr/bin/node /opt/autowithdraw/gateway/gateway.js start\n";
    expect(unitText(text, "/opt/node/bin/node", layouts.gateway)).toBe(
      "ExecStart=/opt/node/bin/node /opt/autowithdraw-gateway/gateway/gateway.js start\n",
    );
    const agent = "ExecStart=/usr/bin/node /opt/autowithdraw/crypto.js --role signer\n";
    expect(unitText(agent, "/usr/bin/node", layouts.agent)).toBe(agent);
  });
});

describe("the command line", () => {
  it("is read whole, and what it does not know is refused", () => {
    expect(readInstallCommand(["install", "--config", "c.json", "--yes"])).toMatchObject({
      part: "agent",
      config: "c.json",
      isYes: true,
      root: "",
    });
    expect(readInstallCommand(["upgrade", "--gateway", "--root", "/image/"])).toMatchObject({
      part: "gateway",
      root: "/image",
    });
    for (const words of [
      ["install", "--confg", "c.json"],
      ["install", "now"],
      ["install", "--gateway", "--config", "c.json"],
      ["install", "--root", "image"],
      ["uninstall", "--root", "/image"],
      ["uninstall", "--enc-key-file", "key"],
    ]) {
      expect(outcomeOf(() => readInstallCommand(words)).outcome, words.join(" ")).toBe(
        "COMMAND_USAGE",
      );
    }
  });
});

describe("an upgrade", () => {
  const fresh = { installed: { version: "0.1.0" } as Survey["installed"], root: "" };
  const said = (change: object, part: "agent" | "gateway", from: string): string => {
    try {
      assertUpgrade({ ...fresh, ...change }, layouts[part], from);
    } catch (error) {
      return error instanceof AgentError
        ? `${error.message} ${String(error.context.hint)}`
        : String(error);
    }
    return "";
  };

  it("from an unpacked release goes on; the installed program cannot upgrade itself, nor what is not installed", () => {
    expect(said({}, "agent", "/srv/autowithdraw-0.2.0")).toBe("");
    expect(said({}, "agent", "/opt/autowithdraw")).toMatch(
      /no newer release in the folder .*: node autowithdraw\.js upgrade$/,
    );
    expect(said({ root: "/image" }, "agent", "/opt/autowithdraw")).toBe("");
    const none = { installed: { version: null } };
    expect(said(none, "gateway", "/srv/new")).toMatch(
      /^no gateway is installed here.* node autowithdraw\.js install --gateway$/,
    );
  });
});

describe("the gateway's short command", () => {
  it("names the configuration where a command takes one, and nowhere else", () => {
    const call = commandText("echo", { ...layouts.gateway, program: "/p", launcher: "l" }).replace(
      /^if \[[\s\S]*?^fi$/gm,
      (text) => (text.includes("setpriv") ? "" : text),
    );
    const given = (...words: string[]): string =>
      spawnSync("sh", ["-c", call, "sh", ...words], { encoding: "utf8" }).stdout.trim();
    const config = "--config /var/lib/autowithdraw-gateway/gateway.config.json";
    expect(given("agents")).toBe(`/p/l agents ${config}`);
    // A group alone lists.
    for (const group of ["merchant", "key"]) expect(given(group)).toBe(`/p/l ${group} ${config}`);
    expect(given("merchant", "create", "A B")).toBe(`/p/l merchant create A B ${config}`);
    for (const words of [
      [],
      ["--help"],
      ["help", "key"],
      ["init", "--dir", "d"],
      ["agents", "--help"],
    ])
      expect(given(...words)).toBe(["/p/l", ...words].join(" "));
  });
});

describe("an installed part", () => {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const importsOf = (room: string): readonly string[] =>
    readdirSync(join(root, room), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .flatMap((name) => {
        const text = readFileSync(join(root, room, name), "utf8");
        const named = [...text.matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)].map(
          ([, path = ""]) => path,
        );
        return named.map((path) => normalize(join(room, dirname(name), path)).split(sep)[0] ?? "");
      });

  it.each(Object.values(layouts))(
    "has every room that its own rooms import: $part",
    ({ rooms }) => {
      const imported = new Set(rooms.flatMap(importsOf));
      expect(imported.size).toBeGreaterThan(3);
      expect([...imported].filter((room) => !rooms.includes(room))).toEqual([]);
    },
  );
});
