/**
 * Sealing encKey: its source, the question before, the state after a cut, and the check that the
 * sealed key opens again. The sealing itself is systemd's and needs a machine with systemd; a
 * fake here only turns bytes around.
 */
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { findEncKeyCredential } from "../../agent/config/location.ts";
import { findEncKey, openSealedEncKey } from "../../agent/launcher/enc-key.ts";
import { AgentError } from "../../base/fault.ts";
import { type CredentialPlaces, sealEncKey } from "../../cli/install/credential.ts";
import type { Terminal } from "../../cli/terminal.ts";

// The fake lies where the product would never look.
vi.mock("../../base/system-path.ts", () => ({
  systemEnvironment: {
    get PATH() {
      return process.env.PATH;
    },
  },
}));

const key = "0f1e2d3c4b5a69788796a5b4c3d2e1f0123456789abcdef0fedcba9876543210";
const otherKey = [...key].reverse().join("");
const path = process.env.PATH;
let dir = "";
let places: CredentialPlaces;

const fake = `#!/bin/sh
if [ "$2" != --name=encKey ]; then echo "wrong name" >&2; exit 1; fi
case "$1" in
encrypt) { echo sealed; rev; } > "$4" ;;
decrypt) if [ "$(head -n 1 "$3")" != sealed ]; then echo "Failed to determine local credential key" >&2; exit 1; fi
  tail -n +2 "$3" | rev ;;
esac
`;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "autowithdraw-credential-"));
  places = {
    credential: join(dir, "encKey.cred"),
    config: join(dir, "config.json"),
    takeAway: join(dir, "take-away"),
    encKeyFile: undefined,
  };
  bring(fake);
  process.env.PATH = `${dir}${delimiter}${path}`;
});
afterEach(() => {
  process.env.PATH = path;
  rmSync(dir, { recursive: true, force: true });
});

function bring(script: string): void {
  writeFileSync(join(dir, "systemd-creds"), script);
  chmodSync(join(dir, "systemd-creds"), 0o755);
}

const writeConfig = (encKey: string): void =>
  writeFileSync(
    places.config,
    `{\n  "gatewayUrl": "https://pay.example",\n  "encKey": "${encKey}"\n}\n`,
    { mode: 0o600 },
  );
const writeKey = (name: string, text: string): string => {
  writeFileSync(join(dir, name), `${text}\n`, { mode: 0o600 });
  return join(dir, name);
};
const sealed = (): string => Buffer.from(openSealedEncKey(places.credential)).toString("latin1");

function terminal(answer: boolean | null): Terminal & { readonly shown: () => string } {
  let shown = "";
  const show = (text: string): void => {
    shown += text;
  };
  return {
    out: show,
    err: show,
    user: "root",
    isInteractive: answer !== null,
    confirm: async () => answer === true,
    now: () => 0,
    sleep: async () => false,
    shown: () => shown,
  };
}

async function code(run: Promise<unknown>): Promise<string> {
  try {
    await run;
    return "ok";
  } catch (error) {
    if (error instanceof AgentError) return error.code;
    throw error;
  }
}

describe("sealing encKey", () => {
  it("takes it out of config.json, after a yes, and keeps every other byte", async () => {
    writeConfig(key);
    const operator = terminal(true);
    await sealEncKey(places, false, operator);
    expect(operator.shown()).toContain("opens on this machine only");
    expect(sealed()).toBe(key);
    expect(readFileSync(places.config, "utf8")).toBe(
      '{\n  "gatewayUrl": "https://pay.example"\n}\n',
    );
    expect(statSync(places.credential).mode & 0o777).toBe(0o600);
    expect(existsSync(places.takeAway)).toBe(false);
  });

  it("takes the one of a file, without the line's end", async () => {
    writeConfig("<ENCRYPTION_KEY>");
    await sealEncKey({ ...places, encKeyFile: writeKey("key", key) }, true, terminal(null));
    expect(sealed()).toBe(key);
  });

  it("makes a strong one where there is none, and leaves it for an operator to take away", async () => {
    await sealEncKey(places, true, terminal(null));
    const made = readFileSync(places.takeAway, "utf8");
    expect(made).toMatch(/^[0-9a-f]{64}\n$/);
    expect(statSync(places.takeAway).mode & 0o777).toBe(0o600);
    expect(sealed()).toBe(made.trim());
  });

  it("does not happen without a yes, and the next run seals the very key that was made", async () => {
    expect(await code(sealEncKey(places, false, terminal(null)))).toBe("COMMAND_USAGE");
    expect(await code(sealEncKey(places, false, terminal(false)))).toBe("COMMAND_DECLINED");
    expect(existsSync(places.credential)).toBe(false);
    const made = readFileSync(places.takeAway, "utf8").trim();
    await sealEncKey(places, false, terminal(true));
    expect(sealed()).toBe(made);
  });

  it("refuses a weak one before anything is made", async () => {
    writeConfig("a".repeat(64));
    expect(await code(sealEncKey(places, true, terminal(null)))).toBe("ENCKEY_WEAK");
    expect(existsSync(places.credential)).toBe(false);
    expect(readFileSync(places.config, "utf8")).toContain("encKey");
  });

  it("puts nothing in place that opens to something else", async () => {
    bring(fake.replace("| rev ;;", "| cat ;;"));
    expect(
      await code(sealEncKey({ ...places, encKeyFile: writeKey("key", key) }, true, terminal(null))),
    ).toBe("INSTALL_STEP");
    expect(existsSync(places.credential)).toBe(false);
  });
});

describe("a credential that is there", () => {
  beforeEach(async () => {
    await sealEncKey({ ...places, encKeyFile: writeKey("key", key) }, true, terminal(null));
  });

  it("a credential stays, and a run that was cut between sealing and config.json is finished", async () => {
    writeConfig(key);
    await sealEncKey(places, false, terminal(null));
    expect(sealed()).toBe(key);
    expect(readFileSync(places.config, "utf8")).not.toContain("encKey");
  });

  it("a credential is not replaced by another encKey, in config.json or in a file", async () => {
    writeConfig(otherKey);
    expect(await code(sealEncKey(places, true, terminal(null)))).toBe("INSTALL_ENCKEY");
    rmSync(places.config);
    expect(
      await code(
        sealEncKey({ ...places, encKeyFile: writeKey("other", otherKey) }, true, terminal(null)),
      ),
    ).toBe("INSTALL_ENCKEY");
    expect(
      await code(sealEncKey({ ...places, encKeyFile: writeKey("key", key) }, true, terminal(null))),
    ).toBe("ok");
    expect(sealed()).toBe(key);
  });

  it("a credential of another machine is refused, and sealed again if the encKey is given", async () => {
    writeFileSync(places.credential, "from elsewhere\n");
    expect(await code(sealEncKey(places, true, terminal(null)))).toBe("ENCKEY_SEALED");
    expect(
      await code(sealEncKey({ ...places, encKeyFile: writeKey("key", key) }, true, terminal(null))),
    ).toBe("ok");
    expect(sealed()).toBe(key);
  });

  it("two different encKeys, in config.json and in a file, are refused before any is sealed", async () => {
    rmSync(places.credential);
    writeConfig(otherKey);
    expect(
      await code(sealEncKey({ ...places, encKeyFile: join(dir, "key") }, true, terminal(null))),
    ).toBe("INSTALL_ENCKEY");
    expect(existsSync(places.credential)).toBe(false);
  });
});

describe("pairing on an installed machine", () => {
  const none = {
    credentials: undefined,
    file: undefined,
    fd: undefined,
    terminal: undefined,
    show: () => {},
  };

  it("takes encKey from the credential, after config.json and before the terminal", async () => {
    await sealEncKey({ ...places, encKeyFile: writeKey("key", key) }, true, terminal(null));
    const found = await findEncKey({ ...none, config: undefined, sealed: places.credential });
    expect([Buffer.from(found.bytes).toString("latin1"), found.from]).toEqual([key, "credential"]);
    const config = Buffer.from(otherKey);
    expect((await findEncKey({ ...none, config, sealed: places.credential })).from).toBe("config");
    expect(await code(findEncKey({ ...none, config: undefined, sealed: undefined }))).toBe(
      "ENCKEY_MISSING",
    );
  });

  it("looks for the credential beside config.json", () => {
    expect(findEncKeyCredential(places.config)).toBeUndefined();
    writeFileSync(places.credential, "");
    expect(findEncKeyCredential(places.config)).toBe(
      process.getuid?.() === 0 ? places.credential : undefined,
    );
  });
});
