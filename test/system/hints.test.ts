/**
 * Hints that lead to an act which cannot be taken back: a restore, a release, a new pairing, a
 * removal, a cancel. Each stands here with the reason for which it does no harm in every state that
 * shows it, and with the test of that reason. A hint that is new or changed must find its place.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Code, codes } from "../../base/codes.ts";
import { projectRoot } from "../../lab/kit/kit.ts";

/** Words of an act that changes or ends something for good. */
const grave =
  /\b(?:restor\w+|remov\w+|delet\w+|shred|init|unpair|pair again|run pair|new-ledger|cancel|adopt)\b|--yes/i;

interface Safe {
  readonly why: string;
  readonly shownBy: string;
  readonly codes: readonly Code[];
}

const safe: readonly Safe[] = [
  {
    why: "a restore goes into an empty folder only, and a ledger from a backup locks itself before it signs",
    shownBy: "test/system/recovery-process.test.ts",
    codes: [
      ...([
        "LEDGER_MISSING",
        "LEDGER_DAMAGED",
        "LEDGER_FORGED",
        "KEYSTORE_MISSING",
        "KEYSTORE_FORMAT",
        "KEYSTORE_COST",
      ] as const),
      ...([
        "KEYSTORE_WALLET",
        "STATE_INCOMPLETE",
        "STATE_NOT_EMPTY",
        "PAIRING_PROGRESS",
        "PAIRING_FORGED",
      ] as const),
    ],
  },
  {
    why: "the hint says which cause to look for first, and that nothing is deleted; a second copy is ended before a recovery",
    shownBy: "test/system/takeover-process.test.ts",
    codes: [
      ...([
        "LEDGER_BEHIND_GATEWAY",
        "LEDGER_FORKED",
        "HUB_LEDGER_FORKED",
        "AGENT_BEHIND",
        "HUB_DATABASE_BEHIND",
      ] as const),
      ...(["NODE_ROLLED_BACK", "ACCOUNT_BEHIND", "CHAIN_SLOT_FOREIGN"] as const),
    ],
  },
  {
    why: "recover shows its plan, and is bound to it by a digest that a person types or confirms",
    shownBy: "test/system/recovery-process.test.ts",
    codes: ["RECOVERY_OFFERED", "RECOVERY_BOTH", "ACCOUNT_FIRST_SLOT", "ACCOUNT_FIRST_UNNAMED"],
  },
  {
    why: "a copy of the gateway's database knows that it is one: agents tell what it lacks before anything is paid",
    shownBy: "test/gateway/gateway-restored.test.ts",
    codes: [
      ...([
        "GATEWAY_CONFIG_MISSING",
        "GATEWAY_STORE_MISSING",
        "GATEWAY_STORE_INVALID",
        "GATEWAY_STORE_VERSION",
      ] as const),
      ...(["GATEWAY_KEY_MISSING", "GATEWAY_KEY_INVALID"] as const),
    ],
  },
  {
    why: "pairing again with the same keys goes on where it stopped; other keys are refused while a server is paired",
    shownBy: "test/pairing/pairing-again.test.ts",
    codes: [
      ...([
        "PAIRING_TRANSCRIPT",
        "PAIRING_GRANT",
        "ADDRESS_XPUB",
        "KEYSTORE_WRITE",
        "LINK_FILE_INVALID",
      ] as const),
      ...([
        "LINK_WELCOME_AGENT",
        "PAIRING_CHILD",
        "PAIRING_AWAY",
        "PAIRING_CLOCK",
        "COMMAND_CURRENCY",
        "LINK_FILE_MISSING",
      ] as const),
      ...(["STATE_NOT_PAIRED"] as const),
    ],
  },
  {
    why: "a release is refused while withdrawals or sweeps are open with the server",
    shownBy: "test/gateway/gateway-pairing.test.ts",
    codes: ["PAIRING_USED", "PAIRING_TAKEN"],
  },
  {
    why: "a cancel shows its transaction first, and uses the slot of the payment, so only one of the two is ever in a block",
    shownBy: "test/signer/manual-replacement.test.ts",
    codes: [
      ...([
        "WITHDRAWAL_WAITS_FOR_OPERATOR",
        "WITHDRAWAL_WAITS_FOR_LIMIT",
        "WITHDRAWAL_STUCK",
      ] as const),
      ...([
        "REPLACEMENT_REACHABLE",
        "SLOT_CONTESTED",
        "ACCOUNT_WAITS",
        "ACCOUNT_PIN_OTHER",
      ] as const),
      "COIN_RETURNED",
    ],
  },
  {
    why: "only text of a configuration or a copy of a secret goes, after the hint says where the secret must be kept",
    shownBy: "test/cli/doctor.test.ts",
    codes: [
      ...([
        "JSON_DUPLICATE_KEY",
        "CONFIG_DUPLICATE_KEY",
        "CONFIG_UNKNOWN_KEY",
        "ENCKEY_WRITTEN",
        "DOCTOR_CONFIG_COPY",
      ] as const),
      ...([
        "DOCTOR_CONFIG_COPY_SECRET",
        "DOCTOR_ENCKEY_PLAIN",
        "PAIRING_SCRUB",
        "PAIRING_SECRETS_KEPT",
        "CONFIG_SECRET_PRESENT",
      ] as const),
    ],
  },
  {
    why: "the yes is about one named file or release, and an older signer refuses a newer ledger",
    shownBy: "test/system/rollback.test.ts",
    codes: ["BACKUP_EXISTS", "INSTALL_DOWNGRADE"],
  },
];

const listed = safe.flatMap((one) => one.codes);

describe("hints", () => {
  it("that lead to a grave act are exactly those with a reason here, each once", () => {
    const found = (Object.keys(codes) as Code[]).filter((code) => grave.test(codes[code].advice));
    expect([...listed].sort()).toEqual(found.sort());
  });

  it.each(safe.map((one) => [one.why, one] as const))("do no harm: %s", (_, { shownBy }) => {
    expect(existsSync(join(projectRoot, shownBy)), shownBy).toBe(true);
  });

  it("for one cause never serve another: a full disk, a read-only disk and a damaged file have their own", () => {
    const own = [
      "LEDGER_DISK_FULL",
      "LEDGER_READ_ONLY",
      "LEDGER_DAMAGED",
      "GATEWAY_DISK_FULL",
      "GATEWAY_STORE_INVALID",
    ] as const;
    const hints = own.map((code) => codes[code].advice);
    expect(new Set(hints).size).toBe(own.length);
    for (const code of ["LEDGER_DISK_FULL", "LEDGER_READ_ONLY", "GATEWAY_DISK_FULL"] as const)
      expect(codes[code].advice, code).not.toMatch(/restore the newest|init/);
  });
});
