/**
 * The release: its content, the same bytes when made twice, the signed checksum, the parts list,
 * and programs that run in any unpacked folder.
 */
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { createHash, generateKeyPairSync } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";
import { run } from "../../lab/kit/processes.ts";
import { readSigningKey } from "../../packaging/release/signature.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

interface Lock {
  readonly packages: Readonly<
    Record<
      string,
      { readonly version: string; readonly hasInstallScript?: boolean; readonly dev?: boolean }
    >
  >;
}

const { version } = JSON.parse(readFileSync(join(projectRoot, "package.json"), "utf8")) as {
  version: string;
};
const name = `autowithdraw-${version}`;
const dir = mkdtempSync(join(tmpdir(), "autowithdraw-release-"));
const unpacked = join(dir, name);
const read = (path: string): string => readFileSync(join(unpacked, path), "utf8");
const bytesOf = (folder: string, file: string): string =>
  createHash("sha256")
    .update(readFileSync(join(dir, folder, file)))
    .digest("hex");

/** A fresh key of a kind, in a file of its own below the test's folder. */
function keyFile(file: string, pem: string | Buffer): string {
  writeFileSync(join(dir, file), pem, { mode: 0o600 });
  return join(dir, file);
}
const freshKey = (): string =>
  generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const signKey = keyFile("release.key", freshKey());

const runFile = promisify(execFile);

/**
 * Makes a release of the tree in `root` as `npm run release` does, with other habits of the shell.
 * The worker goes on meanwhile: one that stands still for a minute is given up by the runner.
 */
async function make(root: string, out: string, umask: string): Promise<void> {
  const script = `umask ${umask}; exec "$0" dist/packaging/release/release.js --out "$1" --sign-key "$2"`;
  const env = { ...process.env, SOURCE_DATE_EPOCH: "1790000000", TZ: "Asia/Tokyo" };
  await runFile("sh", ["-c", script, process.execPath, join(dir, out), signKey], {
    cwd: root,
    env,
  });
}

beforeAll(async () => {
  await make(projectRoot, "one", "022");
  execFileSync("tar", ["-xzf", join(dir, "one", `${name}.tgz`), "-C", dir]);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("the archive", () => {
  it("is the same, byte for byte, from another folder and another umask", async () => {
    const other = join(dir, "elsewhere");
    mkdirSync(other);
    for (const part of [
      "dist",
      "docs",
      "packaging/systemd",
      "scripts",
      "cli/launch",
      "packaging/monitoring",
    ])
      cpSync(join(projectRoot, part), join(other, part), { recursive: true });
    mkdirSync(join(other, "gateway"));
    for (const file of ["gateway/gateway.js", "gateway/package.json"])
      cpSync(join(projectRoot, file), join(other, file));
    for (const file of readdirSync(projectRoot).filter((one) =>
      statSync(join(projectRoot, one)).isFile(),
    ))
      writeFileSync(join(other, file), readFileSync(join(projectRoot, file)), { mode: 0o600 });
    symlinkSync(join(projectRoot, "node_modules"), join(other, "node_modules"));
    await make(other, "two", "077");
    for (const suffix of [".tgz", ".tgz.sha256", ".tgz.sha256.sig", ".cdx.json"])
      expect(bytesOf("two", `${name}${suffix}`), suffix).toBe(bytesOf("one", `${name}${suffix}`));
    // The twin: another content gives other bytes.
    writeFileSync(join(other, "LICENSE"), "none");
    await make(other, "two", "077");
    expect(bytesOf("two", `${name}.tgz`)).not.toBe(bytesOf("one", `${name}.tgz`));
  });

  it("has a checksum that sha256sum takes", () => {
    const said = execFileSync("sha256sum", ["--check", `${name}.tgz.sha256`], {
      cwd: join(dir, "one"),
      encoding: "utf8",
    });
    expect(said).toBe(`${name}.tgz: OK\n`);
  });

  // As docs/install.md has the line: the reader's own openssl, and a public key from elsewhere.
  describe("its signature", () => {
    const page = readFileSync(join(projectRoot, "docs", "install.md"), "utf8");
    const line = /^openssl pkeyutl -verify .*$/m.exec(page)?.[0] ?? "no such line";
    const verified = (folder: string, key: string): string => {
      const typed = line
        .replace("/etc/autowithdraw-release.pub", key)
        .replaceAll("autowithdraw-0.1.0", name);
      const done = spawnSync("sh", ["-c", typed], { cwd: folder, encoding: "utf8" });
      return done.status === 0 ? done.stdout.trim() : "refused";
    };
    const copyOf = (file: string, change: (bytes: Buffer) => void): string => {
      const folder = mkdtempSync(join(dir, "copy-"));
      for (const suffix of [".tgz.sha256", ".tgz.sha256.sig"])
        cpSync(join(dir, "one", `${name}${suffix}`), join(folder, `${name}${suffix}`));
      const bytes = readFileSync(join(folder, file));
      change(bytes);
      writeFileSync(join(folder, file), bytes);
      return folder;
    };
    const publicKey = join(dir, "one", "autowithdraw-release.pub");

    it("the archive's signature is verified by the documented command, with a fresh key", () => {
      expect(verified(join(dir, "one"), publicKey)).toBe("Signature Verified Successfully");
    });

    it("one changed byte of the checksum or of the signature is refused, and so is another key", () => {
      const flipped = (bytes: Buffer): void => void bytes.writeUInt8(bytes.readUInt8(10) ^ 1, 10);
      expect(
        verified(
          copyOf(`${name}.tgz.sha256`, () => {}),
          publicKey,
        ),
      ).toBe("Signature Verified Successfully");
      expect(verified(copyOf(`${name}.tgz.sha256`, flipped), publicKey)).toBe("refused");
      expect(verified(copyOf(`${name}.tgz.sha256.sig`, flipped), publicKey)).toBe("refused");
      const outsider = generateKeyPairSync("ed25519").publicKey.export({
        type: "spki",
        format: "pem",
      });
      expect(verified(join(dir, "one"), keyFile("outsider.pub", outsider))).toBe("refused");
    });

    it("the archive's signature takes a key from outside of the tree only, closed to others and of the right kind", () => {
      const why = (path: string): string => {
        const read = readSigningKey(path, projectRoot);
        return read.ok ? "" : read.why;
      };
      expect(why(signKey)).toBe("");
      expect(why(join(dir, "nothing"))).toContain("is not there");
      expect(why(join(projectRoot, "package.json"))).toContain("lies in the project's folder");
      const open = keyFile("open.key", freshKey());
      chmodSync(open, 0o640);
      expect(why(open)).toContain(`is open to others: chmod 600 ${open}`);
      const other = generateKeyPairSync("x25519").privateKey.export({
        type: "pkcs8",
        format: "pem",
      });
      expect(why(keyFile("other.key", other))).toContain("a key of the kind x25519");
      expect(why(keyFile("none.key", "none"))).toContain("holds no private key in PEM");
    });
  });

  it("holds the built program, launchers, units and documents, and nothing that builds or tests", () => {
    const files = (readdirSync(unpacked, { recursive: true }) as string[]).filter((path) =>
      statSync(join(unpacked, path)).isFile(),
    );
    const outside = files.filter(
      (path) =>
        !/^(dist\/(base|protocol|chains|agent|cli|clients|gateway)\/.*\.js|dist\/man\/[a-z-]+\.1|dist\/completion\/autowithdraw(-gateway)?|packaging\/monitoring\/[a-z.-]+|docs\/[a-z-]+\.md|docs\/pictures\/[a-z-]+\.(png|svg)|packaging\/systemd\/[a-z-]+\.[a-z]+)$/.test(
          path,
        ),
    );
    expect(outside.sort()).toEqual([
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "SECURITY.md",
      "autowithdraw.js",
      "cli/launch/launch.js",
      "cli/launch/packages.js",
      "cli/launch/placeholders.js",
      "cli/launch/stamp.js",
      "cli/launch/started.js",
      "config.example.json",
      "crypto.js",
      "crypto.ts",
      "dist/.built",
      "dist/gateway/store/migrations/0001-tables.sql",
      "dist/gateway/store/migrations/0002-account-owners.sql",
      "dist/gateway/store/migrations/0003-rows-set-aside.sql",
      "dist/gateway/store/migrations/0004-faults.sql",
      "dist/gateway/store/migrations/0005-payout-holds.sql",
      "dist/gateway/store/migrations/0006-arriving.sql",
      "dist/gateway/store/migrations/0007-network-stops.sql",
      "dist/gateway/store/migrations/0008-unknown-coins.sql",
      "dist/gateway/store/migrations/0009-unread-transactions.sql",
      "dist/gateway/store/migrations/0010-stray-sums.sql",
      "dist/gateway/store/migrations/0011-gaps.sql",
      "dist/gateway/store/migrations/0012-unusable-coins.sql",
      "dist/gateway/store/migrations/0013-coin-looks.sql",
      "dist/gateway/store/migrations/0014-gone-payments.sql",
      "dist/gateway/store/migrations/0015-unexplained-by-account.sql",
      "dist/gateway/store/migrations/0016-gap-holds.sql",
      "dist/gateway/store/migrations/0017-moved-payments.sql",
      "dist/gateway/store/migrations/0018-agents-version.sql",
      "dist/gateway/store/migrations/0019-narrow-looks.sql",
      "dist/gateway/store/migrations/0020-tables-by-kind.sql",
      "dist/gateway/store/migrations/0021-addresses.sql",
      "dist/gateway/store/migrations/0022-journal.sql",
      "dist/gateway/store/migrations/0023-open-alarms.sql",
      "dist/gateway/store/migrations/0024-accepted-deposits.sql",
      "dist/gateway/store/migrations/0025-month-ends.sql",
      "dist/gateway/store/migrations/0026-invoices.sql",
      "dist/licences.txt",
      "gateway/gateway.js",
      "gateway/package-lock.json",
      "gateway/package.json",
      "package-lock.json",
      "package.json",
      "pair.js",
    ]);
    for (const room of [
      "base",
      "protocol",
      "chains",
      "agent",
      "cli",
      "clients",
      "gateway",
      "man",
      "completion",
    ])
      expect(files.filter((path) => path.startsWith(`dist/${room}/`)).length, room).toBeGreaterThan(
        0,
      );
    expect(readdirSync(join(unpacked, "packaging/systemd"))).toEqual(
      readdirSync(join(projectRoot, "packaging/systemd")),
    );
    const listed = execFileSync("tar", ["-tvzf", join(dir, "one", `${name}.tgz`)], {
      encoding: "utf8",
    })
      .trim()
      .split("\n");
    for (const line of listed) expect(line).toMatch(/^(drwxr-xr-x|-rw-r--r--) 0\/0 /);
  });

  it("answers --version and --help before any package is there, and says what is missing otherwise", async () => {
    for (const launcher of ["pair.js", "crypto.js", "autowithdraw.js", "gateway/gateway.js"]) {
      const asked = (...args: string[]) =>
        run(process.execPath, [join(unpacked, launcher), ...args], {
          cwd: dir,
          logFile: "/dev/null",
        });
      expect(await asked("--version"), launcher).toEqual({
        code: 0,
        output: `autowithdraw ${version}\n`,
      });
      expect(await asked("--help"), launcher).toMatchObject({
        code: 0,
        output: expect.stringContaining("Usage:"),
      });
    }
    const status = await run(process.execPath, [join(unpacked, "autowithdraw.js"), "status"], {
      cwd: dir,
      logFile: "/dev/null",
    });
    expect(status).toMatchObject({
      code: 2,
      output: expect.stringContaining("hint: as root: node autowithdraw.js install;"),
    });
    expect(status.output).toContain("packages are missing");
  });
});

describe("the packages of a release", () => {
  const lockOf = (folder: string): Lock =>
    JSON.parse(read(join(folder, "package-lock.json"))) as Lock;
  const namesIn = (lock: Lock): string[] =>
    Object.keys(lock.packages).filter((path) => path !== "");

  it("are the agent's production packages: at most 40, none with an install script, none of the gateway or for building", () => {
    const whole = JSON.parse(readFileSync(join(projectRoot, "package-lock.json"), "utf8")) as Lock;
    const lock = lockOf("");
    const names = namesIn(lock);
    expect(names.length).toBeGreaterThan(20);
    expect(names.length).toBeLessThanOrEqual(40);
    for (const path of names) {
      expect(whole.packages[path], path).toMatchObject({ version: lock.packages[path]!.version });
      expect(whole.packages[path]!.dev, path).toBeUndefined();
      expect(lock.packages[path]!.hasInstallScript, path).toBeUndefined();
    }
    for (const foreign of ["fastify", "jose", "typescript", "vite", "tronweb", "@foundry-rs/anvil"])
      expect(names).not.toContain(`node_modules/${foreign}`);
    expect(JSON.parse(read("package.json"))).not.toHaveProperty("devDependencies");
    expect(JSON.parse(read("package.json"))).not.toHaveProperty("workspaces");
  });

  it("the gateway's packages of a release are its own alone, and none signs", () => {
    const names = namesIn(lockOf("gateway"));
    expect(names).toContain("node_modules/fastify");
    for (const foreign of ["ethers", "@bitauth/libauth", "tweetnacl", "bip39", "typescript"])
      expect(names).not.toContain(`node_modules/${foreign}`);
  });

  // Needs the package registry.
  it.each(["", "gateway"])("are taken by npm ci as they stand: %j", async (folder) => {
    const place = mkdtempSync(join(dir, "ci-"));
    for (const file of ["package.json", "package-lock.json"])
      cpSync(join(unpacked, folder, file), join(place, file));
    const args = ["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"];
    const done = await run("npm", args, { cwd: place, logFile: "/dev/null" });
    expect(done.code, done.output).toBe(0);
    for (const path of namesIn(lockOf(folder)))
      expect(existsSync(join(place, path, "package.json")), path).toBe(true);
    // Every import of the built program is among them.
    const beneath = ["base", "protocol", "chains"];
    const rooms = [...beneath, ...(folder === "" ? ["agent", "cli", "clients"] : ["gateway"])];
    const wanted = rooms.flatMap((room) => importsUnder(join(unpacked, "dist", room)));
    expect(new Set(wanted).size).toBeGreaterThan(4);
    expect(wanted.filter((one) => !existsSync(join(place, "node_modules", one)))).toEqual([]);
  });
});

/** Names of the packages that the built files of a folder import. */
function importsUnder(folder: string): string[] {
  return (
    (readdirSync(folder, { recursive: true }) as string[])
      .filter((path) => path.endsWith(".js"))
      .flatMap((path) =>
        [
          ...readFileSync(join(folder, path), "utf8").matchAll(
            /^(?:import|export|\} ).*\bfrom "((?:@[a-z0-9-]+\/)?[a-z0-9-]+)[^":]*"/gm,
          ),
        ].map((match) => match[1]!),
      )
      // Packages inside a bundle name the system's modules without "node:".
      .filter((one) => !isBuiltin(one))
  );
}

describe("the parts list", () => {
  interface Part {
    readonly "bom-ref": string;
    readonly name: string;
    readonly type: string;
    readonly hashes?: readonly object[];
    readonly properties?: readonly { readonly value: string }[];
  }
  const text = (): string => readFileSync(join(dir, "one", `${name}.cdx.json`), "utf8");
  const schemas = join(projectRoot, "node_modules/@cyclonedx/cyclonedx-library/res/schema");
  const schema = (file: string): object =>
    JSON.parse(readFileSync(join(schemas, `${file}.SNAPSHOT.schema.json`), "utf8")) as object;

  // By the validator that fastify brings.
  it("is a CycloneDX document by its schema", () => {
    const site = "http://cyclonedx.org/schema/";
    const ajv = new Ajv({ strict: false });
    addFormats.default(ajv);
    for (const format of ["iri-reference", "idn-email"]) ajv.addFormat(format, true);
    ajv.addSchema(schema("spdx"), `${site}spdx.SNAPSHOT.schema.json`);
    ajv.addSchema(schema("jsf-0.82"), `${site}jsf-0.82.SNAPSHOT.schema.json`);
    const isValid = ajv.compile(schema("bom-1.6"));
    const list = JSON.parse(text()) as { serialNumber: string };
    expect(isValid(list), JSON.stringify(isValid.errors)).toBe(true);
    expect(isValid({ ...list, serialNumber: "none" })).toBe(false);
  });

  it("names every package of both locks once, with its hash and whose it is", () => {
    const { components, dependencies } = JSON.parse(text()) as {
      components: Part[];
      dependencies: { ref: string; dependsOn?: string[] }[];
    };
    const locks = {
      agent: JSON.parse(read("package-lock.json")) as Lock,
      gateway: JSON.parse(read("gateway/package-lock.json")) as Lock,
    };
    const wanted = new Map<string, string[]>();
    for (const [part, { packages }] of Object.entries(locks)) {
      for (const [path, entry] of Object.entries(packages)) {
        if (path === "") continue;
        const ref = `pkg:npm/${path.slice(path.lastIndexOf("node_modules/") + 13).replace("@", "%40")}@${entry.version}`;
        wanted.set(ref, [...new Set([...(wanted.get(ref) ?? []), part])]);
      }
    }
    const libraries = components.filter(({ type }) => type === "library");
    expect(
      new Map(
        libraries.map((one) => [one["bom-ref"], (one.properties ?? []).map(({ value }) => value)]),
      ),
    ).toEqual(wanted);
    for (const one of libraries) expect(one.hashes, one.name).toHaveLength(1);
    const tree = new Map(dependencies.map(({ ref, dependsOn = [] }) => [ref, dependsOn]));
    expect(tree.get("autowithdraw")).toHaveLength(15);
    expect(
      tree.get("autowithdraw-gateway")?.some((ref) => ref.startsWith("pkg:npm/fastify@")),
    ).toBe(true);
    const reached = new Set(["autowithdraw", "autowithdraw-gateway"]);
    for (const ref of reached) for (const next of tree.get(ref) ?? []) reached.add(next);
    expect(libraries.map((one) => one["bom-ref"]).filter((ref) => !reached.has(ref))).toEqual([]);
  });
});
