/**
 * The unit files: systemd has no complaint, and the lines on which the signer's isolation depends
 * are there.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readConfig } from "../../agent/config/config.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = join(root, "packaging/systemd");
const units = readdirSync(folder).filter((name) => /\.(service|socket|target)$/.test(name));
const hasSystemd = spawnSync("systemd-analyze", ["--version"], { stdio: "ignore" }).status === 0;
if (!hasSystemd)
  process.stderr.write("\n*** SKIPPED for want of systemd-analyze: apt-get install systemd\n\n");

/** Values of a key in a unit; comments are none. */
function values(unit: string, key: string): string[] {
  const lines = readFileSync(join(folder, unit), "utf8").split("\n");
  return lines
    .filter((line) => line.startsWith(`${key}=`))
    .map((line) => line.slice(key.length + 1));
}

describe("systemd units", () => {
  it("are the signer's, the courier's, the gateway's with its alerts, the two sockets and one name for the agent's", () => {
    expect(units.sort()).toEqual([
      "autowithdraw-courier.service",
      "autowithdraw-gateway-alert.service",
      "autowithdraw-gateway.service",
      "autowithdraw-operator.socket",
      "autowithdraw-signer.service",
      "autowithdraw-signer.socket",
      "autowithdraw.target",
    ]);
  });

  it.runIf(hasSystemd)("give systemd-analyze verify nothing to print", () => {
    // verify wants the program to exist, wherever this machine keeps its Node.
    const copy = mkdtempSync(join(tmpdir(), "autowithdraw-units-"));
    try {
      for (const unit of units) {
        const text = readFileSync(join(folder, unit), "utf8").replaceAll(
          "/usr/bin/node ",
          `${process.execPath} `,
        );
        writeFileSync(join(copy, unit), text);
      }
      const verify = (): string => {
        const done = spawnSync(
          "systemd-analyze",
          ["verify", "--man=no", ...units.map((unit) => join(copy, unit))],
          {
            encoding: "utf8",
          },
        );
        return done.stdout + done.stderr;
      };
      expect(verify()).toBe("");
      // The twin: one unknown key, which verify only prints.
      writeFileSync(
        join(copy, "autowithdraw-courier.service"),
        `${readFileSync(join(copy, "autowithdraw-courier.service"), "utf8")}\n[Service]\nNoNetwork=yes\n`,
      );
      expect(verify()).toContain("NoNetwork");
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  });

  it.runIf(hasSystemd)("keep the exposure of each service low", () => {
    // tenths
    const bounds = {
      "autowithdraw-signer.service": 3,
      "autowithdraw-courier.service": 13,
      "autowithdraw-gateway.service": 14,
      "autowithdraw-gateway-alert.service": 14,
    };
    for (const [unit, tenths] of Object.entries(bounds)) {
      const args = ["security", "--offline=true", `--threshold=${tenths}`, join(folder, unit)];
      expect(spawnSync("systemd-analyze", args, { stdio: "ignore" }).status, unit).toBe(0);
    }
  });

  it("start, stop and restart the agent by one name, and by the courier's name too", () => {
    const [target, signer, courier] = [
      "autowithdraw.target",
      "autowithdraw-signer.service",
      "autowithdraw-courier.service",
    ] as const;
    const sockets = ["autowithdraw-signer.socket", "autowithdraw-operator.socket"];
    expect(values(target, "Wants")).toEqual([[...sockets, signer, courier].join(" ")]);
    expect(values(target, "WantedBy")).toEqual(["multi-user.target"]);
    expect(values(courier, "PartOf")).toEqual([target]);
    for (const unit of [signer, ...sockets])
      expect(values(unit, "PartOf"), unit).toEqual([`${target} ${courier}`]);
    expect(values(courier, "Wants")).toContain(signer);
    expect(values(signer, "Wants")).toEqual([[...sockets, courier].join(" ")]);
    // A stop has waited for both processes, a start for the sockets.
    expect(values(target, "Before")).toEqual([`${signer} ${courier}`]);
    expect(values(target, "After")).toEqual([sockets.join(" ")]);
    for (const unit of [signer, courier]) expect(values(unit, "Also")).toEqual([target]);
  });

  it("take the sockets away with the signer, so that nobody who connects starts it", () => {
    for (const unit of ["autowithdraw-signer.socket", "autowithdraw-operator.socket"]) {
      expect(values(unit, "BindsTo"), unit).toEqual(["autowithdraw-signer.service"]);
      expect(values(unit, "WantedBy"), unit).toEqual([]);
      expect(values(unit, "RemoveOnStop"), unit).toEqual(["yes"]);
      expect(values(unit, "TriggerLimitIntervalSec"), unit).toEqual(["0"]);
    }
  });

  it("try everything again permanently but what would fail the same way, and kill what hangs", () => {
    const final = {
      "autowithdraw-signer.service": "2 4",
      "autowithdraw-courier.service": "2 4",
      "autowithdraw-gateway.service": "2",
    };
    for (const [unit, codes] of Object.entries(final)) {
      expect(values(unit, "Restart"), unit).toEqual(["always"]);
      expect(values(unit, "RestartPreventExitStatus"), unit).toEqual([codes]);
      expect(values(unit, "RestartSec"), unit).toEqual(["5"]);
      // systemd repeats a failed ExecStartPre= with any exit code.
      expect(values(unit, "ExecStartPre"), unit).toEqual([]);
      expect(values(unit, "Type"), unit).toEqual(["notify"]);
      expect(Number(values(unit, "WatchdogSec")[0]), unit).toBeGreaterThanOrEqual(60);
      expect(values(unit, "WatchdogSignal"), unit).toEqual(["SIGKILL"]);
    }
    for (const unit of units.filter((name) => !name.endsWith(".target")))
      expect(values(unit, "StartLimitIntervalSec"), unit).toEqual(["0"]);
  });

  it("tell of a gateway that failed, whether it is tried again or not, and end that at an ordered stop", () => {
    const [unit, alert] = [
      "autowithdraw-gateway.service",
      "autowithdraw-gateway-alert.service",
    ] as const;
    expect(values(unit, "OnFailure")).toEqual([alert]);
    const [post = ""] = values(unit, "ExecStopPost");
    const script = /'(.*)'$/.exec(post)?.[1]?.replaceAll("$$", "$") ?? "";
    const acted = (result: string): string =>
      spawnSync("/bin/sh", ["-c", `systemctl() { printf "%s\n" "$*"; }; ${script}`], {
        env: { SERVICE_RESULT: result },
        encoding: "utf8",
      }).stdout;
    expect(acted("success")).toBe(`--no-block stop ${alert}\n`);
    for (const result of ["exit-code", "signal", "watchdog", "oom-kill"])
      expect(acted(result), result).toBe(`--no-block start ${alert}\n`);
    const [start = ""] = values(unit, "ExecStart");
    expect(values(alert, "ExecStart")).toEqual([start.replace(" start ", " alert-down ")]);
  });

  it("check config.json as root before a reload takes it, and show that file as the one in force", () => {
    const path = "/etc/autowithdraw/config.json";
    for (const unit of ["autowithdraw-signer.service", "autowithdraw-courier.service"]) {
      const reload = values(unit, "ExecReload");
      const check = (role: string): string =>
        `+/usr/bin/node /opt/autowithdraw/crypto.js --check --role ${role} --config ${path} --state /var/lib/autowithdraw`;
      expect(reload, unit).toEqual([
        check("signer"),
        check("courier"),
        "+/usr/bin/systemctl --no-block restart autowithdraw.target",
      ]);
      expect(values(unit, "ExecStart")[0], unit).toContain(`--config-source ${path} `);
      expect(values(unit, "LoadCredential")[0], unit).toBe(`config.json:${path}`);
    }
  });

  it("the gateway's reload checks the file that start reads before the signal", () => {
    const unit = "autowithdraw-gateway.service";
    const [start = ""] = values(unit, "ExecStart");
    expect(values(unit, "ExecReload")).toEqual([
      start.replace(" start ", " check "),
      "/bin/kill -HUP $MAINPID",
    ]);
  });

  it("name every process in the journal, and leave its exit reason where everybody reads them", () => {
    // The alerts are the gateway's own, under its user and name.
    const services = units.filter((name) => name.endsWith(".service") && !name.includes("-alert"));
    expect(new Set(services.flatMap((unit) => values(unit, "SyslogIdentifier"))).size).toBe(
      services.length,
    );
    for (const [unit, role] of [
      ["autowithdraw-signer.service", "signer"],
      ["autowithdraw-courier.service", "courier"],
    ] as const) {
      // The first of them is where the words go.
      expect(values(unit, "RuntimeDirectory")[0]?.split(" ")[0]).toBe(`autowithdraw/${role}`);
      expect(values(unit, "RuntimeDirectoryMode")).toEqual(["0755"]);
      expect(values(unit, "RuntimeDirectoryPreserve")).toEqual(["yes"]);
    }
  });

  it("leave the signer no network, no core, no foreign code", () => {
    const wanted = {
      PrivateNetwork: "yes",
      RestrictAddressFamilies: "AF_UNIX",
      RootDirectory: "/run/autowithdraw/signer-root",
      IPAddressDeny: "any",
      NoNewPrivileges: "yes",
      LimitCORE: "0",
      CoredumpFilter: "0",
      MemorySwapMax: "0",
      UnsetEnvironment: "NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS LD_PRELOAD",
      CapabilityBoundingSet: "",
    };
    for (const [key, value] of Object.entries(wanted))
      expect(values("autowithdraw-signer.service", key), key).toEqual([value]);
    for (const unit of units.filter((name) => name.endsWith(".service"))) {
      expect(values(unit, "SystemCallFilter")[0], unit).toBe("@system-service @pkey");
      expect(values(unit, "MemoryDenyWriteExecute"), unit).toEqual([]);
    }
  });

  it("give every process a user of its own, and the courier no way to the operators' socket", () => {
    // The alerts are the gateway's own, under its user and name.
    const services = units.filter((name) => name.endsWith(".service") && !name.includes("-alert"));
    const users = services.flatMap((unit) => values(unit, "User"));
    expect(new Set(users).size).toBe(services.length);
    const [courier] = values("autowithdraw-courier.service", "Group");
    expect(values("autowithdraw-signer.socket", "SocketGroup")).toEqual([courier]);
    expect(values("autowithdraw-operator.socket", "SocketGroup")).not.toEqual([courier]);
    expect(values("autowithdraw-courier.service", "SupplementaryGroups")).toEqual([]);
    expect(
      values("autowithdraw-courier.service", "LoadCredential").some((value) =>
        value.startsWith("encKey"),
      ),
    ).toBe(false);
    for (const unit of units.filter((name) => name.endsWith(".socket")))
      expect(values(unit, "SocketMode")).toEqual(["0660"]);
  });
});

describe("config.example.json", () => {
  it("is complete but for the three placeholders of the interface", () => {
    const text = readFileSync(join(root, "config.example.json"), "utf8");
    const copy = mkdtempSync(join(tmpdir(), "autowithdraw-example-"));
    const path = join(copy, "config.json");
    try {
      writeFileSync(path, text, { mode: 0o600 });
      expect(Object.keys(readConfig(path, { requireSecrets: [] }).settings.policy)).toEqual([
        "eth",
        "usdt-erc20",
        "trx",
        "usdt-trc20",
      ]);
      for (const placeholder of ["<MNEMONIC>", "<API_KEY>", "<ENCRYPTION_KEY>"])
        expect(text.split(placeholder).length).toBe(2);
      expect(() => readConfig(path, { requireSecrets: ["mnemonic", "apiKey", "encKey"] })).toThrow(
        "mnemonic (<MNEMONIC>), apiKey (<API_KEY>), encKey (<ENCRYPTION_KEY>)",
      );
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  });
});
