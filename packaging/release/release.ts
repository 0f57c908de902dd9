/**
 * `npm run release [-- --out FOLDER --sign-key FILE]`: makes the archive that a server installs
 * from, its checksum, the checksum's signature, and its parts list. The same commit and the same
 * key give the same bytes; SOURCE_DATE_EPOCH takes the place of the commit's time where there is no
 * git.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { version } from "../../base/version.ts";
import { readCommandLine } from "../../lab/kit/command-line.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { checksumLine, writeArchive } from "./archive.ts";
import { productionProjects, treeVersion, versionTrouble, writeContents } from "./contents.ts";
import { publicKeyText, readSigningKey, signatureOf } from "./signature.ts";

const { values, stop } = readCommandLine({
  name: "release",
  does: "Makes the archive that servers install from, its signed checksum and its parts list (CycloneDX).",
  options: {
    out: { takes: "FOLDER", default: "release", says: "where they are put" },
    "sign-key": {
      takes: "FILE",
      says: "the private key, Ed25519 in PEM, that signs the checksum; kept outside of the tree",
    },
  },
});

/** Seconds since 1970. */
function releaseTime(): number {
  const given = process.env.SOURCE_DATE_EPOCH ?? "";
  const text =
    given === ""
      ? spawnSync("git", ["log", "-1", "--format=%ct"], { cwd: projectRoot, encoding: "utf8" })
          .stdout
      : given;
  const seconds = Number((text ?? "").trim() || Number.NaN);
  return Number.isSafeInteger(seconds) && seconds >= 0
    ? seconds
    : stop("the time is not known: set SOURCE_DATE_EPOCH, in seconds since 1970");
}

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major * 1000 + minor < 20_018)
  stop(`the parts list's library needs Node 20.18 or later, this is ${process.versions.node}`);
// Imported after the check of the version, since an older Node cannot load its library.
const { sbomText } = await import("./sbom.ts");
const trouble = versionTrouble(treeVersion(projectRoot), version);
if (trouble !== "") stop(trouble);
const signing =
  values["sign-key"] === undefined
    ? null
    : readSigningKey(resolve(values["sign-key"]), projectRoot);
if (signing?.ok === false) stop(signing.why);
const name = `autowithdraw-${treeVersion(projectRoot)}`;
const out = resolve(projectRoot, values.out);
const at = releaseTime();
mkdirSync(out, { recursive: true });
const aside = mkdtempSync(join(out, ".contents-"));
try {
  await writeContents(projectRoot, join(aside, name));
  const archive = join(out, `${name}.tgz`);
  writeArchive(aside, name, archive, at);
  const checksum = Buffer.from(checksumLine(archive, `${name}.tgz`));
  const made = new Map<string, string | Uint8Array>([[`${archive}.sha256`, checksum]]);
  if (signing?.ok === true) {
    made.set(`${archive}.sha256.sig`, signatureOf(checksum, signing.key));
    made.set(join(out, "autowithdraw-release.pub"), publicKeyText(signing.key));
  }
  made.set(join(out, `${name}.cdx.json`), sbomText(await productionProjects(projectRoot), at));
  // An older release's signature must not lie beside a checksum that it was not made for.
  rmSync(`${archive}.sha256.sig`, { force: true });
  for (const [path, content] of made) writeFileSync(path, content);
  process.stdout.write(`${[archive, ...made.keys()].join("\n")}\n`);
  if (signing === null)
    process.stderr.write(
      "release: the checksum is not signed: name the key with --sign-key FILE\n",
    );
} finally {
  rmSync(aside, { recursive: true, force: true });
}
